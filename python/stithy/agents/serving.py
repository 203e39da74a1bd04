"""What an agent does when it is asked: functions that run in a worker of Dask, on its host.

A worker does one task at a time, in a thread; clocks are read and leases are renewed beside it. The
load driver of a task, hammer or fio, or its command, ends where its lease is not renewed, and its
output is gone then. Ledgers, and what fio wrote, are handed over bit by bit with the leases, once
the load is done: they may be large.
"""

import asyncio
import os
import platform
import shutil
import tempfile
import threading
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import stithy
from stithy.agents.command_job import CommandEnd, CommandJob, run_command
from stithy.agents.fio_job import FioJob, run_fio
from stithy.agents.site import read_dask_version
from stithy.clock import SystemClock
from stithy.errors import InfrastructureError, StithyError, convert_machine_failures
from stithy.hosts.devices import read_text
from stithy.hosts.runner import Command, LocalRunner
from stithy.wire.hammer import SILENCE_S
from stithy.wire.jobs import RunJob
from stithy.wire.messages import AnyMessage
from stithy.wire.program import HAMMER, Lease, find_program, run_program

PREFIX = "stithy-agent-"
"""Of directories of agents, before the id of their process."""


RENEW_S = 0.5
"""How often a run renews the leases of its agents; a program ends after `Lease.TERM_S` without."""

CHUNK_BYTES = 2**20
"""Own: of a file at a time, as all hosts on its way keep so much in memory."""

LogKind = Literal["response", "service", "late", "pool-wait"]
LOGS: tuple[LogKind, ...] = ("response", "service", "late", "pool-wait")
"""The interval logs of a window, as the hammer names them."""


@dataclass(frozen=True)
class AgentFacts:
    """What an agent says of itself; two with the same `boot_id` are on one machine.

    `hammer` None: its host has no hammer, because of `missing`. `folder`: where its files lie.
    `files`: device and inode of /tmp, which a container has of its own. `dask`: its version.
    """

    version: str
    dask: str
    hammer: str | None
    missing: str | None
    host: str
    boot_id: str
    files: tuple[int, int]
    cpus: int
    threads: int
    clock: str | None
    now_s: float
    folder: Path


@dataclass(frozen=True)
class AgentOrder:
    """One agent's part of a window; `fence` is nobody else's, and no other window's.

    Who begins later than `until_s`, Unix time by the agent's clock, begins nothing.
    """

    fence: str
    version: str
    until_s: float
    job: RunJob | FioJob | CommandJob = field(repr=False)


@dataclass(frozen=True)
class AgentAnswer:
    """What an agent's hammer said, each message as JSON, and its interval logs, compressed.

    `because`: why it gave no summary. `start_late_s`: how long after the start its fio began.
    `ended`: what became of its command.
    """

    messages: tuple[str, ...] = ()
    logs: dict[LogKind, bytes] = field(default_factory=dict)
    because: str | None = None
    start_late_s: float | None = None
    ended: CommandEnd | None = None


@dataclass(frozen=True)
class Renewal:
    """What a renewed lease brings back: the agent's clock, and what the run has not got yet.

    That is messages, and once the load is done a piece of the file that it left.
    """

    now_s: float
    messages: tuple[str, ...] = ()
    piece: bytes = b""


class LoadUnderWay:
    """One task under way."""

    def __init__(self) -> None:
        self.lease, self.stop = Lease(), threading.Event()
        self.messages: list[str] = []
        self._file: Path | None = None
        self._taken_bytes, self._renewed = 0, threading.Event()

    def hear(self, message: AnyMessage) -> None:
        """Keep a message of the hammer for the run."""
        self.messages.append(message.model_dump_json())

    def hand_over(self, file: Path, patience_s: float = Lease.TERM_S) -> None:
        """Let the run take a file. Raises InfrastructureError where it no longer does."""
        self._file = file
        while self._taken_bytes < file.stat().st_size:
            if not self._renewed.wait(patience_s):
                problem = f"the run did not take its {file.name}"
                remedy = "measure the window again"
                raise InfrastructureError(problem, where=str(file), remedy=remedy)
            self._renewed.clear()

    def renew(self, heard: int, taken_bytes: int) -> Renewal:
        """Renew the lease of a run that has so much of the messages and of the file."""
        self.lease.renew()
        chunk = b""
        if self._file is not None and self._file.exists():
            with self._file.open("rb") as file:
                file.seek(taken_bytes)
                chunk = file.read(CHUNK_BYTES)
        self._taken_bytes = taken_bytes
        self._renewed.set()
        return Renewal(read_clock(), tuple(self.messages[heard:]), chunk)


