"""What limited candidates at a level, without what a better shown finding refutes.

Findings of one report never contradict each other. What is shown better stands, in this order: what
happened, such as a rate that was reached; a verdict over blocks; what limited a window, by samples
of it; what was found before the first window. `validity.head_room` holds the first against the
last; here a verdict is held against the limits.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from stithy.analysis.answers.comparisons import pairs_of
from stithy.analysis.evidence import Evidence
from stithy.analysis.limits.judge import UNKNOWN, Limited
from stithy.analysis.limits.level import Cause, at_level, words
from stithy.analysis.verdict.decide import DIFFERENT, decide
from stithy.metrics import NOPM

OWN = ("emulation",)
"""Instruments of which each candidate has one of its own: with another a candidate may do more."""


@dataclass(frozen=True)
class Causes:
    """What limited each candidate; `ahead` is the one that was shown to do more than another."""

    of: tuple[tuple[str, Cause], ...]
    ahead: str | None = None


def causes(evidence: Evidence, limited: Mapping[str, Limited], users: int) -> Causes:
    """What limited each candidate at a level by its valid windows, as far as no verdict refutes it.

    A limit that all candidates share, such as the load driver, says that other storage would give
    hardly more. That is refuted for a candidate where another one was shown to do so.
    Own: the order of proof is that of this module.
    """
    found = []
    for name in evidence.candidates:
        windows = evidence.valid_at(name, users)
        cause = at_level([limited[each.id] for each in windows if each.id in limited])
        if cause is not None:
            found.append((name, cause))
    fast, gains = _gains(evidence, users)
    told = tuple((name, _unless_refuted(cause, fast, gains.get(name))) for name, cause in found)
    return Causes(told, fast if gains else None)


def most_by_storage(cause: Cause) -> float | None:
    """How many times as much other storage could give at most; None where it has no such bound.

    Source: Amdahl's law, for the part of the users' time that storage took.
    """
    if not cause.is_cap or cause.limit in OWN:
        return None
    if cause.limit == "driver" or not cause.is_storage_result:
        return 1.0
    share = cause.storage_share if cause.limit == "users" else None
    return None if share is None or share >= 1 else 1 / (1 - share)


def _unless_refuted(cause: Cause, fast: str | None, gain: float | None) -> Cause:
    most = most_by_storage(cause)
    if gain is None or most is None or gain <= most:
        return cause
    says = f"{words(cause.limit)} seemed to, but {fast} did more under the same load"
    return replace(
        cause, limit=UNKNOWN, share=None, says=says, storage_share=None, is_storage_result=True
    )


def _gains(evidence: Evidence, users: int) -> tuple[str | None, dict[str, float]]:
    """Who did most, and of all that were shown to do less how many times as much at least.

    Own: by the verdict on throughput, adjusted as that on the question is.
    """
    asked = evidence.asked
    metric = asked.metric if asked.metric.known.source == "window" else NOPM
    values = {
        name: value
        for name in evidence.candidates
        if (value := evidence.level_of(name, users, metric)) is not None
    }
    if len(values) < 2:
        return None, {}
    fast, among = max(values, key=values.__getitem__), pairs_of(evidence)
    gains = {}
    for name in values:
        effect = evidence.effect(name, fast, users, metric)
        if name == fast or effect.low is None or effect.low <= 1:
            continue
        verdict = decide(effect.logs, asked.margin_share, better="higher", among=among)
        if verdict.call in DIFFERENT:
            gains[name] = effect.low
    return fast, gains
