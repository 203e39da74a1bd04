"""A pattern run on one or several targets at once, from job files to what each stream did.

Targets are made ready here, too: written from end to end, purged, read back and compared. Whose a
target is, and whether it may be written to, is not judged here.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.errors import REMEDIES, InfrastructureError, PreconditionError
from stithy.fio import eachlog, logs
from stithy.fio.jobfile import (
    FILL_BYTES,
    JobFile,
    fill_file,
    job_file,
    purge_file,
    read_back_file,
    trial_file,
)
from stithy.fio.load import Load, Target
from stithy.fio.logs import Second
from stithy.fio.output import (
    Answer,
    Expected,
    document_in,
    failed,
    messages_in,
    parse,
    side_by_side,
    sound_jobs,
    submitted_in,
)
from stithy.fio.profile import Pattern
from stithy.fio.program import ENGINES, PATIENCE_S, Found, Worker, engines, find, run
from stithy.fio.streamjob import OPEN_RAMP_S, RenderedStream, late_share
from stithy.hosts.runner import Runner

SLOWEST_BYTES_PER_S = 5e6
"""What storage writes in sequence at the least."""


@dataclass(frozen=True)
class Machine:
    """Who runs fio, which fio, and with which engine in closed loops."""

    runner: Runner
    found: Found
    engine: str = "libaio"


def ready(
    runner: Runner, targets: Sequence[Target], folder: Path, among: Sequence[str] = ENGINES
) -> Machine:
    """fio with the best engine that reads all targets directly; `folder` is new, for its files.

    Raises PreconditionError where fio is missing or too old, or no engine can read them so.
    """
    where = _all_shown([each.shown for each in targets])
    found = find(runner)
    problems = []
    for engine in (each for each in engines(runner, found) if each in among):
        machine = Machine(runner, found, engine)
        try:
            text = trial_file(targets, engine=engine)
            _once(machine, text, targets[0], folder / engine, None, 1, may_write=False)
        except InfrastructureError as error:
            problems.append(f"{engine}: {error.problem}")
        else:
            return machine
    raise PreconditionError(
        f"it cannot be read with direct I/O ({'; '.join(problems)})",
        where=where,
        remedy="name a device, or a directory on a file system with direct I/O; see that this user "
        "may read it",
    )


@dataclass(frozen=True)
class Measured:
    """What a pattern did: each stream's answer over all workers, and its seconds.

    `streams` are those of one worker as fio did them. `late_shares` has the open loops.
    `messages`: what fio said besides its results, though it did not fail.
    """

    streams: tuple[RenderedStream, ...]
    answers: tuple[Answer, ...]
    seconds: Mapping[str, tuple[Second, ...]]
    late_shares: Mapping[str, float]
    messages: tuple[str, ...] = ()

    @property
    def iops(self) -> float:
        """Reads and writes a second of all streams."""
        return sum(each.iops for each in self.answers)


def measure(
    machine: Machine,
    pattern: Pattern,
    workers: Sequence[tuple[Target, Load]],
    folder: Path,
    stop: threading.Event | None = None,
    patience_s: float = PATIENCE_S,
) -> Measured:
    """Run a pattern, one fio for each target and load; job files and logs stay in `folder`.

    Targets may be parts of one file or device, or different ones: all fio begin together.
    Raises Interrupted where `stop` was set, InfrastructureError where storage or fio failed.
    """
    files = [job_file(pattern, target, load) for target, load in workers]
    folders = [folder / f"worker-{number}" for number in range(len(files))]
    for each in folders:
        each.mkdir(parents=True)
    places = [target.shown for target, _ in workers]
    load = workers[0][1]
    pauses_s = max((each.burst.pause_s for each in pattern.streams if each.burst), default=0.0)
    texts = run(
        machine.runner,
        machine.found,
        [
            Worker(file.text, place, pattern.writes and not target.read_only)
            for file, place, (target, _) in zip(files, folders, workers, strict=True)
        ],
        max(load.ramp_s, OPEN_RAMP_S) + load.duration_s + OPEN_RAMP_S + pauses_s,
        _all_shown(places),
        stop,
        patience_s,
    )
    return _gathered(pattern, files[0], texts, folders, load, places)


def _gathered(
    pattern: Pattern,
    file: JobFile,
    texts: Sequence[str],
    folders: Sequence[Path],
    load: Load,
    places: Sequence[str],
) -> Measured:
    expected = [_expected(pattern, each, load) for each in file.streams if not each.is_open]
    said = list(zip(texts, places, strict=True))
    closed = {each.stream: each for each in side_by_side([parse(t, expected, p) for t, p in said])}
    seconds: dict[str, tuple[Second, ...]] = {}
    late: dict[str, float] = {}
    answers = []
    for each in file.streams:
        if each.is_open:
            requests = eachlog.requests(each.name, folders)
            ramp_s = max(load.ramp_s, OPEN_RAMP_S)
            where = _all_shown(places)
            answer, rows = eachlog.measured(each.name, requests, ramp_s, load.duration_s, where)
            outstanding = each.outstanding * len(folders)
            late[each.name] = late_share(answer.iops, answer.latency.mean_s or 0.0, outstanding)
        else:
            answer, rows = closed[each.name], _seconds(each.name, said, folders, load)
        answers.append(answer)
        seconds[each.name] = rows
    messages = dict.fromkeys(each for text, place in said for each in messages_in(text, place))
    return Measured(file.streams, tuple(answers), seconds, late, tuple(messages))


def _all_shown(places: Sequence[str]) -> str:
    """What a person is told of several targets."""
    first, *others = dict.fromkeys(places)
    return f"{first} and {len(others)} more" if others else first


def _seconds(
    stream: str, said: Sequence[tuple[str, str]], folders: Sequence[Path], load: Load
) -> tuple[Second, ...]:
    """Those of a closed loop, where logs are kept; `said`: by each fio, and of what place."""
    if not load.logs:
        return ()
    found = [
        submitter
        for (text, place), folder in zip(said, folders, strict=True)
        for submitter in logs.submitters(stream, folder, submitted_in(text, stream, place))
    ]
    return logs.seconds(found, load.duration_s)


def _expected(pattern: Pattern, rendered: RenderedStream, load: Load) -> Expected:
    stream = next(each for each in pattern.streams if each.name == rendered.name)
    shares = {each: stream.share_of(each) for each in stream.directions}
    # A stream that pauses ends with its pause, or within it.
    duration_s = 0.0 if stream.burst else load.duration_s
    return Expected(stream.name, shares, duration_s, flushes=stream.sync == "fdatasync")


def lay_out(
    machine: Machine,
    target: Target,
    folder: Path,
    *,
    seed: int,
    compressible_share: float = 0.0,
    duplicate_share: float = 0.0,
    verify: bool = False,
    block_bytes: int | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Make a file where there is none, and write all of a target once.

    Raises InfrastructureError where there is no room, or the target vanishes.
    """
    _need_file(target)
    text = fill_file(
        target,
        seed=seed,
        engine=machine.engine,
        compressible_share=compressible_share,
        duplicate_share=duplicate_share,
        verify=verify,
        block_bytes=block_bytes or FILL_BYTES,
    )
    _once(machine, text, target, folder, stop)