_LOADS: dict[str, LoadUnderWay] = {}
LEAVING = threading.Event()


def make_folder() -> "tempfile.TemporaryDirectory[str]":
    """Make a directory of this process, which whoever is the next agent removes if it dies."""
    return tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-")


def remove_abandoned() -> None:
    """Remove the directories of agents that have died; those of other users stay."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


def describe(dask_worker: Any = None) -> AgentFacts:
    """Say what this agent is."""
    hammer = missing = None
    try:
        command = Command([str(find_program(HAMMER)), "--version"])
        hammer = LocalRunner().run(command, timeout_s=10).stdout.strip()
    except StithyError as error:
        missing = error.text
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    shared = Path("/tmp").stat()
    return AgentFacts(
        version=stithy.__version__,
        dask=read_dask_version(),
        hammer=hammer,
        missing=missing,
        host=platform.node(),
        boot_id=read_text(Path("/proc/sys/kernel/random/boot_id")).strip(),
        files=(shared.st_dev, shared.st_ino),
        cpus=len(os.sched_getaffinity(0)),
        threads=dask_worker.state.nthreads if dask_worker else 1,
        clock=read_text(source).strip() or None,
        now_s=read_clock(),
        folder=Path(tempfile.gettempdir()),
    )


def read_clock() -> float:
    """Read this host's clock, Unix time."""
    return SystemClock().now_s()


def renew(fence: str, heard: int, taken_bytes: int) -> Renewal:
    """Renew the lease of a task, and hand over what follows so many messages and bytes."""
    load = _LOADS.get(fence)
    return Renewal(read_clock()) if load is None else load.renew(heard, taken_bytes)


def end_loads(fence: str) -> int:
    """Let every task whose fence begins so end early and cleanly; returns how many there were."""
    found = [load for name, load in list(_LOADS.items()) if name.startswith(fence)]
    for load in found:
        load.stop.set()
    return len(found)


def leave(dask_worker: Any = None) -> None:
    """Let this agent end, once it has answered."""
    LEAVING.set()
    end_loads("")
    asyncio.get_running_loop().call_later(
        0.1, lambda: dask_worker.loop.add_callback(dask_worker.close)
    )


def list_absent(paths: tuple[str, ...]) -> list[str]:
    """List the directories that neither are here nor can be made in another one."""
    return [path for path in paths if not (os.path.isdir(path) or os.path.isdir(Path(path).parent))]


def drive(order: AgentOrder) -> AgentAnswer:
    """Do this agent's part of a window; whatever goes wrong is in the answer."""
    if order.version != stithy.__version__:
        problem = f"the run is of Stithy {order.version}, this agent of {stithy.__version__}"
        return AgentAnswer(because=problem)
    if (late_s := read_clock() - order.until_s) > 0:
        return AgentAnswer(because=f"it was free only {late_s:.1f} s after the start")
    load = _LOADS[order.fence] = LoadUnderWay()
    try:
        with (
            convert_machine_failures("the agent"),
            make_folder() as folder,
        ):
            if isinstance(order.job, RunJob):
                return _run_hammer(order.job, load, Path(folder))
            if isinstance(order.job, CommandJob):
                ended = run_command(order.job, load.lease, load.stop, Path(folder))
                return AgentAnswer(ended=ended)
            job, until_s = order.job, order.until_s
            results, late_s = run_fio(job, until_s, load.lease, load.stop, Path(folder))
            load.hand_over(results)
            return AgentAnswer(start_late_s=late_s)
    except StithyError as error:
        return AgentAnswer(tuple(load.messages), because=error.text)
    finally:
        del _LOADS[order.fence]


def _run_hammer(job: RunJob, load: LoadUnderWay, folder: Path) -> AgentAnswer:
    stem = folder / "hammer"
    ledger = stem.with_name("ledger") if job.ledger else None
    run_program(
        LocalRunner(),
        Command([str(find_program(HAMMER))]),
        job.model_copy(update={"hlog_stem": stem, "ledger": ledger}),
        on_message=load.hear,
        stop=load.stop,
        silence_s=SILENCE_S,
        lease=load.lease,
    )
    paths = {kind: stem.with_name(f"{stem.name}.{kind}.hlog") for kind in LOGS}
    logs = {kind: zlib.compress(path.read_bytes()) for kind, path in paths.items() if path.exists()}
    if ledger is not None and ledger.exists():
        load.hand_over(ledger)
    return AgentAnswer(tuple(load.messages), logs)
