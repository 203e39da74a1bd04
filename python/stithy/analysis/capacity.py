"""Between which levels a limit of response time ends to be obeyed, and which level is tried next.

A level obeys where all its valid windows do. Between windows that disagree, and of those that are
not valid, nothing is taken for granted: the bracket is the widest that contradicts no window.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

from stithy.activity import get_level_factor
from stithy.analysis.checks.instruments import DRIVE_SLOWED, DRIVER_LATE
from stithy.analysis.evidence import Evidence, Window
from stithy.point import Point
from stithy.search import (
    ResponseTarget,
    Search,
    list_levels_within,
)

WINDOWS_ENOUGH = 2
"""Own: an end of a bracket rests on two windows, so that one lucky window does not decide."""


class LevelStatus(Enum):
    """What the windows of a level say together."""

    OBEYED = "meets the target"
    MISSED = "misses the target"
    SPLIT = "windows disagree"
    NOTHING = "no valid window"


@dataclass(frozen=True)
class Trial:
    """The windows of one candidate at a level: valid ones that `obeyed` the limit and `missed` it.

    `silent` are those that say nothing of the storage, because they are not valid.
    """

    level: int
    obeyed: int = 0
    missed: int = 0
    silent: int = 0

    @property
    def said(self) -> LevelStatus:
        """What they say together.

        Own: one of several decides nothing.
        """
        if self.obeyed and self.missed:
            return LevelStatus.SPLIT
        if self.obeyed:
            return LevelStatus.OBEYED
        return LevelStatus.MISSED if self.missed else LevelStatus.NOTHING

    @property
    def is_sure(self) -> bool:
        """Whether it rests on as many windows as an end of a bracket wants."""
        return self.obeyed + self.missed >= WINDOWS_ENOUGH

    @property
    def is_given_up(self) -> bool:
        """Whether so many windows said nothing that no further one is measured.

        Own: what failed twice would fail a third time.
        """
        return self.silent >= WINDOWS_ENOUGH


@dataclass(frozen=True)
class Bracket:
    """`low` obeys, and nothing measured below it does not; `high` is the next level that does not.

    Each is None where there is none. `wall` is the next level above `low` that is not known to
    obey, for whatever reason. `split` are levels of which the windows disagree; `again` levels that
    obey although a lower one does not, which a response that grows with the users would not do.
    """

    low: Trial | None
    high: Trial | None
    wall: Trial | None
    split: tuple[int, ...]
    again: tuple[int, ...]


def find_bracket(trials: Sequence[Trial]) -> Bracket:
    """The bracket that these trials give, one for each level, in any order.

    Edge case: without a trial everything is empty.
    Own: the cautious end of what is known, the users below the first sign of trouble.
    """
    known = sorted(trials, key=lambda trial: trial.level)
    doubt = _find_first(known, LevelStatus.MISSED, LevelStatus.SPLIT)
    obeyed = [each for each in known if each.said is LevelStatus.OBEYED]
    below = [each for each in obeyed if doubt is None or each.level < doubt.level]
    low = below[-1] if below else None
    over = [each for each in known if low is None or each.level > low.level]
    return Bracket(
        low=low,
        high=_find_first(over, LevelStatus.MISSED),
        wall=_find_first(over, LevelStatus.MISSED, LevelStatus.SPLIT, LevelStatus.NOTHING),
        split=tuple(each.level for each in known if each.said is LevelStatus.SPLIT),
        again=tuple(each.level for each in obeyed if each not in below),
    )


def _find_first(known: Sequence[Trial], *said: LevelStatus) -> Trial | None:
    return next((each for each in known if each.said in said), None)


@dataclass(frozen=True)
class WantedLevel:
    """A level, and the candidates of which a window there is wanted."""

    level: int
    candidates: tuple[str, ...]


def choose_next_windows(
    trials: Mapping[str, Sequence[Trial]], search: Search
) -> WantedLevel | None:
    """What is measured next, given the trials of each candidate; None where the search has ended.

    Own: of the levels that candidates want, the lowest; it is the cheapest to be wrong about.
    """
    levels = {name: choose_next_level(each, search) for name, each in trials.items()}
    wanted = [level for level in levels.values() if level is not None]
    if not wanted:
        return None
    lowest = min(wanted)
    return WantedLevel(lowest, tuple(name for name, level in levels.items() if level == lowest))


def choose_next_level(trials: Sequence[Trial], search: Search) -> int | None:
    """The level of which one candidate's next window is; None where its search has ended.

    It ends: a level is measured until it has two valid windows, or two that say nothing, and no
    more than `search.levels_most` are tried.
    Own: doubling and bisection as docs/how-to/choose-the-users.md tells; ends are measured twice.
    """
    waiting = [t.level for t in trials if not (t.obeyed or t.missed or t.is_given_up)]
    if waiting:
        return min(waiting)
    found = find_bracket(trials)
    if (level := _choose_untried(found, trials, search)) is not None:
        return level
    ends = (end for end in (found.low, found.high) if end is not None)
    return next((end.level for end in ends if not (end.is_sure or end.is_given_up)), None)


def _choose_untried(found: Bracket, trials: Sequence[Trial], search: Search) -> int | None:
    """A level that was not measured yet; None where no further one is needed."""
    tried = {trial.level for trial in trials}
    # Where a second window disagreed, noise decides: a finer bracket would only look surer.
    if {*found.split} - {*search.listed} or len(tried - {*search.listed}) >= search.levels_most:
        return None
    if found.low is None:
        # What was listed may begin above the search.
        return None if search.users_least in tried else search.users_least
    if found.wall is not None:
        return search.choose_next_tried(found.low.level, found.wall.level)
    more = min(2 * found.low.level, search.users_most)
    return more if more > found.low.level else None


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
    def is_at_end(self) -> bool:
        """Whether the search reached its own end without a level that does not obey."""
        ends = (self.high, self.stopped_at)
        return self.low is not None and ends == (None, None) and not self.cut_off

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

    @property
    def contenders(self) -> list[Capacity]:
        """Those that no other bracket lies clearly above."""
        of, search = self.of, self.search
        return [one for one in of if not any(_is_above(other, one, search) for other in of)]


def find_capacities(evidence: Evidence) -> tuple[CapacityFinding, ...]:
    """What the searches have found so far, one at each setting of what varied beside the users.

    Edge cases: empty where nothing was searched for.
    Own: brackets as docs/how-to/choose-the-users.md tells.
    """
    if len(evidence.settings) < 2:
        found = find_capacity(evidence)
        return (found,) if found is not None else ()
    each = ((setting, find_capacity(evidence.at_setting(setting)))
            for setting in evidence.settings)  # fmt: skip
    return tuple(replace(found, setting=setting) for setting, found in each if found is not None)


def find_capacity(evidence: Evidence) -> CapacityFinding | None:
    """What a search has found so far where the question is asked; None without a search."""
    search = evidence.search
    if search is None:
        return None
    of = tuple(bracket_candidate(evidence, name, search) for name in evidence.candidates)
    ahead = (
        one for one in of if all(_is_above(one, other, search) for other in of if other is not one)
    )
    most = next((one.candidate for one in ahead if len(of) > 1), None)
    return CapacityFinding(search, of, most)


def list_trials(evidence: Evidence, candidate: str, search: Search) -> tuple[Trial, ...]:
    """What the windows of a candidate say of the limit, level by level.

    Edge cases: a valid window in which no transaction of that type was completed says nothing.
    Own: each window by its own percentile, because windows are what is repeated. What was dropped
    with its block for another one's failure is none of them.
    """
    levels, trials = list_levels(evidence), []
    for level in list_levels_within([*levels], search.users_least, search.users_most):
        if windows := evidence.at(candidate, levels[level]):
            asked = (window for window in windows if window.valid or window.failures)
            values = [read_value(window, search) for window in asked]
            obeyed = [search.limit.obeyed(value) for value in values if value is not None]
            counts = obeyed.count(True), obeyed.count(False), values.count(None)
            trials.append(Trial(level, *counts))
    return tuple(trials)


def list_levels(evidence: Evidence) -> dict[int, Point]:
    """The points of the levels, where the question is asked as to all other factors."""
    return {point.level: point for point in evidence.along(get_level_factor().name)}


def read_value(window: Window, search: Search) -> float | None:
    """What a window says, seconds; None where it is invalid or has no such answers."""
    return window.value(search.limit.column, search.limit.transaction) if window.valid else None


def bracket_candidate(evidence: Evidence, name: str, search: Search) -> Capacity:
    """The bracket of one candidate by the levels of a search that were measured."""
    known = list_trials(evidence, name, search)
    found = find_bracket(known)
    return Capacity(
        candidate=name,
        low=_end(evidence, name, found.low, search),
        high=_end(evidence, name, found.high, search),
        stopped_at=None if found.high or found.wall is None else found.wall.level,
        because=_explain_end(evidence, name, found, search),
        split=found.split,
        again=found.again,
        cut_off=choose_next_level(known, search) is not None,
    )


def _end(evidence: Evidence, name: str, trial: Trial | None, search: Search) -> End | None:
    if trial is None:
        return None
    limit = search.limit
    of = name, list_levels(evidence)[trial.level], limit.column, limit.transaction
    value = evidence.level_value(*of)
    assert value is not None  # a trial that says something has a valid window with a value
    is_of_few = evidence.printable_level(*of) is None
    return End(trial.level, value, trial.obeyed + trial.missed, is_of_few)


def _explain_end(evidence: Evidence, name: str, found: Bracket, search: Search) -> str | None:
    if found.high is not None or found.wall is None:
        return None
    if found.wall.said is LevelStatus.SPLIT:
        return "its windows disagree"
    # Why these windows say nothing of the storage: by what most of them were flagged.
    windows = evidence.at(name, list_levels(evidence)[found.wall.level])
    counted = Counter(flag for window in windows for flag in {*window.failures})
    if not counted:
        return f"no {search.limit.transaction} was completed"
    if DRIVER_LATE in counted:
        return "the driver was the limit"
    if DRIVE_SLOWED in counted:
        return "the machine was the limit: its emulated drive was late"
    flag, _ = min(counted.items(), key=lambda item: (-item[1], item[0].value))
    return f'no window is valid ("{flag.value}")'


def _is_above(upper: Capacity, lower: Capacity, search: Search) -> bool:
    """Whether one bracket lies above another by at least as much as the wider of them is wide.

    Not to overlap is too little: of equal candidates brackets often do not, because noise decides
    on which side of a level each of them ends (docs/explanation/method.md, "A saturation search").
    """
    if upper.low is None or lower.high is None:
        return False
    widest = max(_measure_width(one, search) for one in (upper, lower))
    return upper.low.level - lower.high.level >= widest


def _measure_width(capacity: Capacity, search: Search) -> int:
    """How wide a bracket is; where it has one end, as wide as it would have been at best."""
    low, high = capacity.low, capacity.high
    if low and high:
        return high.level - low.level
    end = low or high
    return search.find_resolution(end.level) if end else 0


@dataclass(frozen=True)
class UsersWithinTarget:
    """The highest level that obeys with nothing below it that does not.

    `level` is None where no level is known to; `missing_because` says why. `not_at` is the next
    level that does not obey. Where there is none of these it is *at least* so many. `open_because`
    says why no more is known, None where the search has ended or the highest measured level obeys.
    """

    level: int | None
    not_at: int | None = None
    open_because: str | None = None
    missing_because: str | None = None

    @property
    def at_least(self) -> bool:
        """Whether more users may be within the limit: no level that does not obey was found."""
        return self.level is not None and self.not_at is None


def count_users_within(
    evidence: Evidence, candidate: str, limit: ResponseTarget
) -> UsersWithinTarget:
    """How many users a candidate serves within a limit, by its valid windows.

    Own: the bracket of a search (`find_bracket`) that tried every measured level.
    """
    if not evidence.levels:
        return UsersWithinTarget(None, missing_because="the run has no window yet")
    search = evidence.search
    if search is None or search.limit != limit:
        levels = tuple(list_levels(evidence))
        search = Search(limit, min(levels), max(levels), levels)
    found = bracket_candidate(evidence, candidate, search)
    not_at = found.high.level if found.high else None
    if found.low is not None:
        because = None
        if found.stopped_at is not None:
            because = f"at {found.stopped_at:,} {found.because}"
        elif evidence.search is not None and found.cut_off:
            because = "its search was interrupted"
        return UsersWithinTarget(found.low.level, not_at, because)
    if not_at is not None:
        return UsersWithinTarget(
            None, not_at, missing_because=f"at {not_at:,} it misses the target"
        )
    return UsersWithinTarget(None, missing_because=found.because or "no valid window has a value")
