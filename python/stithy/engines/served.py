"""What engines with a server of their own have in common: its process, its counters, its room."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from stithy.clock import Clock
from stithy.collectors.collector import Sample
from stithy.engines.engine import Engine, find_engine_of
from stithy.engines.instance import CommitCounters, Installation, Request, Start
from stithy.errors import InfrastructureError, PreconditionError, Problems, StithyError, UserError
from stithy.hosts.host import Host
from stithy.hosts.processes import end, find_pids_inside, resume_processes
from stithy.hosts.runner import Command, Finished, Running, wait_for_end
from stithy.secrets import Secret

START_PATIENCE_S = 300.0
"""How long a start may take; recovery after a crash reads the log again."""

STOP_PATIENCE_S = 300.0
"""How long a shutdown may take: it writes all dirty pages to the device under test."""

ANSWER_PATIENCE_S = 86_400.0
"""Writing all pages to a slow device, or a scan of it, takes as long as it takes."""

ANSWER_S = 10.0
"""A person waits for it; the hammer gives up as early."""

CHECKSUMS_S = 3600.0
"""Reading all tables on a slow device takes as long as it takes."""

DAMAGE_PATIENCE_S = 5.0
"""How long a server is asked again whose log says that its files are damaged."""

KILL_PATIENCE_S = 20.0
"""A killed process ends when the request that it waits for does."""

SOCKET_BYTES_MAX = 107
"""Length of the kernel's sun_path, terminator apart."""

MARK = "stithy_mark"
"""The table that says whose a database by URL is; nothing of what was loaded."""

SETTLE_PATIENCE_S, SETTLE_PAUSE_S = 5.0, 0.1

SPARE_CONNECTIONS = 20
"""Collectors, checks, backups, and those that a server keeps for administrators."""

OWN_SESSIONS = 10
"""The most that look at a server of somebody's beside its users; fewer, most of the time."""

ROUND_TRIPS = 101
LARGE_SHARE = 0.1
"""Own: a table is large that has at least this share of the largest one's bytes."""


def choose_installation(
    product: str, installed: Sequence[Installation], wanted: str | None,
    is_wanted: Callable[[str], bool], none: PreconditionError,
) -> Installation:  # fmt: skip
    """Choose the first of a version that is wanted, with the others.

    Raises PreconditionError where only others are, and `none` where none is installed.
    """
    for installation in installed:
        if wanted is None or is_wanted(installation.version):
            others = [other for other in installed if other is not installation]
            return replace(installation, others=others)
    raise PreconditionError(
        f"{product} {wanted} is not installed", where="database.programs",
        remedy=f"install it, or use what is installed: {', '.join(map(str, installed))}",
    ) if installed else none  # fmt: skip


def run_as_user(host: Host, command: Command, timeout_s: float = 30.0) -> Finished:
    """Run a command to its end, as the user of servers."""
    own = replace(command, user=host.user.name if host.user else None)
    return host.runner.run(own, timeout_s=timeout_s)


class BackupTools:
    """The programs by which an engine makes the backups of a request."""

    def __init__(self, engine: Engine, request: Request, programs: Path) -> None:
        self._request, self._programs = request, programs
        self._methods = {name: engine.get_backup(name) for name, _ in request.backups}
        self._run = partial(run_as_user, request.host)

    def check(self, problems: Problems) -> None:
        """Add what is missing, and which options cannot be had."""
        for name, options in self._request.backups:
            check = self._methods[name].check_installed
            problems.attempt(partial(check, options, self._programs, self._run))

    def identify(self) -> dict[str, str]:
        """Say by the name of each method what makes its backups."""
        return {
            name: method.identify_tool(self._programs, self._run)
            for name, method in self._methods.items()
        }


def require_connections(value: str, most: int, connections_max: int, where: str) -> None:
    """Raise UserError where `max_connections`, given as `value`, is too low for all users."""
    if most < connections_max + SPARE_CONNECTIONS:
        raise UserError(
            f"max_connections of {value} are too few: users have {connections_max}",
            where=where,
            remedy=f"at least {connections_max + SPARE_CONNECTIONS}, or leave it out",
        )


