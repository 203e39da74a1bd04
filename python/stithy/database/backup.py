"""The interface of a way to back a database up: an optional capability of an engine.

An engine that can be backed up has a package `backups` with one module a method; the names are in
`BACKUPS` of the engine's `__init__`. A module has

- `problem(options)`, why it cannot work with these options, and what to change; None if it can;
- `programs(options)`, the names of the programs that it starts, each with its package;
- `take(tools, source, target, options)`, the command that backs a running server up into `target`,
  an empty directory of the server's user; and
- `restore(tools, backup, data, options)`, the commands that make a data directory of it, in the
  empty directory `data`. They read nothing of the source and write nothing but `data`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from stithy.errors import PreconditionError, UserError
from stithy.hosts.runner import Command
from stithy.needs import Package
from stithy.registry import part
from stithy.secrets import Secret


@dataclass(frozen=True)
class Options:
    """How a backup is made: with so many processes, compressed so (`none`: not at all).

    `bytes_per_s`: how fast it reads the database at most; None as fast as it can.
    """

    processes: int = 1
    compression: str = "none"
    bytes_per_s: int | None = None


@dataclass(frozen=True)
class Tools:
    """Where the engine's own programs are, and where those of the machine are found."""

    programs: Path


@dataclass(frozen=True)
class Source:
    """The running server that is backed up."""

    url: Secret


class Method(Protocol):
    """A seam: one way to back up and to restore."""

    def problem(self, options: Options) -> str | None:
        """Why these options cannot be had; None if they can."""
        ...

    def programs(self, options: Options) -> Mapping[str, Package]:
        """What it starts, by name of the program with its package."""
        ...

    def take(self, tools: Tools, source: Source, target: Path, options: Options) -> Command:
        """The command that makes a backup."""
        ...

    def restore(
        self, tools: Tools, backup: Path, data: Path, options: Options
    ) -> Sequence[Command]:
        """The commands that make a data directory of a backup, in their order."""
        ...


def method_of(engine: str, name: str) -> Method:
    """The method of this name."""
    return cast(Method, part("engine", engine, f"backups.{name}"))


def check(
    method: Method,
    options: Options,
    found: Mapping[str, str | None],
    where: str = "scenario.backup",
) -> None:
    """Raise UserError for options that do not fit, PreconditionError for a missing program.

    `found`: the path of each program by its name, None where it is not there.
    """
    if problem := method.problem(options):
        raise UserError(problem, where=where, remedy="change it, or choose another method")
    for name, package in method.programs(options).items():
        if found.get(name) is None:
            raise PreconditionError(
                f"the backup needs the program {name}, which was not found",
                where=where,
                remedy=f"install it: {package.install()}",
            )
