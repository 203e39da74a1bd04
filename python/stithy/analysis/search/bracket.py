"""Between which levels a limit of response time ends to be obeyed, and which level is tried next.

A level obeys where all its valid windows do. Between windows that disagree, and of those that are
not valid, nothing is taken for granted: the bracket is the widest that contradicts no window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from stithy.search import Search, next_tried

WINDOWS_ENOUGH = 2
"""Own: an end of a bracket rests on two windows, so that one lucky window does not decide."""


class Said(Enum):
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
    def said(self) -> Said:
        """What they say together.

        Own: one of several decides nothing.
        """
        if self.obeyed and self.missed:
            return Said.SPLIT
        if self.obeyed:
            return Said.OBEYED
        return Said.MISSED if self.missed else Said.NOTHING

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


def bracket(trials: Sequence[Trial]) -> Bracket:
    """The bracket that these trials give, one for each level, in any order.

    Edge case: without a trial everything is empty.
    Own: the cautious end of what is known, the users below the first sign of trouble.
    """
    known = sorted(trials, key=lambda trial: trial.level)
    doubt = _first(known, Said.MISSED, Said.SPLIT)
    obeyed = [each for each in known if each.said is Said.OBEYED]
    below = [each for each in obeyed if doubt is None or each.level < doubt.level]
    low = below[-1] if below else None
    over = [each for each in known if low is None or each.level > low.level]
    return Bracket(
        low=low,
        high=_first(over, Said.MISSED),
        wall=_first(over, Said.MISSED, Said.SPLIT, Said.NOTHING),
        split=tuple(each.level for each in known if each.said is Said.SPLIT),
        again=tuple(each.level for each in obeyed if each not in below),
    )


def _first(known: Sequence[Trial], *said: Said) -> Trial | None:
    return next((each for each in known if each.said in said), None)


@dataclass(frozen=True)
class Wanted:
    """A level, and the candidates of which a window there is wanted."""

    level: int
    candidates: tuple[str, ...]


def next_wanted(trials: Mapping[str, Sequence[Trial]], search: Search) -> Wanted | None:
    """What is measured next, given the trials of each candidate; None where the search has ended.

    Own: of the levels that candidates want, the lowest; it is the cheapest to be wrong about.
    """
    levels = {name: next_level(each, search) for name, each in trials.items()}
    wanted = [level for level in levels.values() if level is not None]
    if not wanted:
        return None
    lowest = min(wanted)
    return Wanted(lowest, tuple(name for name, level in levels.items() if level == lowest))


def next_level(trials: Sequence[Trial], search: Search) -> int | None:
    """The level of which one candidate's next window is; None where its search has ended.

    It ends: a level is measured until it has two valid windows, or two that say nothing, and no
    more than `search.levels_most` are tried.
    Own: doubling and bisection as docs/how-to/choose-the-users.md tells; ends are measured twice.
    """
    waiting = [t.level for t in trials if not (t.obeyed or t.missed or t.is_given_up)]
    if waiting:
        return min(waiting)
    found = bracket(trials)
    level = _untried(found, trials, search)
    return _unsure(found) if level is None else level


def _untried(found: Bracket, trials: Sequence[Trial], search: Search) -> int | None:
    """A level that was not measured yet; None where no further one is needed."""
    tried = {trial.level for trial in trials}
    # Where a second window disagreed, noise decides: a finer bracket would only look surer.
    if {*found.split} - {*search.listed} or len(tried - {*search.listed}) >= search.levels_most:
        return None
    if found.low is None:
        # What was listed may begin above the search.
        return None if search.users_least in tried else search.users_least
    if found.wall is not None:
        return next_tried(found.low.level, found.wall.level)
    more = min(2 * found.low.level, search.users_most)
    return more if more > found.low.level else None


def _unsure(found: Bracket) -> int | None:
    """An end of the bracket that rests on a single window."""
    for end in (found.low, found.high):
        if end is not None and not (end.is_sure or end.is_given_up):
            return end.level
    return None
