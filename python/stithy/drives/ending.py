"""How a drive program ended: its exit code, where this process started it, and its last words."""

import signal
from contextlib import suppress
from pathlib import Path

from stithy.hosts.files import text_of
from stithy.hosts.runner import Running, ended_within

ERRORS = "errors.txt"
"""Where in its folder the program's standard error goes."""

LAST_LINES = 5
END_PATIENCE_S = 1.0
"""How long a program may take to be gone after its socket has closed."""

_STARTED: list[tuple[Path, Running]] = []
"""Programs that this process started, each with its folder: they may outlive whoever asked for
them, and a folder's next one may begin before the last one is gone."""


def remember(folder: Path, program: Running) -> None:
    """Know this program when it ends."""
    _STARTED.append((folder.resolve(), program))


def reap() -> None:
    """Forget the programs that have ended, so that no zombie of them stays."""
    _STARTED[:] = [each for each in _STARTED if each[1].poll() is None]


def how_ended(folder: Path) -> str:
    """` by SIGKILL` or ` with code 1`, and what it wrote last; empty where neither is known."""
    own = [program for place, program in _STARTED if place == folder.resolve()]
    program = own[-1] if own else None
    code = None if program is None else ended_within(program, END_PATIENCE_S)
    return _by(code) + "".join(f": {line}" for line in last_words(folder))


def _by(code: int | None) -> str:
    if code is None:
        return ""
    return f" by {signal_name(-code)}" if code < 0 else f" with code {code}"


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; a number that has no name as it is."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def last_words(folder: Path) -> list[str]:
    """The last lines of its standard error."""
    return text_of(folder / ERRORS).splitlines()[-LAST_LINES:]
