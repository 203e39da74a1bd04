"""A runner whose one program answers with given messages and remembers its job."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from pydantic import BaseModel

from stithy.hosts.runner import Command, Finished, Running
from stithy.wire.jobs import AnyJob
from support.heard import parse_job


class _Kept(io.StringIO):
    """A stream whose text outlives its closing."""

    text = ""

    def close(self) -> None:
        """Keep the text."""
        self.text = self.text or self.getvalue()
        super().close()


class AnsweringProgram:
    """A process that has already written all its messages, and ended well."""

    pid = 1

    def __init__(self, messages: Sequence[BaseModel]) -> None:
        lines = "".join(f"{message.model_dump_json()}\n" for message in messages)
        self.input = _Kept()
        self.stdin: IO[str] | None = self.input
        self.stdout: IO[str] | None = io.StringIO(lines)

    def poll(self) -> int | None:
        """It has ended."""
        return 0

    def wait(self, timeout: float | None = None) -> int:
        """It has ended."""
        return 0

    def send_signal(self, signal: int) -> None:
        """Nobody is there to hear it."""


class AnsweringRunner:
    """A seam's stand-in: each start gives a program with the next list of messages."""

    def __init__(self, *answers: Sequence[BaseModel]) -> None:
        self.programs = [AnsweringProgram(messages) for messages in answers]
        self.commands: list[Command] = []

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """The next program."""
        self.commands.append(command)
        return self.programs[len(self.commands) - 1]

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """Nothing is run to its end here."""
        raise NotImplementedError

    @property
    def jobs(self) -> list[AnyJob]:
        """What the started programs were asked to do."""
        return [parse_job(program.input.text) for program in self.programs[: len(self.commands)]]


class EndingRunner:
    """A seam's stand-in: each program ends at once with this code and these words.

    `asked` and `inputs`: the command lines, and what was written to standard input.
    """

    def __init__(self, code: int = 0, stdout: str = "", stderr: str = "") -> None:
        self.asked: list[Sequence[str]] = []
        self.inputs: list[str] = []
        self._finished = Finished(code, stdout, stderr)

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """It has ended."""
        self.asked.append(command.argv)
        self.inputs.append(stdin)
        return self._finished

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """Nothing goes on here."""
        raise NotImplementedError
