"""The interface of a way to back a database up: an optional capability of an engine.

An engine that can be backed up has a package `backups` with one module a method; the names are in
`BACKUPS` of the engine's `__init__`. A module has

- `problem(options)`, why it cannot work with these options, and what to change; None if it can;
- `programs(options)`, the names of the programs that it starts, each with its package;
- `version(tools)`, the command by which the program that makes a backup says its version;
- `take(tools, source, target, options)`, the command that backs a running server up into `target`,
  a directory of the server's user, empty where the method says nothing else; and
- `restore(tools, backup, data, options)`, the commands that make a data directory of it, in the
  empty directory `data`. They read nothing of the source and write nothing but `data` and what
  lies beside it.

A backup that holds no data directory is loaded into a new, empty database, which the engine makes.
Its module has no `restore` but

- `load(tools, backup, fresh, options)`, the commands that fill the running server `fresh`.

A method that keeps a repository, in which later backups build on earlier ones, has

- `settings(data, folder, options)`, what each server on `data` is started with, whether it is
  backed up or not: what that costs is no cost of a backup;
- `prepare(tools, data, folder, options)`, the commands that make the repository in the empty
  directory `folder`, before such a server is started; and
- `stored(folder)`, the directory of the last backup in it.

Before each window the repository is made anew. It gets a full backup that does not count where
those that are measured need one.

What else a method may need it says by these, each of them optional:

- `refusal(tools, options, run)`, what the installed programs refuse of the options, None if
  nothing;
- `restored_settings()`, what a server on a restored data directory is started with;
- `NEEDS`, what it needs of a machine beside the engine, for `stithy doctor`;
- `commits(options)`, how many transactions of its own a backup commits in the database at most;
- `room_bytes(held, log, options, cycles)`, what its backups may come to hold where that is more
  than `held`, the database; `log` is what is logged in a window at most; and
- `READS_FILES = True`, where it reads the files by itself and not through the server, so that it
  must share the server's memory.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, cast

from stithy.errors import PreconditionError, UserError
from stithy.hosts.runner import Command, Finished
from stithy.names import instead
from stithy.needs import Need, Package, version_in
from stithy.registry import part, plugins
from stithy.secrets import Secret

FULL: Final = "full"
"""The kind of a backup that needs no other."""


@dataclass(frozen=True)
class Options:
    """How a backup is made: with so many processes, compressed so (`none`: not at all).

    `bytes_per_s`: how fast it reads the database at most; None as fast as it can. `kind`: whether
    it holds everything, or what changed since an earlier one.
    """

    processes: int = 1
    compression: str = "none"
    bytes_per_s: int | None = None
    kind: str = FULL


@dataclass(frozen=True)
class Tools:
    """Where the engine's own programs are; those of the machine are found by their names."""

    programs: Path


@dataclass(frozen=True)
class Source:
    """A running server, and its data directory."""

    url: Secret
    data: Path


class Method(Protocol):
    """A seam: one way to back up and to restore; what is optional is asked for below."""

    def problem(self, options: Options) -> str | None:
        """Why these options cannot be had; None if they can."""

    def programs(self, options: Options) -> Mapping[str, Package]:
        """What it starts, by name of the program with its package."""

    def version(self, tools: Tools) -> Command:
        """The command that says the version of what makes a backup."""

    def take(self, tools: Tools, source: Source, target: Path, options: Options) -> Command:
        """The command that makes a backup."""


class Repository(Method, Protocol):
    """A seam: a method that keeps a repository."""

    def settings(self, data: Path, folder: Path, options: Options) -> Mapping[str, str]:
        """Of each server that is to be backed up."""

    def prepare(
        self, tools: Tools, data: Path, folder: Path, options: Options
    ) -> Sequence[Command]:
        """The commands that make the repository."""

    def stored(self, folder: Path) -> Path:
        """The directory of the last backup."""


Run = Callable[[Command], Finished]
"""Runs a command as the server's user, to its end."""


