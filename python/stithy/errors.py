"""The one tree of errors that Stithy raises, and which exit code each leads to.

    StithyError
    ├─ UserError            2    the caller can prevent it: study file, command line
    ├─ PreconditionError    3    the machine lacks something: rights, space, a server program
    ├─ InfrastructureError  4    something outside failed during a run; a retry may help
    ├─ InvalidMeasurement   5    it ran, but supports no claim
    └─ Interrupted        130    a person stopped it; resumable

Everything else that escapes is a bug, of Stithy or of a plug-in of one's own, and ends with exit
code 1.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, TypeVar


class Exit(IntEnum):
    """One code for each way a command can end."""

    OK = 0
    BUG = 1
    USAGE = 2
    PRECONDITION = 3
    INFRASTRUCTURE = 4
    INVALID = 5
    THRESHOLD = 99
    INTERRUPTED = 130


T = TypeVar("T")


class StithyError(Exception):
    """An error a person can act on: what failed, where, and what would fix it."""

    exit: Exit = Exit.BUG
    resumable: bool = True
    """Whether a run that it ended can be continued once what it names is put right."""
    excerpt: str = ""
    """Lines of the file in question with a caret under the place; empty where there is no file."""

    def __init__(self, problem: str, *, where: str, remedy: str) -> None:
        """`problem` includes the value seen; `where` a file:line:column, host, device or step."""
        super().__init__(f"{where}: {problem}: {remedy}")
        self.problem = problem
        self.where = where
        self.remedy = remedy

    @property
    def text(self) -> str:
        """Its place, problem and remedy, or those of all its parts."""
        return "; ".join(map(str, self.parts()))

    def parts(self) -> tuple["StithyError", ...]:
        """The single errors this one consists of: itself, unless it carries several."""
        return (self,)

    def details(self) -> Mapping[str, Any]:
        """What programs are told beside problem, place and remedy, by name."""
        return {}


class UserError(StithyError):
    """The study file or the command line is wrong."""

    exit = Exit.USAGE
    resumable = False  # a run goes on with the study that it began with


class FileProblem(UserError):
    """One thing wrong with a file; `excerpt` is its line, with a caret under the place."""

    def __init__(self, problem: str, *, where: str, remedy: str, excerpt: str = "") -> None:
        """`where` is `file:line` or `file:line:column`, from 1, or the file alone."""
        super().__init__(problem, where=where, remedy=remedy)
        self.excerpt = excerpt


class FileError(UserError):
    """A file that cannot be used: carries all problems, in the order of the file."""

    def __init__(self, file: str, problems: Sequence[FileProblem], what: str) -> None:
        """`problems` has at least one entry."""
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(
            f"{count} in this {what}", where=file, remedy="fix the file; nothing was done"
        )
        self.problems = tuple(problems)

    def parts(self) -> tuple[StithyError, ...]:
        return self.problems


class PreconditionError(StithyError):
    """The machine lacks something that the run needs."""

    exit = Exit.PRECONDITION


class Refused(PreconditionError):
    """Several problems, found together, so that one round of repairs is enough."""

    def __init__(self, problems: tuple[StithyError, ...], *, where: str) -> None:
        """Exit code 2 where the caller can prevent all of them, else 3."""
        super().__init__(
            f"{len(problems)} problems", where=where, remedy="fix them; nothing was made"
        )
        self.problems = problems
        if all(isinstance(problem, UserError) for problem in problems):
            self.exit = Exit.USAGE

    def parts(self) -> tuple[StithyError, ...]:
        return self.problems


class Problems:
    """Collects what several checks raise: each check runs, whatever the others found."""

    def __init__(self) -> None:
        self.found: list[StithyError] = []

    def attempt(self, check: Callable[[], T]) -> T | None:
        """What `check` returns; None where it raised, and its problems are then in `found`."""
        try:
            return check()
        except (UserError, PreconditionError) as error:
            known = {str(each) for each in self.found}
            self.found += [part for part in error.parts() if str(part) not in known]
            return None

    def refusal(self, where: str) -> StithyError | None:
        """One error for all that was found; `where` is what the checks were of."""
        if len(self.found) < 2:
            return next(iter(self.found), None)
        return Refused(tuple(self.found), where=where)

    def refuse(self, where: str) -> None:
        """Raise the error for all that was found, if anything was."""
        if (refusal := self.refusal(where)) is not None:
            raise refusal


class InfrastructureError(StithyError):
    """Something outside of Stithy failed during a run."""

    exit = Exit.INFRASTRUCTURE


class InvalidMeasurement(StithyError):
    """It ran to its end, but the numbers support no claim."""

    exit = Exit.INVALID
    resumable = False  # the rest would support none either


class NothingValid(InvalidMeasurement):
    """Block after block has no valid window, for what may be put right."""

    resumable = True


class Interrupted(StithyError):
    """A person stopped the run."""

    exit = Exit.INTERRUPTED


class TextError(ValueError):
    """A text is not what it should be; says in words for a person what would be right.

    No other exception of Python's has words for a person: what catches those says its own.
    """


REMEDIES = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "raise the quota there, or make room",
    errno.EIO: "look for errors of the device in the kernel log (dmesg)",
    errno.EROFS: "find out from the kernel log (dmesg) why it became read-only",
    errno.ENOMEM: "free memory",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "raise the machine's limit of open files (fs.file-max)",
    errno.EAGAIN: "raise the limit of processes (ulimit -u)",
}
"""What can fail in any call at any time, for no fault of Stithy's; other numbers are bugs."""


def give_reason(error: BaseException) -> str:
    """Why something failed, in words for a person: a known error's own, or the system's."""
    if isinstance(error, StithyError | TextError):
        return str(error)
    said = error.strerror if isinstance(error, OSError) else None
    return said[0].lower() + said[1:] if said else "the system gives no reason"


@contextmanager
def convert_machine_failures(where: str) -> Iterator[None]:
    """Inside, a full disk or a machine at its limits is an InfrastructureError, not a bug.

    `where` is told where the failed call names no file.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        raise InfrastructureError(
            os.strerror(error.errno).lower(),
            where=str(error.filename or where),
            remedy=f"{REMEDIES[error.errno]}, then run again",
        ) from error
