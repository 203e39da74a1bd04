"""What all commands share when they show something: talk, tables, JSON, errors and exit codes."""

import errno
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import cyclopts
from cyclopts.exceptions import MissingArgumentError, UnknownCommandError, UnusedCliTokensError

from stithy.environment import state_home
from stithy.errors import REMEDIES, Exit, InfrastructureError, PreconditionError, StithyError
from stithy.names import find_closest
from stithy.report.words.escape import escape_unseen

if TYPE_CHECKING:
    from stithy.run.cleaning import Left


def say(text: str) -> None:
    """Talk to the person: standard error, so that standard output stays data.

    Letters that would act on a terminal, in a server's message for example, are reported by number.
    A terminal that was closed, or a log's full disk, ends the talk and not the work.
    """
    with suppress(OSError):
        print(escape_unseen(text), file=sys.stderr)


def show(text: str) -> None:
    """Data for people: standard output; letters that would act there are reported by number."""
    print(escape_unseen(text))


def show_pieces(pieces: Iterable[str]) -> None:
    """Data for programs that is a document already, piece by piece: standard output."""
    for piece in pieces:
        print(piece, end="")


def show_json(value: object) -> None:
    """Data for programs: one JSON document on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def make_table(header: Sequence[str], rows: Sequence[Sequence[str]], sides: str = "") -> str:
    """A plain text table: columns by their widest cell, two spaces between, no lines drawn.

    Shapes: every row has as many entries as `header`; `sides` a letter for each column, `<` or `>`
    as in formats (default: all left).
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    formats = list(zip(sides or "<" * len(header), widths, strict=True))
    written = []
    for row in lines:
        cells = (f"{cell:{side}{width}}" for cell, (side, width) in zip(row, formats, strict=True))
        written.append("  ".join(cells).rstrip())
    return "\n".join(written)


def format_left(left: "Left") -> str:
    """What of a run could not be removed, and why."""
    facts = ", ".join(f"{name} {value}" for name, value in left.resource.facts.items())
    return f"not removed: {left.resource.kind} ({facts}): {left.reason}"


UNKNOWN = "-"


def format_time_text(seconds: float | None) -> str:
    """A time."""
    from stithy.units import format_duration

    return UNKNOWN if seconds is None else format_duration(seconds)


def format_size_text(size_bytes: float | None) -> str:
    """A size."""
    from stithy.units import format_size

    return UNKNOWN if size_bytes is None else format_size(size_bytes)


def format_rate_text(value: float | None) -> str:
    """A whole number."""
    return UNKNOWN if value is None else f"{value:,.0f}"


class NobodyReads(BrokenPipeError):
    """Raised where the reader of standard output has gone (`stithy plan … | head`)."""


class Output:
    """Standard output; once it cannot be written, whatever follows goes nowhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write some text. Raises NobodyReads or InfrastructureError, and neither twice."""
        with self._told():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is still to be written. Raises as `write` does."""
        with self._told():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            # Lead the descriptor nowhere, and let Python forget what it kept.
            with suppress(OSError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)
            # A terminal that was closed says EIO.
            if isinstance(error, BrokenPipeError) or error.errno == errno.EIO:
                raise NobodyReads from error
            number = error.errno or 0
            remedy = REMEDIES.get(number, "check where the output goes")
            raise InfrastructureError(
                f"it cannot be written: {os.strerror(number).lower()}",
                where="standard output",
                remedy=f"{remedy}, then run again",
            ) from error


@contextmanager
def tell_output() -> Iterator[None]:
    """Inside, standard output is an `Output`; where the caller closed it, it stays nothing."""
    if sys.stdout is None:
        yield
        return
    with redirect_stdout(cast(TextIO, Output(sys.stdout))):
        yield


SHOWN_MAX = 50
"""Problems of a file that are shown; more than a person mends before trying again."""


def show_error(error: BaseException, *, debug: bool, as_json: bool = False) -> int:
    """Tell the person on standard error what went wrong; returns the exit code.

    `as_json` tells it also to programs, on standard output.
    """
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return Exit.INTERRUPTED
    if isinstance(error, StithyError):
        if as_json:
            parts = [error.problem, error.where, error.remedy, int(error.exit)]
            keys = ("problem", "where", "remedy", "exit")
            with suppress(NobodyReads, InfrastructureError):  # the person is told all the same
                show_json({"failure": {**dict(zip(keys, parts, strict=True)), **error.details()}})
        return _show_known(error, debug=debug)
    return _show_bug(error, debug=debug)


def show_usage(error: cyclopts.CycloptsError) -> int:
    """Tell the person what is wrong with the command line, and where its help is."""
    command = " ".join(("stithy", *(error.command_chain or ())))
    say(f"error: {command}: {_describe_usage(error)} See `{command} --help`.")
    return Exit.USAGE


def _describe_usage(error: cyclopts.CycloptsError) -> str:
    words, argument = error.unused_tokens or [], error.argument
    if isinstance(error, UnknownCommandError) and error.app is not None and words:
        if words[0].startswith("-"):
            return f"There is no option {words[0]} before a command."
        known = [name for name in error.app if not name.startswith("-")]
        meant = find_closest(words[0], known)
        hint = f"Did you mean {meant}?" if meant else f"There are {', '.join(known)}."
        return f"There is no command {words[0]!r}. {hint}"
    if isinstance(error, UnusedCliTokensError):
        return f"More than it takes: {' '.join(words)}."
    if isinstance(error, MissingArgumentError) and argument is not None:
        if error.keyword:
            return f"{error.keyword} needs a value."
        is_place = argument.field_info.is_positional
        return f"{argument.name.lstrip('-').upper() if is_place else argument.name} is missing."
    error.verbose = False
    return str(error).strip()


def _show_known(error: StithyError, *, debug: bool) -> int:
    parts = error.parts()
    if parts == (error,):
        say(f"error: {error}\n{error.excerpt}".rstrip())
    else:
        say("\n\n".join(f"{part}\n{part.excerpt}".rstrip() for part in parts[:SHOWN_MAX]))
        if len(parts) > SHOWN_MAX:
            say(f"\n… and {len(parts) - SHOWN_MAX} more")
        say(f"\nerror: {error}")
    if debug:
        say(_format_traceback(error))
    return error.exit


def _show_bug(error: BaseException, *, debug: bool) -> int:
    text = _format_traceback(error)
    if debug:
        say(text)
    kept = _keep(text)
    place = f"its traceback is in {kept}" if kept else "run again with --debug for its traceback"
    what = f"{type(error).__name__}: {error}"
    say(f"error: a bug in Stithy, not of your making: {what}: {place}")
    return Exit.BUG


def _format_traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _keep(text: str) -> Path | None:
    """Write a traceback where it can be found again; None where nothing can be written."""
    folders = [Path(tempfile.gettempdir())]
    with suppress(PreconditionError):
        folders.insert(0, state_home() / "bugs")
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(
                "w", prefix="stithy-bug-", suffix=".txt", dir=folder, delete=False
            ) as file:
                file.write(text)
            return Path(file.name)
        except OSError:
            continue
    return None
