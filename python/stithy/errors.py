"""The one tree of errors that Stithy raises, and which exit code each leads to.

    StithyError
    ├─ UserError            2    the caller can prevent it: study file, command line
    ├─ PreconditionError    3    the machine lacks something: rights, space, a server program
    ├─ InfrastructureError  4    something outside failed during a run; a retry may help
    ├─ InvalidMeasurement   5    it ran, but supports no claim
    └─ Interrupted        130    a person stopped it; resumable

Everything else that escapes is a bug and ends with exit code 1.
"""

from typing import ClassVar

from stithy.exits import Exit


class StithyError(Exception):
    """An error a person can act on: what failed, where, and what would mend it."""

    exit: ClassVar[Exit] = Exit.BUG
    excerpt: str = ""
    """Lines of the file in question with a caret under the place; empty where there is no file."""

    def __init__(self, problem: str, *, where: str, remedy: str) -> None:
        """`problem` includes the value seen; `where` a file:line:column, host, device or step."""
        super().__init__(f"{where}: {problem}: {remedy}")
        self.problem = problem
        self.where = where
        self.remedy = remedy

    def parts(self) -> tuple["StithyError", ...]:
        """The single errors this one consists of: itself, unless it carries several."""
        return (self,)


class UserError(StithyError):
    """The study file or the command line is wrong."""

    exit = Exit.USAGE


class PreconditionError(StithyError):
    """The machine lacks something that the run needs."""

    exit = Exit.PRECONDITION


class InfrastructureError(StithyError):
    """Something outside of Stithy failed during a run."""

    exit = Exit.INFRASTRUCTURE


class InvalidMeasurement(StithyError):
    """It ran to its end, but the numbers support no claim."""

    exit = Exit.INVALID


class Interrupted(StithyError):
    """A person stopped the run."""

    exit = Exit.INTERRUPTED
