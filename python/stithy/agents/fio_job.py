"""fio at an agent: an order's job files become workers, and what these wrote one file.

The workers of an agent wait at their barrier, on a leash, until the common start.
"""

import threading
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from stithy.agents.command_job import hold_leash, require_renewed
from stithy.clock import SystemClock
from stithy.errors import PreconditionError
from stithy.fio.program import JOB, Worker, find, run
from stithy.hosts.runner import LocalRunner, Running
from stithy.wire.program import Lease

RESULTS = "results"
"""The file that has what fio wrote."""


@dataclass(frozen=True)
class FioPart:
    """One fio: its job file, and by name the compressed files and the links beside it."""

    job: str
    may_write: bool
    files: Mapping[str, bytes]
    links: Mapping[str, str]


@dataclass(frozen=True)
class FioJob:
    """What an agent's fio is to do. `version`: that of fio on the host of the run."""

    version: str
    parts: tuple[FioPart, ...]
    duration_s: float
    patience_s: float
    where: str


def pack(worker: Worker) -> FioPart:
    """Take a worker's job, and what lies in its folder."""
    files, links = {}, {}
    for path in worker.folder.iterdir():
        if path.is_symlink():
            links[path.name] = str(path.readlink())
        else:
            files[path.name] = zlib.compress(path.read_bytes())
    return FioPart(worker.job, worker.may_write, files, links)


def unpack(part: FioPart, folder: Path) -> Worker:
    """Make the worker, in a new folder."""
    folder.mkdir()
    for name, data in part.files.items():
        (folder / name).write_bytes(zlib.decompress(data))
    for name, target in part.links.items():
        (folder / name).symlink_to(target)
    return Worker(part.job, folder, part.may_write)


def gather_results(parts: Sequence[FioPart], workers: Sequence[Worker], file: Path) -> None:
    """Write what the workers wrote besides their orders as one file."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as whole:
        for number, (part, worker) in enumerate(zip(parts, workers, strict=True)):
            for path in sorted(worker.folder.iterdir()):
                if path.name not in {JOB, *part.files, *part.links}:
                    whole.write(path, f"{number}/{path.name}")


def scatter_results(file: Path, folders: Sequence[Path]) -> None:
    """Write what an agent's workers wrote into their folders here, and nowhere else."""
    with zipfile.ZipFile(file) as whole:
        for entry in whole.infolist():
            number, _, name = entry.filename.partition("/")
            path = folders[int(number)] / Path(name).name
            with whole.open(entry) as source, path.open("wb") as target:
                while piece := source.read(2**20):
                    target.write(piece)


def run_fio(
    job: FioJob, start_at_s: float, lease: Lease, stop: threading.Event, folder: Path
) -> tuple[Path, float]:
    """Run all fio of this agent from a time on, Unix time; the results, and how late they began.

    Raises PreconditionError for another version of fio, and what `run` raises.
    """
    runner, clock, late_s = LocalRunner(), SystemClock(), 0.0
    if (found := find(runner)).version != job.version:
        problem = f"it has {found.version}, and the host of the run {job.version}"
        remedy = "install the same version of fio on every host"
        raise PreconditionError(problem, where="the agent", remedy=remedy)
    workers = [unpack(part, folder / str(number)) for number, part in enumerate(job.parts)]
    with ExitStack() as stack:
        leashes: list[Running] = []

        def await_start(ids: Sequence[int]) -> None:
            nonlocal late_s
            leashes.append(stack.enter_context(hold_leash(runner, ids, lease)))
            stop.wait(max(0.0, start_at_s - clock.now_s()))
            late_s = max(0.0, clock.now_s() - start_at_s)

        run(runner, found, workers, job.duration_s, job.where, stop, job.patience_s, await_start)
        require_renewed(leashes[0])
    gather_results(job.parts, workers, folder / RESULTS)
    return folder / RESULTS, late_s
