"""fio on this machine: where it is, its version, its engines, and runs of it to the end.

Several workers are one run: their processes wait at a common barrier, begin together, and end
together, whether by their time, by a person's stop, or by the time limit. Each is one process with
threads, so nothing is left when it has ended.
"""

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stithy.environment import search_path
from stithy.errors import InfrastructureError, Interrupted, PreconditionError
from stithy.fio import FIO
from stithy.fio.profile import SYNC_ENGINE, USUAL_ASYNC
from stithy.hosts.devices import read_text
from stithy.hosts.runner import BARRIER, Command, Runner, Running, lift_barrier

INSTALL = FIO.package.install()
PATIENCE_S = 60.0
"""By how much a run may be longer than its time: one request on a stalled drive."""

STOP_PATIENCE_S = 10.0
"""How long fio may take to end after SIGINT, and to be gone after SIGKILL."""

POLL_S = 0.05
JOB = "job.fio"


@dataclass(frozen=True)
class FioProgram:
    """A fio that is new enough: its path, and what it says of its version."""

    program: str
    version: str


@dataclass(frozen=True)
class Worker:
    """One fio of a run: its job file's text, and a folder of its own, where its logs go.

    Without `may_write` fio refuses whatever would write.
    """

    job: str
    folder: Path
    may_write: bool = True


class WorkerHosts(Protocol):
    """A seam: hosts that run workers in place of this one, each of them every so many-th."""

    names: tuple[str, ...]

    def run(
        self, found: FioProgram, workers: Sequence[Worker], duration_s: float, where: str,
        stop: threading.Event | None, patience_s: float,
    ) -> tuple[str, ...]:  # fmt: skip
        """Run all workers together as `run` does; what they wrote is then in their folders."""


def find(runner: Runner) -> FioProgram:
    """fio's path and version. Raises PreconditionError where it is missing or too old."""
    program = next(
        (path for folder in search_path() if os.path.isfile(path := folder / "fio")), None
    )
    if program is None:
        raise PreconditionError("fio was not found", where="the PATH", remedy=INSTALL)
    shown = runner.run(Command([str(program), "--version"]), timeout_s=60.0).stdout.strip()
    match = re.match(r"fio-(\d+)\.(\d+)", shown)
    if match is None or (int(match[1]), int(match[2])) < FIO.oldest:
        oldest = ".".join(map(str, FIO.oldest))
        problem = f"this is {shown or 'a fio of unknown version'}, and at least {oldest} is needed"
        raise PreconditionError(problem, where=str(program), remedy=INSTALL)
    return FioProgram(str(program), shown)


def find_async_engine(runner: Runner, found: FioProgram) -> str:
    """The engine of asynchronous streams that name none: the same for all that one run measures.

    The synchronous one where this fio has none, or the kernel allows none.
    """
    built = runner.run(Command([found.program, "--enghelp"]), timeout_s=60.0).stdout.split()
    working = (
        engine for engine in USUAL_ASYNC if engine in built and _is_working(runner, found, engine)
    )
    return next(working, SYNC_ENGINE)


def need_engine(runner: Runner, found: FioProgram, engine: str) -> None:
    """Raise PreconditionError where an engine does not work: another would be another load."""
    if engine != SYNC_ENGINE and not _is_working(runner, found, engine):
        problem = f"its engine {engine} does not work on this machine"
        remedy = "see what fio says of it (`fio --enghelp`), or name another `engine`"
        raise PreconditionError(problem, where=found.program, remedy=remedy)


def _is_working(runner: Runner, found: FioProgram, engine: str) -> bool:
    words = ["--readonly", "--name=trial", "--rw=read", "--bs=4k", "--size=4k"]
    words += [f"--ioengine={engine}", f"--filename={found.program}"]
    return runner.run(Command([found.program, *words]), timeout_s=60.0).code == 0


def run(
    runner: Runner,
    found: FioProgram,
    workers: Sequence[Worker],
    duration_s: float,
    where: str,
    stop: threading.Event | None = None,
    patience_s: float = PATIENCE_S,
    await_start: Callable[[Sequence[int]], None] = lambda ids: None,
) -> tuple[str, ...]:
    """Run all workers together; what each said: its document, and what was written around it.

    `duration_s` is that of the longest job, its ramp included; `where` names the target.
    `await_start` gets the ids of all processes at the barrier, and returns when they may begin.
    Raises Interrupted where `stop` was set, InfrastructureError where a fio hangs.
    """
    with _start(runner, found, workers) as processes:
        await_start([process.pid for process in processes])
        for process in processes:  # lift the barrier
            lift_barrier(process)
        limit_s = duration_s + patience_s
        deadline_s = time.monotonic() + limit_s
        while any(each.poll() is None for each in processes):
            if stop is not None and stop.is_set():
                raise Interrupted(
                    "fio was stopped", where=where, remedy="start it again; nothing is left"
                )
            if time.monotonic() > deadline_s:
                problem = f"fio did not end within {limit_s:g} s, and was ended"
                remedy = "look for a device that does not answer in the kernel log (dmesg)"
                raise InfrastructureError(problem, where=where, remedy=remedy)
            (stop or threading.Event()).wait(POLL_S)
    return read_texts(workers)


def read_texts(workers: Sequence[Worker]) -> tuple[str, ...]:
    """Read what each worker said."""
    names = ("errors.txt", "fio.json")
    texts = ([read_text(worker.folder / name) for name in names] for worker in workers)
    return tuple("\n".join(filter(None, text)) for text in texts)


@contextmanager
def _start(
    runner: Runner, found: FioProgram, workers: Sequence[Worker]
) -> Iterator[tuple[Running, ...]]:
    """All processes at the barrier; afterwards all of them have ended."""
    processes: list[Running] = []
    try:
        for worker in workers:
            (worker.folder / JOB).write_text(worker.job)
            words = [JOB, "--output-format=json+", "--output=fio.json", "--eta=never"]
            words += [] if worker.may_write else ["--readonly"]
            shell = ["/bin/sh", "-c", BARRIER, "sh", found.program, *words]
            command = Command(shell, directory=worker.folder)
            processes.append(runner.start(command, stderr=worker.folder / "errors.txt"))
        yield tuple(processes)
    finally:
        _end(processes)


def _end(processes: Sequence[Running]) -> None:
    """SIGINT, patience, SIGKILL; a process inside a request of a mute device may stay longer."""
    for number in (signal.SIGINT, signal.SIGKILL):
        alive = [each for each in processes if each.poll() is None]
        for each in alive:
            with suppress(ProcessLookupError):
                each.send_signal(number)
        deadline_s = time.monotonic() + STOP_PATIENCE_S
        pause = threading.Event()
        while any(each.poll() is None for each in alive) and time.monotonic() < deadline_s:
            pause.wait(POLL_S)
    for process in processes:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
