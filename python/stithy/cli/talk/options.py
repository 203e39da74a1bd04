"""Options that commands of several kinds share, and what is read from the words of one."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from types import FrameType
from typing import TYPE_CHECKING, Annotated, TypeVar

from cyclopts import Parameter

from stithy.cli.talk.render import say
from stithy.errors import TextError, UserError

if TYPE_CHECKING:
    from stithy.registry import Plugin

Json = Annotated[bool, Parameter(name="--json", help="Print one JSON document.")]
RunFolder = Annotated[Path, Parameter(help="The directory of the run, as `stithy run` wrote it.")]
Junit = Annotated[
    Path | None, Parameter(help="Write the study's thresholds to this file, as JUnit XML.")
]
NoWait = Annotated[
    bool,
    Parameter(
        help="Measure at once, even while other programs use the machine (study key `quiet.wait`)."
    ),
]
Keep = Annotated[
    bool,
    Parameter(
        help="Leave the database instances running, without a memory limit, and print how to "
        "connect to them. `stithy clean` ends them."
    ),
]
Metrics = Annotated[
    str | None,
    Parameter(
        help="Publish the progress of the run for Prometheus, at /metrics of this loopback "
        "address, such as 127.0.0.1:9464. It ends with the run."
    ),
]
Page = Annotated[
    str | None,
    Parameter(
        help="Show the run live on a page at this address, such as 127.0.0.1:8080. It only reads. "
        "On an address that other machines reach it needs the token that is printed."
    ),
]
Scheduler = Annotated[
    str | None, Parameter(help="Where the agents of a study meet; default: 127.0.0.1:8786.")
]
Tls = Annotated[
    Path | None,
    Parameter(
        help="File with a certificate and its key, the same for everybody who may join; needed "
        "beyond this machine. docs/how-to/use-many-hosts.md says how to make one."
    ),
]

T = TypeVar("T")


def read(parse: Callable[[object], T], text: str, option: str, what: str) -> T:
    """What `parse` makes of the text of an option. Raises UserError where that is not `what`."""
    try:
        return parse(text)
    except TextError as error:
        raise UserError(f"{text!r} is not {what}", where=option, remedy=str(error)) from error


def read_seconds(text: str, option: str) -> float:
    """Seconds of an option. Raises UserError."""
    from stithy.units import parse_duration

    return read(parse_duration, text, option, "a duration")


def read_measured(text: str, option: str = "--duration") -> float:
    """Seconds of an option that must be more than 0. Raises UserError."""
    if (duration_s := read_seconds(text, option)) > 0:
        return duration_s
    raise UserError("nothing would be measured", where=option, remedy="give more than 0 s")


def read_percent(text: str, option: str) -> int:
    """Whole percent of an option. Raises UserError."""
    from stithy.units import parse_percent

    return read(parse_percent, text, option, "a percentage")


def read_size(text: str, option: str) -> int:
    """Bytes of an option. Raises UserError."""
    from stithy.units import parse_size

    return read(parse_size, text, option, "a size")


def require_within(option: str, number: int | None, least: int, greatest: int) -> None:
    """Raise UserError for a number of an option outside its bounds; None: not given."""
    if number is not None and not least <= number <= greatest:
        raise UserError(
            f"{number} is too {'small' if number < least else 'large'}",
            where=option,
            remedy=f"give {least} to {greatest}",
        )


@contextmanager
def stop_when_interrupted() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets; a second signal raises KeyboardInterrupt."""
    stop = threading.Event()

    def ask(_signal: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        say("stopping; press Ctrl-C again to stop at once")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def require_new(path: Path) -> None:
    """Refuse a place for a new file before anything is done. Raises UserError."""
    if path.exists() or path.is_symlink():
        raise UserError("the file exists already", where=str(path), remedy="give a new file")
    if not path.parent.is_dir():
        remedy = f"make it: mkdir {quote(str(path.parent))}"
        raise UserError(f"{path.parent} is not a directory", where=str(path), remedy=remedy)


def require_plugin(family: "type[Plugin]", name: str | None, problem: str, option: str) -> None:
    """Raise UserError with this problem where no plug-in has the name; None: not given."""
    from stithy.names import suggest_instead
    from stithy.registry import plugins

    known = list(plugins(family))
    if name is not None and name not in known:
        raise UserError(problem, where=option, remedy=suggest_instead(name, known, quote=""))


def require_writable(path: Path | None, option: str = "--junit") -> None:
    """Refuse a place for a file before anything is done. Raises UserError."""
    if path is None:
        return
    if path.exists() and not path.is_file():
        # A device or a pipe would be replaced, not written to.
        problem, remedy = "this is not a file", "name a file"
    elif not path.absolute().parent.is_dir():
        problem, remedy = "there is no directory for this file", "make it, or name another place"
    else:
        return
    raise UserError(problem, where=f"{option} {path}", remedy=remedy)
