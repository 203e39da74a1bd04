"""How many users each candidate serves within a limit: the end of a search, as it was measured.

No interval and no verdict: two windows at each end of a bracket say how many were served, and not
how surely.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.search.bracket import Bracket, Said, Trial, bracket
from stithy.analysis.search.course import next_level
from stithy.analysis.validity.flags import Flag
from stithy.search import Search, levels_within, resolution

DRIVER = frozenset({Flag.DRIVER_LATE})
MACHINE = frozenset({Flag.DRIVE_LATE, Flag.DRIVE_SLOWED})
"""Of an emulated drive that had no CPU in time."""


@dataclass(frozen=True)
class End:
    """One end of a bracket: `value_s` over its valid windows, of which there are `windows`.

    `is_of_few`: too few values lie beyond it to print it; the limit judges it all the same.
    """

    users: int
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
class Served:
    """How many users each candidate serves within the limit of `search`.

    `most`: the candidate whose bracket lies clearly above all others; None where none does, or
    there is but one candidate.
    """

    kind: ClassVar[str] = "served"
    search: Search
    of: tuple[Capacity, ...]
    most: str | None


def served(evidence: Evidence) -> Served | None:
    """What a search has found so far; None where nothing was searched for.

    Own: brackets as docs/how-to/choose-the-users.md tells.
    """
    if evidence.search is None:
        return None
    of = tuple(capacity_of(evidence, name, evidence.search) for name in evidence.candidates)
    return Served(evidence.search, of, _most(of))


def trials(evidence: Evidence, candidate: str, search: Search) -> tuple[Trial, ...]:
    """What the windows of a candidate say of the limit, level by level.

    Edge cases: a valid window in which no transaction of that type was completed says nothing.
    Own: each window by its own percentile, because windows are what is repeated. What was dropped
    with its block for another one's failure is none of them.
    """
    levels = levels_within(evidence.levels, search.users_least, search.users_most)
    found = ((users, evidence.at(candidate, users)) for users in levels)
    return tuple(_trial(users, windows, search) for users, windows in found if windows)


def value_of(window: Window, search: Search) -> float | None:
    """What a window says, seconds; None where it is invalid or has no such answers.

    Own: a look-up.
    """
    return window.value(search.limit.column, search.limit.transaction) if window.valid else None


def _trial(users: int, windows: Sequence[Window], search: Search) -> Trial:
    values = [value_of(each, search) for each in windows if each.valid or each.failures]
    obeyed = [search.limit.obeyed(value) for value in values if value is not None]
    return Trial(users, obeyed.count(True), obeyed.count(False), values.count(None))


def capacity_of(evidence: Evidence, name: str, search: Search) -> Capacity:
    """The bracket of one candidate by the levels of a search that were measured.

    Own: as `served`.
    """
    known = trials(evidence, name, search)
    found = bracket(known)
    stopped_at = None if found.high or found.wall is None else found.wall.users
    return Capacity(
        candidate=name,
        low=_end(evidence, name, found.low, search),
        high=_end(evidence, name, found.high, search),
        stopped_at=stopped_at,
        because=_because(evidence, name, found, search),
        split=found.split,
        again=found.again,
        cut_off=next_level(known, search) is not None,
    )


def _end(evidence: Evidence, name: str, trial: Trial | None, search: Search) -> End | None:
    if trial is None:
        return None
    limit = search.limit
    of = name, trial.users, limit.column, limit.transaction
    value = evidence.level_value(*of)
    assert value is not None  # a trial that says something has a valid window with a value
    is_of_few = evidence.level_told(*of) is None
    return End(trial.users, value, trial.obeyed + trial.missed, is_of_few)


def _because(evidence: Evidence, name: str, found: Bracket, search: Search) -> str | None:
    """Why a search without an upper end of its bracket went no further."""
    if found.high is not None or found.wall is None:
        return None
    if found.wall.said is Said.SPLIT:
        return "its windows disagree"
    return _silence(evidence.at(name, found.wall.users), search)


def _silence(windows: Sequence[Window], search: Search) -> str:
    """Why these windows say nothing of the storage: by what most of them were flagged."""
    flags = [{*window.failures} for window in windows]
    counted = Counter(flag for found in flags for flag in found)
    if not counted:
        return f"no {search.limit.transaction} was completed"
    if any(DRIVER & found for found in flags):
        return "the driver was the limit"
    if any(MACHINE & found for found in flags):
        return "the machine was the limit, which was late with its emulated drive"
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
    on which side of a level each of them ends (docs/explanation/method.md, "A search").
    """
    if upper.low is None or lower.high is None:
        return False
    return upper.low.users - lower.high.users >= max(_width(upper), _width(lower))


def _width(capacity: Capacity) -> int:
    """How wide a bracket is; where it has one end, as wide as it would have been at best."""
    low, high = capacity.low, capacity.high
    if low and high:
        return high.users - low.users
    end = low or high
    return resolution(end.users) if end else 0