def read_back(
    machine: Machine, target: Target, folder: Path, stop: threading.Event | None = None
) -> None:
    """Compare all blocks with their checksums; InvalidMeasurement for one that is damaged."""
    text = read_back_file(target, engine=machine.engine)
    _once(machine, text, target, folder, stop, may_write=False)


def discard(
    machine: Machine, target: Target, folder: Path, stop: threading.Event | None = None
) -> None:
    """Discard all of a device. Raises InfrastructureError where it does not know how."""
    _once(machine, purge_file(target), target, folder, stop)


def _once(
    machine: Machine,
    text: str,
    target: Target,
    folder: Path,
    stop: threading.Event | None,
    least_bytes: int | None = None,
    *,
    may_write: bool = True,
) -> None:
    """One pass over all of a target, or over so much of it."""
    folder.mkdir(parents=True, exist_ok=True)
    limit_s = target.size_bytes / SLOWEST_BYTES_PER_S
    where, worker = target.shown, Worker(text, folder, may_write and not target.read_only)
    said = run(machine.runner, machine.found, [worker], limit_s, where, stop)
    document, around = document_in(said[0], where)
    jobs = sound_jobs(document, around, where)
    moved = sum(job[way]["io_bytes"] for job in jobs for way in ("read", "write", "trim"))
    if moved < (target.size_bytes if least_bytes is None else least_bytes):
        raise failed(f"fio covered {moved} of {target.size_bytes} bytes: {around}", where)


def _need_file(target: Target) -> None:
    path = Path(target.path)
    if path.is_block_device():
        return
    end = target.begin_bytes + target.size_bytes
    try:
        with path.open("ab") as file:
            if os.fstat(file.fileno()).st_size < end:
                os.truncate(file.fileno(), end)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        remedy = REMEDIES.get(error.errno or 0, "name a place that this user may write to")
        raise InfrastructureError(
            f"the file cannot be made: {reason}",
            where=target.path,
            remedy=f"{remedy}, then run again",
        ) from error
