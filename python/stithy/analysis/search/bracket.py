"""Between which levels a limit of response time ends to be obeyed, by the windows measured so far.

A level obeys where all its valid windows do. Between windows that disagree, and of those that are
not valid, nothing is taken for granted: the bracket is the widest that contradicts no window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

WINDOWS_ENOUGH = 2
"""Own: an end of a bracket rests on two windows, so that one lucky window does not decide."""


class Said(Enum):
    """What the windows of a level say together."""

    OBEYED = "obeys"
    MISSED = "does not obey"
    SPLIT = "windows disagree"
    NOTHING = "says nothing"


@dataclass(frozen=True)
class Trial:
    """The windows of one candidate at a level: valid ones that `obeyed` the limit and `missed` it.

    `silent` are those that say nothing of the storage, because they are not valid.
    """

    users: int
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
        """Whether it rests on as many windows as an end of a bracket wants.

        Own: see `WINDOWS_ENOUGH`.
        """
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
    obey although a lower one does not, which a response that grows with the users would not do;
    `silent` those that say nothing.
    """

    low: Trial | None
    high: Trial | None
    wall: Trial | None
    split: tuple[int, ...]
    again: tuple[int, ...]
    silent: tuple[int, ...]


def bracket(trials: Sequence[Trial]) -> Bracket:
    """The bracket that these trials give, one for each level, in any order.

    Edge case: without a trial everything is empty.
    Own: the cautious end of what is known, the users below the first sign of trouble.
    """
    known = sorted(trials, key=lambda trial: trial.users)
    doubt = _first(known, Said.MISSED, Said.SPLIT)
    obeyed = [each for each in known if each.said is Said.OBEYED]
    below = [each for each in obeyed if doubt is None or each.users < doubt.users]
    low = below[-1] if below else None
    over = [each for each in known if low is None or each.users > low.users]
    return Bracket(
        low=low,
        high=_first(over, Said.MISSED),
        wall=_first(over, Said.MISSED, Said.SPLIT, Said.NOTHING),
        split=_levels(known, Said.SPLIT),
        again=tuple(each.users for each in obeyed if each not in below),
        silent=_levels(known, Said.NOTHING),
    )


def _first(known: Sequence[Trial], *said: Said) -> Trial | None:
    return next((each for each in known if each.said in said), None)


def _levels(known: Sequence[Trial], said: Said) -> tuple[int, ...]:
    return tuple(each.users for each in known if each.said is said)
