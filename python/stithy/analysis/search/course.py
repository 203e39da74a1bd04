"""Which level a search tries next: doubling until one does not obey, then halving, then proof.

For each candidate by itself; where several want the same level its windows are a block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stithy.analysis.search.bracket import Bracket, Trial, bracket
from stithy.search import Search, next_tried


@dataclass(frozen=True)
class Wanted:
    """A level, and the candidates of which a window there is wanted."""

    users: int
    candidates: tuple[str, ...]


def next_wanted(trials: Mapping[str, Sequence[Trial]], search: Search) -> Wanted | None:
    """What is measured next, given the trials of each candidate; None where the search has ended.

    Own: of the levels that candidates want, the lowest; it is the cheapest to be wrong about.
    """
    levels = {name: next_level(each, search) for name, each in trials.items()}
    wanted = [users for users in levels.values() if users is not None]
    if not wanted:
        return None
    users = min(wanted)
    return Wanted(users, tuple(name for name, level in levels.items() if level == users))


def next_level(trials: Sequence[Trial], search: Search) -> int | None:
    """The level of which one candidate's next window is; None where its search has ended.

    It ends: a level is measured until it has two valid windows, or two that say nothing, and no
    more than `search.levels_most` are tried.
    Own: doubling and bisection as docs/how-to/choose-the-users.md tells; ends are measured twice.
    """
    waiting = [t.users for t in trials if not (t.obeyed or t.missed or t.is_given_up)]
    if waiting:
        return min(waiting)
    found = bracket(trials)
    level = _untried(found, trials, search)
    return _unsure(found) if level is None else level


def _untried(found: Bracket, trials: Sequence[Trial], search: Search) -> int | None:
    """A level that was not measured yet; None where no further one is needed."""
    tried = {trial.users for trial in trials}
    # Where a second window disagreed, noise decides: a finer bracket would only look surer.
    if {*found.split} - {*search.listed} or len(tried - {*search.listed}) >= search.levels_most:
        return None
    if found.low is None:
        # What was listed may begin above the search.
        return None if search.users_least in tried else search.users_least
    if found.wall is not None:
        return next_tried(found.low.users, found.wall.users)
    more = min(2 * found.low.users, search.users_most)
    return more if more > found.low.users else None


def _unsure(found: Bracket) -> int | None:
    """An end of the bracket that rests on a single window."""
    for end in (found.low, found.high):
        if end is not None and not (end.is_sure or end.is_given_up):
            return end.users
    return None
