"""How many users each candidate serves within a limit: the end of a search, or the levels measured.

No interval and no verdict: two windows at each end of a bracket say how many were served, and not
how surely. Of listed levels the next one may be far off: what is shown is a measured level, and
never a level in between.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.search.bracket import Bracket, Said, Trial, bracket, next_level
from stithy.analysis.validity.checks.drives import DRIVE_SLOWED
from stithy.analysis.validity.checks.driving import DRIVER_LATE
from stithy.factor import level_factor
from stithy.point import Point
from stithy.search import ResponseTarget, Search, levels_within, resolution


@dataclass(frozen=True)
class End:
    """One end of a bracket: `value_s` over its valid windows, of which there are `windows`.

    `is_of_few`: too few values lie beyond it to print it; the limit judges it all the same.
    """

    level: int
    value_s: float
    windows: int
    is_of_few: bool = False


@dataclass(frozen=True)
class Capacity:
    """The bracket of one candidate, and what must be known of it.

    `low` is the highest level that obeyed, with nothing below it that did not; `high` the next that
    did not. Where there is no `high`, `stopped_at` is the level at which windows disagreed or said
    nothing, with the reason `because`, and None where the search reached its own end. `split`:
    levels whose windows disagree; `again`: levels that obeyed above one that did not. `cut_off`:
    the search is not at its end.
    """

    candidate: str
    low: End | None
    high: End | None
    stopped_at: int | None = None
    because: str | None = None
    split: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    cut_off: bool = False

    @property
    def windows_least(self) -> int | None:
        """The windows of the end that has fewer of them; None where there is no end.

        Own: a bracket is as sure as its weaker end.
        """
        return min((end.windows for end in (self.low, self.high) if end), default=None)


@dataclass(frozen=True)
class CapacityFinding:
    """How many users each candidate serves within the limit of `search`.

    `most`: the candidate whose bracket lies clearly above all others; None where none does, or
    there is but one candidate. `setting`: of what varied beside the users; None where nothing did.
    """

    kind: ClassVar[str] = "served"
    search: Search
    of: tuple[Capacity, ...]
    most: str | None
    setting: Point | None = None


def capacity_findings(evidence: Evidence) -> tuple[CapacityFinding, ...]:
    """What the searches have found so far, one at each setting of what varied beside the users.

    Edge cases: empty where nothing was searched for.
    Own: brackets as docs/how-to/choose-the-users.md tells.
    """
    if len(evidence.settings) < 2:
        found = capacity_finding(evidence)
        return (found,) if found is not None else ()
    each = ((setting, capacity_finding(evidence.at_setting(setting)))
            for setting in evidence.settings)  # fmt: skip
    return tuple(replace(found, setting=setting) for setting, found in each if found is not None)


def capacity_finding(evidence: Evidence) -> CapacityFinding | None:
    """What a search has found so far where the question is asked; None without a search."""
    if evidence.search is None:
        return None
    of = tuple(capacity_of(evidence, name, evidence.search) for name in evidence.candidates)
    return CapacityFinding(evidence.search, of, _most(of))


def trials(evidence: Evidence, candidate: str, search: Search) -> tuple[Trial, ...]:
    """What the windows of a candidate say of the limit, level by level.

    Edge cases: a valid window in which no transaction of that type was completed says nothing.
    Own: each window by its own percentile, because windows are what is repeated. What was dropped
    with its block for another one's failure is none of them.
    """
    levels = levels_of(evidence)
    known = levels_within([*levels], search.users_least, search.users_most)
    found = ((level, evidence.at(candidate, levels[level])) for level in known)
    return tuple(_trial(level, windows, search) for level, windows in found if windows)


def levels_of(evidence: Evidence) -> dict[int, Point]:
    """The points of the levels, where the question is asked as to all other factors."""
    return {point.level: point for point in evidence.along(level_factor().name)}


def value_of(window: Window, search: Search) -> float | None:
    """What a window says, seconds; None where it is invalid or has no such answers."""
    return window.value(search.limit.column, search.limit.transaction) if window.valid else None


def _trial(level: int, windows: Sequence[Window], search: Search) -> Trial:
    values = [value_of(each, search) for each in windows if each.valid or each.failures]
    obeyed = [search.limit.obeyed(value) for value in values if value is not None]
    return Trial(level, obeyed.count(True), obeyed.count(False), values.count(None))


def capacity_of(evidence: Evidence, name: str, search: Search) -> Capacity:
    """The bracket of one candidate by the levels of a search that were measured."""
    known = trials(evidence, name, search)
    found = bracket(known)
    return Capacity(
        candidate=name,
        low=_end(evidence, name, found.low, search),
        high=_end(evidence, name, found.high, search),
        stopped_at=None if found.high or found.wall is None else found.wall.level,
        because=_because(evidence, name, found, search),
        split=found.split,
        again=found.again,
        cut_off=next_level(known, search) is not None,
    )


def _end(evidence: Evidence, name: str, trial: Trial | None, search: Search) -> End | None:
    if trial is None:
        return None
    limit = search.limit
    of = name, levels_of(evidence)[trial.level], limit.column, limit.transaction
    value = evidence.level_value(*of)
    assert value is not None  # a trial that says something has a valid window with a value
    is_of_few = evidence.printable_level(*of) is None
    return End(trial.level, value, trial.obeyed + trial.missed, is_of_few)


def _because(evidence: Evidence, name: str, found: Bracket, search: Search) -> str | None:
    """Why a search without an upper end of its bracket went no further."""
    if found.high is not None or found.wall is None:
        return None
    if found.wall.said is Said.SPLIT:
        return "its windows disagree"
    # Why these windows say nothing of the storage: by what most of them were flagged.
    windows = evidence.at(name, levels_of(evidence)[found.wall.level])
    counted = Counter(flag for window in windows for flag in {*window.failures})
    if not counted:
        return f"no {search.limit.transaction} was completed"
    if DRIVER_LATE in counted:
        return "the driver was the limit"
    if DRIVE_SLOWED in counted:
        return "the machine was the limit: its emulated drive was late"
    flag, _ = min(counted.items(), key=lambda item: (-item[1], item[0].value))
    return f'no window is valid ("{flag.value}")'


def _most(of: Sequence[Capacity]) -> str | None:
    """The candidate that serves more users than every other one, by the brackets."""
    for capacity in of:
        others = [each for each in of if each is not capacity]
        if others and all(_is_above(capacity, each) for each in others):
            return capacity.candidate
    return None


def _is_above(upper: Capacity, lower: Capacity) -> bool:
    """Whether one bracket lies above another by at least as much as the wider of them is wide.

    Not to overlap is too little: of equal candidates brackets often do not, because noise decides
    on which side of a level each of them ends (docs/explanation/method.md, "A saturation search").
    """
    if upper.low is None or lower.high is None:
        return False
    return upper.low.level - lower.high.level >= max(_width(upper), _width(lower))


def _width(capacity: Capacity) -> int:
    """How wide a bracket is; where it has one end, as wide as it would have been at best."""
    low, high = capacity.low, capacity.high
    if low and high:
        return high.level - low.level
    end = low or high
    return resolution(end.level) if end else 0


@dataclass(frozen=True)
class UsersWithinTarget:
    """The highest level that obeys with nothing below it that does not.

    `level` is None where no level is known to; `missing_because` says why. `not_at` is the next
    level that does not obey. Where there is none of these it is *at least* so many: `open_because`
    says why no more is known, None where the highest measured level obeys.
    """

    level: int | None
    not_at: int | None = None
    open_because: str | None = None
    missing_because: str | None = None

    @property
    def at_least(self) -> bool:
        """Whether more users may be within the limit: no level that does not obey was found."""
        return self.level is not None and self.not_at is None


def users_within_target(
    evidence: Evidence, candidate: str, limit: ResponseTarget
) -> UsersWithinTarget:
    """How many users a candidate serves within a limit, by its valid windows.

    Own: the bracket of a search (`bracket`), of which every measured level is one that was tried.
    """
    if not evidence.levels:
        return UsersWithinTarget(None, missing_because="the run has no window yet")
    found = capacity_of(evidence, candidate, _search(evidence, limit))
    not_at = found.high.level if found.high else None
    if found.low is not None:
        because = None
        if found.stopped_at is not None:
            because = f"at {found.stopped_at:,} {found.because}"
        elif not_at is None and evidence.search is not None and found.cut_off:
            because = "its search was interrupted"
        return UsersWithinTarget(found.low.level, not_at, because)
    if not_at is not None:
        return UsersWithinTarget(
            None, not_at, missing_because=f"at {not_at:,} it misses the target"
        )
    return UsersWithinTarget(None, missing_because=found.because or "no valid window has a value")


def tried(evidence: Evidence, candidate: str, limit: ResponseTarget) -> tuple[Trial, ...]:
    """What the windows of a candidate say of a limit, level by level, upwards.

    Edge cases: as `trials` has them; nothing where the run has no window yet.
    """
    return trials(evidence, candidate, _search(evidence, limit)) if evidence.points else ()


def _search(evidence: Evidence, limit: ResponseTarget) -> Search:
    """The run's own search, or one over all levels."""
    if evidence.search is not None and evidence.search.limit == limit:
        return evidence.search
    levels = tuple(levels_of(evidence))
    return Search(limit, min(levels), max(levels), levels)