def require_short(socket: Path) -> None:
    """Raise PreconditionError for a socket that no program could reach."""
    if len(os.fsencode(socket)) > SOCKET_BYTES_MAX:
        raise PreconditionError(
            f"the socket's path has more than {SOCKET_BYTES_MAX} bytes",
            where=str(socket),
            remedy="choose a shorter directory for sockets",
        )


class ServedEndpoint:
    """A database of a server by its URL; the part of an `Endpoint` that is where it is."""

    def __init__(self, url: Secret) -> None:
        self._url = url

    @property
    def url(self) -> Secret:
        """The URL for the hammer, password included."""
        return self._url

    @property
    def place(self) -> str:
        """For messages: where it is, without the password."""
        return find_engine_of(self.url).locate(self.url)


class ServerProcess:
    """A server that Stithy started; the part of an `Instance` that is its process and its log."""

    product: ClassVar[str]
    program: ClassVar[str]
    socket: str
    """File name of its socket."""

    damage: ClassVar[tuple[str, ...]] = ()
    """Words of its log by which it refuses all, for damage that nothing repairs by itself."""

    def __init__(self, spawn: Callable[[], Running], start: Start) -> None:
        """`spawn` starts it as `start` says: now, and again after a kill."""
        self._spawn = spawn
        self._running = spawn()
        self.data = start.data
        self.sockets = start.sockets
        self.log = start.log
        self.address = start.address

    @property
    def pid(self) -> int:
        """Process id of the server, or of the first of its processes."""
        return self._running.pid

    @property
    def far_url(self) -> Secret:
        """Its URL for a driver elsewhere, at the address of its start."""
        raise NotImplementedError

    def can_answer(self) -> bool:
        """Whether a session can be opened now."""
        raise NotImplementedError

    def quote_log(self, lines: Sequence[str]) -> str:
        """Quote the lines of its log that matter, as one line."""
        raise NotImplementedError

    def stop(self, *, at_once: bool = False) -> None:
        """As `Instance`."""
        raise NotImplementedError

    def list_pids(self) -> list[int]:
        """List all its processes that have not ended, the first one first."""
        first = [self.pid] if self._running.poll() is None else []
        others = find_pids_inside(self.data, self.program)
        return [*first, *(pid for pid in others if pid != self.pid)]

    def kill(self) -> None:
        """Kill all its processes, as a crash would: nothing is written any more. Idempotent."""
        end(self.list_pids(), signal.SIGKILL, KILL_PATIENCE_S)
        wait_for_end(self._running, KILL_PATIENCE_S)

    def start_again(self) -> None:
        """Start it once more after its end; returns when it has recovered and answers."""
        self._running = self._spawn()
        self.wait_until_ready()

    def continue_as(self, other: "ServerProcess") -> None:
        """Be another server from now on; a link to its socket is where this one's was."""
        self._spawn, self._running = other._spawn, other._running
        self.data, self.log = other.data, other.log
        (self.sockets / self.socket).unlink(missing_ok=True)
        (self.sockets / self.socket).symlink_to(other.sockets / self.socket)

    def suspend(self) -> None:
        """Let none of its processes go on."""
        for pid in self.list_pids():
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let all its processes go on."""
        resume_processes(self.list_pids())

    def ended_by(self) -> str | None:
        """How the server ended by itself, in words; None while it runs."""
        code = self._running.poll()
        if code is None:
            return None
        return (
            f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        )

    def last_words(self) -> str:
        """The last lines of its log that matter, as one line."""
        try:
            lines = self.log.read_text(errors="replace").splitlines()
        except OSError:
            return "it left no log"
        return self.quote_log(lines)

    def require_readable(self, asked_s: float) -> None:
        """Raise InfrastructureError for one that has refused so long over damage of its files."""
        if asked_s > DAMAGE_PATIENCE_S and any(word in self.last_words() for word in self.damage):
            raise InfrastructureError(
                f"{self.product} cannot be used: {self.last_words()}",
                where=str(self.data),
                remedy="restore it: its files are damaged",
            )

    def wait_until_ready(self) -> None:
        """Return when it answers; one that ends before is an error with its last words."""
        began_s = time.monotonic()
        deadline = began_s + START_PATIENCE_S
        while not self.can_answer():
            self.require_readable(time.monotonic() - began_s)
            if ended := self.ended_by():
                raise InfrastructureError(
                    f"{self.product} {ended} while starting: {self.last_words()}",
                    where=str(self.data),
                    remedy="correct what it names (a setting, space, memory), then run again",
                )
            if time.monotonic() > deadline:
                self.stop(at_once=True)
                raise InfrastructureError(
                    f"{self.product} did not answer within {START_PATIENCE_S:g} s",
                    where=str(self.data),
                    remedy=f"read {self.log}; a device that hangs is the usual cause",
                )
            time.sleep(0.02)

    @contextmanager
    def explain_failure(self) -> Iterator[None]:
        """Raise an error of what is asked of it as one of its device, with its last messages."""
        try:
            yield
        except StithyError as error:
            raise InfrastructureError(
                f"{self.product} failed: {error.text}; its last messages: {self.last_words()}",
                where=str(self.data),
                remedy=f"read {self.log}; a full or failing device is the usual cause",
            ) from error


def settle_commits(
    clock: Clock, is_quiet: Callable[[], bool], count: Callable[[], tuple[int, int]]
) -> CommitCounters:
    """Read commits and rollbacks until two readings agree and the hammer's connections have ended.

    For at most `SETTLE_PATIENCE_S`.
    """
    until_s, last = clock.monotonic_s() + SETTLE_PATIENCE_S, count()
    while clock.monotonic_s() < until_s:
        clock.sleep_s(SETTLE_PAUSE_S)
        quiet, now = is_quiet(), count()
        if quiet and now == last:
            return CommitCounters(*now, settled=True)
        last = now
    return CommitCounters(*last, settled=False)


def make_rate(
    metric: str, before: float | None, after: float | None, elapsed_s: float, because: str
) -> Sample:
    """Give the rate of a counter between two answers; `because`: why one of them lacks it."""
    if before is None or after is None:
        return Sample("", metric, None, because)
    return Sample("", metric, max(0, after - before) / elapsed_s)


def scan_large(
    run: Callable[[str], Iterable[Sequence[Any]]], listing: str, source: Callable[[str], str] = str
) -> Iterator[int]:
    """Count the rows of each large table again and again; its bytes once it was read.

    `listing`: asks for tables and their bytes, the largest first. `source`: what of one is read.
    """
    tables = [(str(name), int(size)) for name, size in run(listing)]
    large = [(name, size) for name, size in tables if size and size >= LARGE_SHARE * tables[0][1]]
    while large:
        for name, size in large:
            run(f"SELECT count(*) FROM {source(name)}")
            yield size


def measure_round_trip_s(ask: Callable[[], object]) -> float:
    """Measure the median time of a question that needs no work, seconds."""
    took_s = []
    for _ in range(ROUND_TRIPS):
        began_s = time.perf_counter()
        ask()
        took_s.append(time.perf_counter() - began_s)
    return median(took_s)


def explain_end(runs_on: Callable[[], bool]) -> str | None:
    """Say how a server has ended that was there; `runs_on`: ask whether it is the same start."""
    try:
        return None if runs_on() else "was restarted"
    except StithyError as error:
        return f"does not answer ({error.text})"


def explain_full(
    room: int, sessions: int, limits: str, setting: str = "max_connections"
) -> tuple[str, str] | None:
    """Say why a server has no room for the sessions of users, and what to do; None where it has.

    `limits`: which others than its `setting` it has.
    """
    if room >= sessions + OWN_SESSIONS:
        return None
    return (
        f"the user may open {max(0, room)} sessions now, and {sessions} of users and "
        f"{OWN_SESSIONS} of Stithy are needed",
        f"raise the limit (`{setting}`, or that of {limits}), give "
        "`load.connections`, which users share, or give fewer users (`find_within` of a search)",
    )


def make_held_error(held: tuple[str, str], place: str) -> PreconditionError:
    """Refuse a database of somebody's that holds something and has no mark."""
    return PreconditionError(
        "the database is not empty and has no mark of Stithy's: it holds the " + " ".join(held),
        where=place,
        remedy="name an empty database, made for this alone: nothing was touched",
    )


def make_left_error(left: tuple[str, str], place: str) -> InfrastructureError:
    """Say that a database holds what no run of Stithy made."""
    return InfrastructureError(
        f"the database holds the {' '.join(left)}, which the run did not make",
        where=place,
        remedy="move it elsewhere: while a run uses the database nobody else may",
    )
