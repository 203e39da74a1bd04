"""Throughputs that tell of what was asked and not of what answered: they weaken an answer.

A throughput that the users or the instrument cap would be the same with other storage: it decides
nothing about storage, however sure its interval is.
"""

from collections.abc import Iterator

from stithy.analysis.answers.findings import Limits, limits_of
from stithy.analysis.limits.level import Cause, words
from stithy.report.context import Context
from stithy.report.words.wording import at_most, listing, plural, times_at_most


def flaws(context: Context) -> Iterator[str]:
    """A sentence for each such cap at the level of the answer; none where that asks for times."""
    found = limits_of(context.evidence, context.limited)
    if found is None or context.evidence.asked.metric.known.source != "window":
        return
    capped = [(name, cause) for name, cause in found.of if cause.is_cap]
    alike: dict[str, list[str]] = {}
    for name, cause in capped:
        ahead = name == found.ahead
        alike.setdefault(_told(cause, ahead=ahead, is_open=found.is_open), []).append(name)
    for told, names in alike.items():
        yield _sentence(found, context.level_unit, names, told)


def _sentence(found: Limits, unit: str, names: list[str], told: str) -> str:
    at = plural(found.users, unit)
    return f"At {at}, the throughput of {listing(names)} is capped by {told}."


def _told(cause: Cause, *, ahead: bool, is_open: bool) -> str:
    asked = is_open and cause.limit == "users"
    who = "the rate that was asked for" if asked else words(cause.limit)
    if cause.windows < cause.windows_all:
        who += f" in {cause.windows} of {plural(cause.windows_all, 'window')}"
    if ahead and cause.limit != "emulation":
        return f"{who}: the difference may be larger than it shows"
    if asked or cause.limit in _INSTRUMENTS or not cause.is_storage_result:
        return f"{who}: it is no storage result{_ADVICE.get(cause.limit, '')}"
    if cause.limit != "users" or cause.storage_share is None or cause.storage_share >= 1:
        return f"{who}; what part the storage has in it is not known"
    share, most = at_most(cause.storage_share), times_at_most(1 / (1 - cause.storage_share))
    return (
        f"{who}: storage took at most {share} of their time, so that one which takes none would "
        f"give at most {most} times as much"
    )


_INSTRUMENTS = ("driver", "emulation")
_ADVICE = {"users": "; compare response times, or ask for more"}
