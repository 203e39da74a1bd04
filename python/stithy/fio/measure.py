"""A pattern run on one or several targets at once, from job files to what each stream did.

Targets are made ready here, too: written from end to end, purged, read back and compared. Whose a
target is, and whether it may be written to, is not judged here.
"""

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from stithy.errors import REMEDIES, InfrastructureError, PreconditionError, UserError, give_reason
from stithy.fio import jobfile, logs, output, program
from stithy.fio.jobfile import JobFile
from stithy.fio.load import PLAIN, FioLoad, FioTarget, WrittenData
from stithy.fio.logs import LoggedSecond
from stithy.fio.output import Expected, FioAnswer
from stithy.fio.profile import Pattern
from stithy.fio.program import PATIENCE_S, FioProgram, Worker, WorkerHosts
from stithy.fio.streamjob import OPEN_RAMP_S, RenderedStream, choose_engine, estimate_late_share
from stithy.hosts.runner import Runner

SLOWEST_BYTES_PER_S = 5e6
"""What storage writes in sequence at the least."""


@dataclass(frozen=True)
class FioMachine:
    """Who runs fio, which fio, and the engine of asynchronous streams that name none.

    `hosts`: those that run measurements in place of this one.
    """

    runner: Runner
    found: FioProgram
    engine: str = "libaio"
    hosts: WorkerHosts | None = None


def prepare_fio(
    runner: Runner, targets: Sequence[FioTarget], folder: Path, patterns: Iterable[Pattern] = ()
) -> FioMachine:
    """fio with the engines of these patterns, which read all targets directly.

    `folder` is new, for its files. Raises PreconditionError where fio is missing or too old, or one
    of the engines does not work or cannot read them so: another would be another load.
    """
    found = program.find(runner)
    machine = FioMachine(runner, found, program.find_async_engine(runner, found))
    streams = (stream for pattern in patterns for stream in pattern.streams)
    needed = dict.fromkeys(choose_engine(each, machine.engine) for each in streams)
    problems = []
    for engine in needed or [machine.engine]:
        try:
            text = jobfile.make_trial_file(targets, engine=engine)
            _make_folder(folder / engine, targets)
            _run_once(machine, text, targets[0], folder / engine, None, 1, may_write=False)
        except InfrastructureError as error:
            problems.append(f"{engine}: {error.text}")
    if problems:
        raise PreconditionError(
            f"it cannot be read with direct I/O ({'; '.join(problems)})",
            where=_name_places([target.shown for target in targets]),
            remedy="name a device, or a directory on a file system with direct I/O; see that this "
            "user may read it",
        )
    return machine


@dataclass(frozen=True)
class Measured:
    """What a pattern did: each stream's answer over all workers, and its seconds.

    `streams` are those of one worker as fio did them. `late_shares` has the open loops. `by_target`
    has the answers of the workers of each target, where there are several, `by_host` those of each
    of several hosts. `messages`: what fio said besides its results, though it did not fail.
    """

    streams: tuple[RenderedStream, ...]
    answers: tuple[FioAnswer, ...]
    seconds: Mapping[str, tuple[LoggedSecond, ...]]
    late_shares: Mapping[str, float]
    messages: tuple[str, ...] = ()
    by_target: tuple[tuple[FioAnswer, ...], ...] = ()
    by_host: tuple[tuple[FioAnswer, ...], ...] = ()

    @property
    def iops(self) -> float:
        """Reads and writes a second of all streams."""
        return sum(answer.iops for answer in self.answers)


def measure(
    machine: FioMachine,
    pattern: Pattern,
    workers: Sequence[tuple[FioTarget, FioLoad]],
    folder: Path,
    stop: threading.Event | None = None,
    patience_s: float = PATIENCE_S,
    targets: int = 1,
) -> Measured:
    """Run a pattern, one fio for each target and load; job files and logs stay in `folder`.

    Targets may be parts of one file or device, or different ones: all fio begin together. Each of
    so many `targets` has as many workers in a row, and answers of its own where there are several.
    Raises Interrupted where `stop` was set, InfrastructureError where storage or fio failed.
    """
    files = [jobfile.make_job_file(pattern, target, load) for target, load in workers]
    folders = [get_worker_folder(folder, number) for number in range(len(files))]
    for place, file, (target, _) in zip(folders, files, workers, strict=True):
        _make_folder(place, [target])
        for name, text in file.logs.items():
            (place / name).write_text(text)
    names = machine.hosts.names if machine.hosts else ()
    places = [
        f"{target.shown} on {names[number % len(names)]}" if names else target.shown
        for number, (target, _) in enumerate(workers)
    ]
    load = workers[0][1]
    pauses_s = max(
        (stream.burst.pause_s for stream in pattern.streams if stream.burst), default=0.0
    )
    length_s = max(load.ramp_s, OPEN_RAMP_S) + load.duration_s + OPEN_RAMP_S + pauses_s
    run_all = machine.hosts.run if machine.hosts else partial(program.run, machine.runner)
    texts = run_all(
        machine.found,
        [
            Worker(file.text, place, pattern.writes and not target.read_only)
            for file, place, (target, _) in zip(files, folders, workers, strict=True)
        ],
        length_s,
        _name_places(places),
        stop,
        patience_s,
    )
    said = _RunTexts(tuple(zip(texts, places, strict=True)), tuple(folders), targets, len(names))
    return _gather(pattern, files[0], said, load)


