"""Processes: the only place that starts one, and the users of this machine as whom they run.

`Runner` is a seam: tests give a fake one. `LocalRunner` starts processes on this machine: in a
session of their own, so that Ctrl-C reaches Stithy alone, which then ends them in its own order.
Database servers refuse to run as root; when Stithy runs as root they get a user without rights.
"""

import os
import pwd
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from stithy.engines.engine import DEMO_ENGINE, Engine
from stithy.environment import copy_for_processes
from stithy.errors import InfrastructureError, PreconditionError, give_reason
from stithy.registry import plugins


@dataclass(frozen=True)
class ServerUser:
    """A user of the password database."""

    name: str
    uid: int
    gid: int


def find_user(name: str) -> ServerUser:
    """The user of this name; PreconditionError where there is none."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError as error:
        raise PreconditionError(
            "there is no such user", where=f"user {name}", remedy="create it, or name another"
        ) from error
    return ServerUser(entry.pw_name, entry.pw_uid, entry.pw_gid)


def name_own_user() -> str:
    """Name the user as whom this process runs."""
    return pwd.getpwuid(os.geteuid()).pw_name


def find_server_user() -> ServerUser | None:
    """As whom servers run: None means as the caller, who is not root."""
    if os.geteuid() != 0:
        return None
    users = find_unprivileged()
    for name in users:
        try:
            return find_user(name)
        except PreconditionError:
            continue
    raise PreconditionError(
        "a database server must not run as root, and there is no unprivileged user",
        where=f"users {' and '.join(users)}",
        remedy=f"run Stithy as an ordinary user, or create one: useradd --system {users[0]}",
    )


def find_unprivileged() -> list[str]:
    """Users that a server may run as, best first: those that come with packages of engines."""
    engines = sorted(plugins(Engine).values(), key=lambda engine: engine.name != DEMO_ENGINE)
    own = (name for engine in engines for name in engine.accounts)
    return [*dict.fromkeys(own), "nobody"]


@dataclass(frozen=True)
class Command:
    """What to start, as whom, where.

    `user` is a name of the password database, None for the caller's own. `memory_cgroup` is a
    directory of a memory cgroup that the process joins before its program starts, `cgroups` are
    further ones, of other controllers. `cpus` are the numbers of those that it may use, None for
    any. `detached`: it has no pipes to the caller, so it may outlive it.
    """

    argv: Sequence[str]
    user: str | None = None
    memory_cgroup: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: Path | None = None
    detached: bool = False
    cpus: tuple[int, ...] | None = None
    cgroups: tuple[Path, ...] = ()


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

    def poll(self) -> int | None:
        """Its exit code, None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end."""

    def send_signal(self, signal: int) -> None:
        """Send a signal."""


class Runner(Protocol):
    """A seam: starts processes on one host."""

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """Run to the end and return what it wrote; a code other than 0 is not an error here."""

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """Start and return at once; standard error goes to the file `stderr` or is discarded."""


# A process must be in its cgroup before its program allocates anything, and Python cannot do that
# between fork and exec once there are threads. `$0` is the cgroup's list of processes; writing 0
# moves the writer. The shell replaces itself, so the process id stays.
JOIN = 'echo 0 > "$0" || exit 97; exec "$@"'


# The shell replaces itself by the program when a line arrives. Where none ever does, it ends.
BARRIER = 'read -r _ && exec "$@" </dev/null >/dev/null'


def lift_barrier(process: Running) -> None:
    """Let a program begin that waits at `BARRIER`; one that has ended does not mind."""
    assert process.stdin is not None  # the runner gives pipes to what is not detached
    with suppress(BrokenPipeError):
        process.stdin.write("\n")
        process.stdin.flush()


class LocalRunner:
    """Starts processes on this machine; `environment` is added to each one's own."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """`environment`: marks by which the processes of a run are found again."""
        self._environment = dict(environment or {})

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """Run to the end; InfrastructureError when it takes longer than `timeout_s`."""
        process = self._start_process(command, subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
        with process:
            try:
                stdout, stderr = process.communicate(stdin, timeout=timeout_s)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise InfrastructureError(
                    f"it did not end within {timeout_s:g} s",
                    where=Path(command.argv[0]).name,
                    remedy="find what slows the machine down, then repeat the step",
                ) from error
            except BaseException:  # leaving `with` waits for its end, which may be hours away
                process.kill()
                raise
        return Finished(process.returncode, stdout, stderr)

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """Start and return at once; standard error is appended to `stderr` or discarded."""
        pipe = subprocess.DEVNULL if command.detached else subprocess.PIPE
        if not isinstance(stderr, Path):
            return self._start_process(command, pipe, pipe, stderr or subprocess.DEVNULL)
        with stderr.open("ab") as file:
            return self._start_process(command, pipe, pipe, file)

    def _start_process(
        self, command: Command, stdin: int, stdout: int, stderr: int | IO[bytes]
    ) -> subprocess.Popen[str]:
        variables = [start for engine in plugins(Engine).values() for start in engine.variables]
        try:
            return subprocess.Popen(
                wrap_command(command),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                text=True,
                errors="replace",
                cwd=command.directory or "/",
                env={
                    **copy_for_processes(tuple(variables)),
                    **self._environment,
                    **command.environment,
                },
                start_new_session=True,
            )
        except OSError as error:
            raise PreconditionError(
                f"cannot be started: {give_reason(error)}",
                where=str(error.filename or command.argv[0]),
                remedy="install it, or make it readable and executable for this user",
            ) from error


def wait_for_end(process: Running, patience_s: float) -> int | None:
    """Its exit code, None if it still runs after `patience_s`."""
    pause = threading.Event()
    for _ in range(round(patience_s / 0.01)):
        if (code := process.poll()) is not None:
            return code
        pause.wait(0.01)
    return process.poll()


def wrap_command(command: Command) -> list[str]:
    """The words to execute: join the cgroup as the caller, bind to CPUs, become the user, begin.

    In that order, because only the caller may write to the cgroup.
    """
    words = command.argv
    if command.user:
        user = find_user(command.user)
        ids = [f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups"]
        words = ["setpriv", *ids, "--", *words]
    if command.cpus is not None:
        words = ["taskset", "--cpu-list", ",".join(map(str, command.cpus)), *words]
    for group in (command.memory_cgroup, *command.cgroups):
        if group is not None:
            words = ["/bin/sh", "-c", JOIN, str(group / "cgroup.procs"), *words]
    return list(words)
