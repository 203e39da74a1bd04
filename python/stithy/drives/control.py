"""Talking to a drive program that serves: a command, an answer.

What the program refuses becomes the error that it tells, with the same problem, place, remedy and
exit code. A program that is not there any more is an InfrastructureError.
"""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from stithy.drives.ending import how_ended
from stithy.drives.spec import DriveSpec
from stithy.errors import InfrastructureError
from stithy.hosts.files import connected
from stithy.wire.drive import control as wire
from stithy.wire.drive.jobs import AnyFault
from stithy.wire.drive.messages import DriveCounters, DriveFacts
from stithy.wire.program import failure_error

PATIENCE_S = 60.0
"""How long an answer may take; bringing a drive up measures its transport first."""

_Answer = TypeVar("_Answer", bound=wire.AnyAnswer)


class Control:
    """The control socket of one program. Each call is a connection of its own."""

    def __init__(self, path: Path, patience_s: float = PATIENCE_S) -> None:
        """`path`: the socket; nothing is opened yet."""
        self.path = path
        self._patience_s = patience_s

    def up(self, spec: DriveSpec) -> DriveFacts:
        """Make one more drive."""
        return self._ask(wire.Up(spec=spec.on_wire()), wire.AnswerUp)

    def list(self) -> tuple[DriveFacts, ...]:
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