def get_worker_folder(folder: Path, number: int) -> Path:
    """Where the fio of this number, from 0, keeps its files."""
    return folder / f"worker-{number}"


@dataclass(frozen=True)
class _RunTexts:
    """What all workers said, each of what place, and where their logs are."""

    texts: tuple[tuple[str, str], ...]
    folders: tuple[Path, ...]
    targets: int
    hosts: int

    @property
    def groups(self) -> tuple[slice, ...]:
        """The workers of each target, where there are several, then those of each host."""
        size = len(self.texts) // self.targets
        begins = range(0, len(self.texts), size) if self.targets > 1 else ()
        by_host = (slice(number, None, self.hosts) for number in range(self.hosts))
        return (*(slice(at, at + size) for at in begins), *by_host)

    @property
    def where(self) -> str:
        return _name_places([place for _, place in self.texts])


def _gather(pattern: Pattern, file: JobFile, said: _RunTexts, load: FioLoad) -> Measured:
    expected = [_expect(pattern, each, load) for each in file.streams if not each.is_open]
    parsed = [output.parse(text, expected, place) for text, place in said.texts]
    closed = {answer.stream: answer for answer in output.merge_workers(parsed)}
    parts = [{each.stream: each for each in output.merge_workers(parsed[at])} for at in said.groups]
    seconds: dict[str, tuple[LoggedSecond, ...]] = {}
    late: dict[str, float] = {}
    answers = []
    for stream in file.streams:
        if stream.is_open:
            answer, rows, own = _open(stream.name, said, load)
            for part, mine in zip(parts, own, strict=True):
                part[stream.name] = mine
            outstanding = stream.outstanding * len(said.folders)
            late[stream.name] = estimate_late_share(
                answer.iops, answer.latency.mean_s or 0.0, outstanding
            )
        else:
            answer = closed[stream.name]
            rows = _list_seconds(stream, said.texts, said.folders, load)
            _need_whole_replay(pattern, answer, load, said.where)
        answers.append(answer)
        seconds[stream.name] = rows
    texts = dict.fromkeys(
        message for text, place in said.texts for message in output.parse_messages(text, place)
    )
    by_group = tuple(tuple(part[each.name] for each in file.streams) for part in parts)
    apart = len(by_group) - said.hosts
    return Measured(
        file.streams, tuple(answers), seconds, late, tuple(texts), by_group[:apart],
        by_group[apart:],
    )  # fmt: skip


def _need_whole_replay(pattern: Pattern, answer: FioAnswer, load: FioLoad, where: str) -> None:
    """As fast as it goes, a trace may end before the measurement."""
    if pattern.trace is not None and answer.duration_s < output.SHORT_SHARE * load.duration_s:
        raise UserError(
            f"the trace was replayed in {answer.duration_s:g} s, and the measurement takes "
            f"{load.duration_s:g} s",
            where=where,
            remedy="give a shorter `duration`, or replay it at its own times",
        )


def _open(
    stream: str, said: _RunTexts, load: FioLoad
) -> tuple[FioAnswer, tuple[LoggedSecond, ...], list[FioAnswer]]:
    """An open loop's answer, its seconds, and the answers of each target alone."""
    requests = [list(logs.read_requests(stream, [folder])) for folder in said.folders]
    known = list(chain(*requests))
    ramp_s, duration_s = max(load.ramp_s, OPEN_RAMP_S), load.duration_s
    cpu_s = sum(output.parse_cpu_s(text, stream, place) for text, place in said.texts)
    answer, rows = logs.summarise_measurement(stream, known, ramp_s, duration_s, said.where, cpu_s)
    begin_s = logs.find_first_end_s(known) + ramp_s
    parts = [
        logs.summarise_requests(stream, list(chain(*requests[at])), begin_s, duration_s)[0]
        for at in said.groups
    ]
    return answer, rows, parts


