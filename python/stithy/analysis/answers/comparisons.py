"""Every comparison of a run with its verdict: one answers the question, the others describe.

The primary one is that which the first finding tells. Verdicts of the others are adjusted for how
many levels were compared, because among many one differs by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from stithy.analysis.evidence import Evidence
from stithy.analysis.verdict.chance import holm, repeated_chance
from stithy.analysis.verdict.decide import WRONG_SHARE, Verdict, decide, not_borne
from stithy.analysis.verdict.effect import Effect
from stithy.analysis.verdict.pair import pairs_among
from stithy.metrics import DESCRIBED, Quantity


@dataclass(frozen=True)
class Compared:
    """Candidate `b` against `a` at a level by a metric, with the verdict on `b`.

    `chance_share`: how often chance alone gives as much, adjusted by Holm over the levels unless
    `primary`; None with fewer than four blocks.
    """

    metric: Quantity
    a: str
    b: str
    users: int
    effect: Effect
    verdict: Verdict
    chance_share: float | None
    primary: bool = False


def pairs_of(evidence: Evidence) -> int:
    """From how many pairs the one that answers was chosen; 1 where it was named before.

    Source: Bonferroni's bound.
    """
    return 1 if evidence.asked.pair else pairs_among(len(evidence.candidates))


def primary(evidence: Evidence, a: str, b: str, users: int) -> Compared:
    """The comparison that answers the question, by its metric and margin.

    With more than two candidates, unless two were named before, the pair was chosen after all were
    measured, and a difference is claimed only if it is large enough for the largest of as many.
    Source: docs/explanation/verdicts.md, "One question"; Bonferroni's bound.
    """
    asked, pairs = evidence.asked, pairs_of(evidence)
    metric, margin = asked.metric, asked.margin_share
    effect = evidence.effect(a, b, users, metric)
    verdict = decide(effect.logs, margin, better=metric.known.better, among=pairs)
    chance = repeated_chance(effect.logs)
    chance = None if chance is None else min(1.0, chance * pairs)
    return Compared(metric, a, b, users, effect, verdict, chance, primary=True)


def descriptive(
    evidence: Evidence, a: str, b: str, metric: Quantity, without: Sequence[int] = ()
) -> tuple[Compared, ...]:
    """The comparisons of two candidates at all levels but those in `without`, adjusted by Holm.

    A difference that the interval shows but the adjustment does not bear is undecided.
    Source: Holm (1979); docs/explanation/verdicts.md, "One question".
    """
    plain = [_plain(evidence, a, b, users, metric) for users in evidence.levels
             if users not in without]  # fmt: skip
    known = [index for index, each in enumerate(plain) if each.chance_share is not None]
    adjusted = holm([plain[index].chance_share or 0.0 for index in known])
    for index, share in zip(known, adjusted, strict=True):
        plain[index] = _adjusted(plain[index], share, len(known))
    return tuple(plain)


def _plain(evidence: Evidence, a: str, b: str, users: int, metric: Quantity) -> Compared:
    effect = evidence.effect(a, b, users, metric)
    margin = evidence.asked.margin_share
    verdict = decide(effect.logs, margin, better=metric.known.better)
    return Compared(metric, a, b, users, effect, verdict, repeated_chance(effect.logs))


def _adjusted(compared: Compared, share: float, levels: int) -> Compared:
    verdict = compared.verdict
    if share > WRONG_SHARE:
        verdict = not_borne(verdict, f"the difference is too small for one of {levels} levels")
    return replace(compared, verdict=verdict, chance_share=share)


def comparisons(evidence: Evidence, answer: Compared | None) -> tuple[Compared, ...]:
    """All comparisons with the first candidate, after the one that answers the question.

    `answer`: None where nothing could be compared.
    Own: by metric, candidate and level; the answer is not told twice.
    """
    first, *others = evidence.candidates or ("",)
    found = [answer] if answer else []
    for metric in dict.fromkeys((evidence.asked.metric, *DESCRIBED)):
        for name in others:
            told = answer and metric == answer.metric and {first, name} == {answer.a, answer.b}
            without = (answer.users,) if answer and told else ()
            found += descriptive(evidence, first, name, metric, without)
    return tuple(each for each in found if _is_told(evidence, each))


def _is_told(evidence: Evidence, each: Compared) -> bool:
    """Whether there is a ratio, or values of which it must be said why they have none."""
    return each.effect.ratio is not None or all(
        evidence.level_of(name, each.users, each.metric) is not None for name in (each.a, each.b)
    )
