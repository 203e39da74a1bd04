"""What can be wrong with a window, or must be known of it: flags, reasons, and their checks.

A check lies in a module of `analysis/checks/`, in a scenario's or activity's `judge.py`, or among
what an engine declares. It names the tables that it needs, and is not asked where a run has none.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from stithy.statements import Statement

Row = Mapping[str, Any]

VALID, INVALID = "valid", "invalid"
"""What figures, tables and exports call a window by whether it supports a claim."""


@dataclass(frozen=True)
class Flag:
    """One thing that can be said of a window: in two words, in a sentence, and an advice.

    `sentence`: a template of a `Statement`.
    `invalidates`: a window with it supports no claim. `is_own`: it is the window itself that is
    wrong; one may support no claim for another one's failure. `unsampled`: means of collectors are
    missing in a window with it. `is_finding`: it is a result of the window, whatever else is wrong
    with that, and measuring it again would tell the same.
    """

    value: str
    sentence: str
    advice: str
    invalidates: bool = False
    is_own: bool = True
    unsampled: bool = False
    is_finding: bool = False

    @property
    def is_failure(self) -> bool:
        """Whether the window itself failed."""
        return self.invalidates and self.is_own


@dataclass(frozen=True)
class Reason:
    """One flag with what raised it: the values of its sentence's fields.

    `delay_share`: by which share what it tells of delayed those who waited in a window at most;
    None where nothing bounds what it did. `is_outside`: before a connection was taken, so that no
    queue grew by it.
    """

    flag: Flag
    data: Mapping[str, Any] = field(default_factory=dict)
    delay_share: float | None = None
    is_outside: bool = False

    @property
    def invalidates(self) -> bool:
        """Whether this reason alone makes the window invalid."""
        return self.flag.invalidates

    @property
    def sentence(self) -> "Statement":
        """What was seen, in one sentence."""
        from stithy.statements import Statement  # which `stithy --help` does not wait for

        return Statement(self.flag.sentence, **self.data)

    @property
    def advice(self) -> str:
        """What a person can do about it, in one sentence."""
        return self.flag.advice


class Recorded(Protocol):
    """What a check of an engine may look at: rows of `window` and of `surroundings`."""

    @property
    def window(self) -> Row:
        """The row of the window."""

    @property
    def around(self) -> Row | None:
        """What was around it; None where nobody looked."""


Record = TypeVar("Record", contravariant=True)


@dataclass(frozen=True)
class Check(Generic[Record]):
    """One question about a window.

    `needs`: the tables without which it is not asked. `find`: what is wrong; None where nothing
    is. `always`: it is asked of windows without numbers, too.
    """

    needs: tuple[str, ...]
    find: Callable[[Record], Reason | None]
    always: bool = False


def is_valid(reasons: Iterable[Reason]) -> bool:
    """Whether a window with these reasons supports a claim: one that invalidates is enough."""
    return not any(reason.invalidates for reason in reasons)


def make_clause(text: str) -> str:
    """A text of elsewhere as the end of a sentence: one line, no full stop of its own.

    Own: what is said here ends with the one full stop of its sentence.
    """
    return " ".join(str(text).split()).rstrip(".")
