"""Processes: the only place that starts one.

`Runner` is a seam: tests give a fake one. `LocalRunner` starts processes on this machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol


@dataclass(frozen=True)
class Command:
    """What to start, as whom, where.

    `user` is a name of the password database, None for the caller's own. `memory_cgroup` is a
    directory of a memory cgroup that the process joins before its program starts.
    """

    argv: Sequence[str]
    user: str | None = None
    memory_cgroup: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None


@dataclass(frozen=True)
class Finished:
    """A process that ended."""

    code: int
    stdout: str
    stderr: str


class Running(Protocol):
    """A process that goes on; text streams, line by line."""

    stdin: IO[str] | None
    stdout: IO[str] | None

    @property
    def pid(self) -> int:
        """Its process id."""
        ...

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end."""
        ...

    def send_signal(self, signal: int) -> None:
        """Send a signal."""
        ...


class Runner(Protocol):
    """A seam: starts processes on one host."""

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """Run to the end and return what it wrote; a code other than 0 is not an error here."""
        ...

    def start(self, command: Command, *, stderr: Path | None = None) -> Running:
        """Start and return at once; standard error goes to the file `stderr` or is discarded."""
        ...


__all__ = ["Command", "Finished", "Runner", "Running"]