def _name_places(places: Sequence[str]) -> str:
    first, *others = dict.fromkeys(places)
    return f"{first} and {len(others)} more" if others else first


def _list_seconds(
    stream: RenderedStream, said: Sequence[tuple[str, str]], folders: Sequence[Path], load: FioLoad
) -> tuple[LoggedSecond, ...]:
    """Those of a closed loop, where logs are kept; `said`: by each fio, and of what place."""
    if not load.logs:
        return ()
    name = stream.name
    if stream.each_logged:
        return logs.list_closed_loop_seconds(name, folders, load.duration_s)
    found = [
        submitter
        for (text, place), folder in zip(said, folders, strict=True)
        for submitter in logs.read_submitters(
            name, folder, output.parse_submitted(text, name, place)
        )
    ]
    return logs.list_seconds(found, load.duration_s)


def _expect(pattern: Pattern, rendered: RenderedStream, load: FioLoad) -> Expected:
    stream = next(each for each in pattern.streams if each.name == rendered.name)
    shares = {direction: stream.get_share(direction) for direction in stream.directions}
    # A stream that pauses ends with its pause, or within it; a trace with its last request.
    duration_s = 0.0 if stream.is_paced or pattern.trace else load.duration_s
    return Expected(stream.name, shares, duration_s, flushes=stream.is_flushed)


def make_file(target: FioTarget) -> None:
    """What is tried before anything is written must be there."""
    if not Path(target.path).is_block_device():
        with Path(target.path).open("wb") as file:
            file.truncate(target.size_bytes)


def lay_out(
    machine: FioMachine,
    target: FioTarget,
    folder: Path,
    *,
    seed: int,
    data: WrittenData = PLAIN,
    verify: bool = False,
    block_bytes: int | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Make a file where there is none, and write all of a target once.

    Raises InfrastructureError where there is no room, or the target vanishes.
    """
    _need_file(target)
    text = jobfile.fill_file(
        target,
        seed=seed,
        engine=machine.engine,
        data=data,
        verify=verify,
        block_bytes=block_bytes or jobfile.FILL_BYTES,
    )
    _run_once(machine, text, target, folder, stop)


def read_back(
    machine: FioMachine, target: FioTarget, folder: Path, stop: threading.Event | None = None
) -> None:
    """Compare all blocks with their checksums; InvalidMeasurement for one that is damaged."""
    text = jobfile.read_back_file(target, engine=machine.engine)
    _run_once(machine, text, target, folder, stop, may_write=False)


def discard(
    machine: FioMachine, target: FioTarget, folder: Path, stop: threading.Event | None = None
) -> None:
    """Discard all of a device. Raises InfrastructureError where it does not know how."""
    _run_once(machine, jobfile.make_purge_file(target), target, folder, stop)


def _run_once(
    machine: FioMachine,
    text: str,
    target: FioTarget,
    folder: Path,
    stop: threading.Event | None,
    least_bytes: int | None = None,
    *,
    may_write: bool = True,
) -> None:
    _make_folder(folder, [target])
    limit_s = target.size_bytes / SLOWEST_BYTES_PER_S
    where, worker = target.shown, Worker(text, folder, may_write and not target.read_only)
    said = program.run(machine.runner, machine.found, [worker], limit_s, where, stop)
    document, around = output.parse_document(said[0], where)
    jobs = output.check_jobs(document, around, where)
    moved = sum(job[way]["io_bytes"] for job in jobs for way in ("read", "write", "trim"))
    if moved < (target.size_bytes if least_bytes is None else least_bytes):
        raise output.make_failure(
            f"fio covered {moved} of {target.size_bytes} bytes: {around}", where
        )


def _make_folder(folder: Path, targets: Iterable[FioTarget]) -> None:
    """Make the folder in which fio runs, with the links to what its job file cannot name."""
    folder.mkdir(parents=True, exist_ok=True)
    for target in targets:
        if target.link and not (folder / target.link).is_symlink():
            (folder / target.link).symlink_to(Path(target.path).absolute())


def _need_file(target: FioTarget) -> None:
    path = Path(target.path)
    if path.is_block_device():
        return
    end = target.begin_bytes + target.size_bytes
    try:
        with path.open("ab") as file:
            if os.fstat(file.fileno()).st_size < end:
                os.truncate(file.fileno(), end)
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, "name a place that this user may write to")
        problem = f"the file cannot be made: {give_reason(error)}"
        remedy = f"{remedy}, then run again"
        raise InfrastructureError(problem, where=target.path, remedy=remedy) from error