def every_method() -> dict[str, Method]:
    """The methods of all engines by their names."""
    every = ((engine, getattr(it, "BACKUPS", ())) for engine, it in plugins("engine").items())
    return {name: method_of(engine, name) for engine, names in every for name in names}


def needs_of(method: Method) -> Sequence[Need]:
    """What it needs of a machine beside the engine."""
    return cast(Sequence[Need], getattr(method, "NEEDS", ()))


def tool(method: Method, tools: Tools, run: Run) -> str:
    """What makes its backups, with its version: `pg_dump 15.8`."""
    command = method.version(tools)
    return f"{Path(command.argv[0]).name} {version_in(run(command).stdout)}".rstrip()


def method_of(engine: str, name: str) -> Method:
    """The method of this name. Raises UserError where the engine has none of it."""
    known = tuple(getattr(plugins("engine")[engine], "BACKUPS", ()))
    if name not in known:
        raise UserError(
            f"{engine} has no method of backup {name}",
            where="scenario.backup.method",
            remedy=instead(name, known),
        )
    return cast(Method, part("engine", engine, f"backups.{name}"))


def repository_of(method: Method) -> Repository | None:
    """The method as one that keeps a repository; None where it does not."""
    return cast(Repository, method) if hasattr(method, "prepare") else None


def reads_files(method: Method) -> bool:
    """Whether it reads the database's files by itself."""
    return bool(getattr(method, "READS_FILES", False))


def own_commits(method: Method, options: Options) -> int:
    """How many transactions a backup commits in the database at most."""
    asked = getattr(method, "commits", None)
    return 0 if asked is None else int(asked(options))


def restored_settings(method: Method) -> Mapping[str, str]:
    """Of a server on what was restored."""
    asked = getattr(method, "restored_settings", None)
    return {} if asked is None else cast(Mapping[str, str], asked())


def room_bytes(method: Method, held: int, log: int, options: Options, cycles: int) -> int:
    """What so many backups of a database may come to hold."""
    asked = getattr(method, "room_bytes", None)
    return held if asked is None else int(asked(held, log, options, cycles))


def restore_commands(
    method: Method, tools: Tools, backup: Path, data: Path, options: Options
) -> Sequence[Command] | None:
    """The commands that make a data directory; None where the backup is loaded into a server."""
    asked = getattr(method, "restore", None)
    return None if asked is None else cast(Sequence[Command], asked(tools, backup, data, options))


def load_commands(
    method: Method, tools: Tools, backup: Path, fresh: Source, options: Options
) -> Sequence[Command]:
    """The commands that fill a new server; none where the data directory holds everything."""
    asked = getattr(method, "load", None)
    return () if asked is None else cast(Sequence[Command], asked(tools, backup, fresh, options))


def check_options(method: Method, options: Options, where: str = "scenario.backup") -> None:
    """Raise UserError for options that the method cannot have."""
    if problem := method.problem(options):
        raise UserError(problem, where=where, remedy="change it, or choose another method")


def check(
    method: Method,
    options: Options,
    found: Mapping[str, str | None],
    where: str = "scenario.backup",
) -> None:
    """Raise UserError for options that do not fit, PreconditionError for a missing program.

    `found`: the path of each program by its name, None where it is not there.
    """
    check_options(method, options, where)
    for name, package in method.programs(options).items():
        if found.get(name) is None:
            raise PreconditionError(
                f"the backup needs the program {name}, which was not found",
                where=where,
                remedy=f"install it: {package.install()}",
            )


def check_installed(method: Method, options: Options, tools: Tools, run: Run) -> None:
    """Raise PreconditionError where the programs that are there cannot have these options."""
    asked = getattr(method, "refusal", None)
    if asked is not None and (refused := asked(tools, options, run)):
        remedy = "change the option, or install a newer version"
        raise PreconditionError(refused, where="scenario.backup", remedy=remedy)
