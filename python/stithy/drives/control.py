"""Talking to a drive program that serves: a command, an answer.

What the program refuses becomes the error that it tells, with the same problem, place, remedy and
exit code. A program that is not there any more is an InfrastructureError.

What a drive is to be: name, profile, size, where its bytes lie.
Whether a profile is sound and whether the machine has room is for the drive program to say; here
only what could not even be told to it is refused.
"""

import re
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from stithy.errors import InfrastructureError, UserError
from stithy.hosts.devices import connected, text_of
from stithy.hosts.runner import Running, ended_within
from stithy.wire.drive import control as wire
from stithy.wire.drive.jobs import (
    AnyFault,
    DriveVolatile,
    FromProfile,
    InFile,
    InMemory,
    WireDriveSpec,
)
from stithy.wire.drive.messages import DriveCounters, DriveUp
from stithy.wire.program import failure_error

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


SIZE_BYTES_MAX = 2**53
"""8 PiB; beyond it no file system follows, and numbers in JSON lose their last digits."""

SEED_MAX = 2**64 - 1
SECTORS_BYTES = (512, 4096)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
NAME_RULE = (
    "give letters, digits, `-`, `_` and `.`, at most 64 of them, the first a letter or a digit"
)


@dataclass(frozen=True)
class DriveSpec:
    """One drive.

    `profile` is the text of a drive profile (see `profiles.profile_text`), None takes no time.
    `backing` is the sparse file of its bytes, which stays when the drive goes down; None: they lie
    in memory, and are gone with it. `scale` is the divisor of its capacity, IOPS and bandwidth: 8
    for 1/8. `volatile`: what a power cut may take away. `transport_s` and `spin_s` None: as the
    program finds good. The interval log goes to `<hlog_stem>.latency.hlog`, None: there is none.
    Raises UserError for a name, size, sector, scale or seed that no drive can have.
    """

    name: str
    profile: str | None
    size_bytes: int
    sector_bytes: int = 4096
    backing: Path | None = None
    scale: float = 1.0
    seed: int = 0
    volatile: DriveVolatile = field(default_factory=FromProfile)
    transport_s: float | None = None
    spin_s: float | None = None
    hlog_stem: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be told to the program."""
        check_name(self.name)
        self._refuse_unless(
            self.sector_bytes in SECTORS_BYTES,
            f"sectors of {self.sector_bytes} bytes cannot be",
            "give 512 or 4096",
        )
        self._refuse_unless(
            0 < self.size_bytes <= SIZE_BYTES_MAX,
            f"a drive of {self.size_bytes} bytes cannot be",
            "give a size from 1 MiB to 8192 TiB",
        )
        self._refuse_unless(
            self.size_bytes % self.sector_bytes == 0,
            f"{self.size_bytes} bytes are not a multiple of the sector, {self.sector_bytes} bytes",
            f"give {_whole(self.size_bytes, self.sector_bytes)}B",
        )
        self._refuse_unless(
            self.scale >= 1, f"a scale of {self.scale:g} divides nothing", "give 1 or more"
        )
        self._refuse_unless(
            0 <= self.seed <= SEED_MAX,
            f"{self.seed} cannot be a seed",
            f"give a whole number from 0 to {SEED_MAX}",
        )

    def on_wire(self) -> WireDriveSpec:
        """The same for the program, which works in a folder of its own: paths in full."""
        stem, backing = self.hlog_stem, self.backing
        in_full: dict[str, Any] = {
            "backing": InMemory() if backing is None else InFile(path=str(backing.absolute())),
            "hlog_stem": None if stem is None else str(stem.absolute()),
        }
        return WireDriveSpec(**vars(self) | in_full)

    def _refuse_unless(self, right: bool, problem: str, remedy: str) -> None:
        if not right:
            raise UserError(problem, where=f"drive {self.name}", remedy=remedy)


def check_name(name: str) -> None:
    """Raise UserError for what cannot be the name of a drive."""
    if not NAME.fullmatch(name):
        raise UserError("this cannot be the name of a drive", where=repr(name), remedy=NAME_RULE)


def _whole(size_bytes: int, sector_bytes: int) -> int:
    """The nearest size below that is a whole number of sectors, or one sector."""
    return max(size_bytes // sector_bytes, 1) * sector_bytes


PATIENCE_S = 60.0
"""How long an answer may take; bringing a drive up measures its transport first."""

_Answer = TypeVar("_Answer", bound=wire.AnyAnswer)


class Control:
    """The control socket of one program. Each call is a connection of its own."""

    def __init__(self, path: Path, patience_s: float = PATIENCE_S) -> None:
        """`path`: the socket; nothing is opened yet."""
        self.path = path
        self._patience_s = patience_s

    def up(self, spec: DriveSpec) -> DriveUp:
        """Make one more drive."""
        return self._ask(wire.Up(spec=spec.on_wire()), wire.AnswerUp)

    def list(self) -> tuple[DriveUp, ...]:
        """The drives that are up, in the order of their names."""
        return self._ask(wire.List(), wire.AnswerList).drives

    def stats(self, name: str) -> DriveCounters:
        """What a drive did since it came up."""
        return self._ask(wire.Stats(drive=name), wire.AnswerStats)

    def set(
        self,
        name: str,
        *,
        transport_s: float | None = None,
        spin_s: float | None = None,
        paced: bool | None = None,
    ) -> None:
        """Change how a drive waits; what is None stays.

        `paced` False: requests take no time and the drive does not age, for loading data.
        """
        command = wire.Set(drive=name, transport_s=transport_s, spin_s=spin_s, paced=paced)
        self._ask(command, wire.AnswerDone)

    def fault(self, name: str, fault: AnyFault) -> wire.AnswerPowerCut | None:
        """Break a drive, or mend it; after a power cut, what became of the volatile writes."""
        answer = self._ask(
            wire.Fault(drive=name, fault=fault), (wire.AnswerDone, wire.AnswerPowerCut)
        )
        return answer if isinstance(answer, wire.AnswerPowerCut) else None

    def snapshot(self, name: str) -> None:
        """Keep what of a drive outlasts its requests; there is room for one."""
        self._ask(wire.Snapshot(drive=name), wire.AnswerDone)

    def restore(self, name: str) -> None:
        """Put back what the last snapshot kept."""
        self._ask(wire.Restore(drive=name), wire.AnswerDone)

    def trace(self, name: str, path: Path | None) -> wire.AnswerTrace:
        """Write down each request of a drive into a file; None: no more, and how many it were."""
        place = None if path is None else str(path.absolute())
        return self._ask(wire.Trace(drive=name, path=place), wire.AnswerTrace)

    def down(self, name: str | None = None) -> None:
        """Take a drive down; None: all, and the program with them."""
        self._ask(wire.Down(drive=name), wire.AnswerDone)

    def _ask(
        self, command: wire.AnyCommand, kind: type[_Answer] | tuple[type[_Answer], ...]
    ) -> _Answer:
        """The answer to a command, if it is of the right kind."""
        line = self._exchange(command.model_dump_json().encode() + b"\n")
        try:
            answer = wire.parse_answer(line)
        except ValidationError as error:
            raise self._strange(error.errors()[0]["msg"], line) from error
        if isinstance(answer, wire.AnswerFailure):
            raise failure_error(answer)
        if not isinstance(answer, kind):
            raise self._strange(f"unexpected {answer.answer!r}", line)
        return answer

    def _exchange(self, line: bytes) -> bytes:
        try:
            with connected(self.path, self._patience_s) as connection:
                connection.sendall(line)
                with connection.makefile("rb") as reader:
                    answer = reader.readline()
        except TimeoutError as error:
            raise InfrastructureError(
                f"the drive program did not answer within {self._patience_s:g} s",
                where=str(self.path),
                remedy="check whether a signal or a debugger holds it; `stithy drive down` ends it",
            ) from error
        except OSError as error:
            raise self._ended() from error
        if not answer.endswith(b"\n"):
            raise self._ended()
        return answer

    def _ended(self) -> InfrastructureError:
        return InfrastructureError(
            f"the drive program has ended, and its drives with it{how_ended(self.path.parent)}",
            where=str(self.path),
            remedy="find out from the kernel log (dmesg) whether it was killed for memory, remove "
            "what it left with `stithy clean`, and start the drives again",
        )

    def _strange(self, problem: str, line: bytes) -> InfrastructureError:
        return InfrastructureError(
            f"the answer of the drive program is not valid ({problem}): {line[:200]!r}",
            where=str(self.path),
            remedy="make sure that Stithy and its native programs are of the same version",
        )
