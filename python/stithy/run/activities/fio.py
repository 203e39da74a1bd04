"""fio at work on a candidate's target: a file on its volume, or its block device."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stithy.activities.fio import DIRECTIONS
from stithy.collect.collector import TimedSample
from stithy.fio import library
from stithy.fio.histogram import Histogram, merged
from stithy.fio.load import Load, Target, for_worker
from stithy.fio.logs import Second
from stithy.fio.measure import Measured as FioMeasured
from stithy.fio.measure import lay_out as write_target
from stithy.fio.measure import measure, ready
from stithy.fio.output import Answer, Served
from stithy.metrics import ALL, PERCENTILES
from stithy.plan.scenarios.block_io import spec_of
from stithy.plan.steps import WindowPlan, derive_seed
from stithy.results import tables
from stithy.results.tables import Row, Table
from stithy.run.activity import Measured, Span, Subject, Times
from stithy.run.context import Context
from stithy.storage.consent import DATA
from stithy.units import format_duration, format_size

NAME = "fio"
TARGET = "target"
FOLDER = "fio"
NS_PER_S = 1e9


def target_of(context: Context, candidate: str) -> Target:
    """What is read and written of a candidate."""
    volume = context.volumes.of(candidate)
    path = volume.path if volume.raw else volume.path / DATA / TARGET
    return Target(str(path), spec_of(context.file.study).size_bytes)


def lay_out(context: Context, candidate: str) -> str:
    """Write all of a candidate's target once; returns that in words."""
    volume, spec = context.volumes.of(candidate), spec_of(context.file.study)
    if not volume.raw:
        context.volumes.make_tree(candidate, DATA)
    target, folder = target_of(context, candidate), _folder(context, f"lay-out-{candidate}")
    if not volume.raw:
        # What is tried before anything is written must be there.
        with Path(target.path).open("wb") as file:
            file.truncate(target.size_bytes)
    machine = ready(context.runner, target, folder / "tried")
    write_target(
        machine,
        target,
        folder / "written",
        seed=derive_seed(context.plan.seed, "target") % 2**31,
        compressible_share=(spec.compressible_percent or 0) / 100,
        stop=context.session.stop.asked,
    )
    return f"{format_size(target.size_bytes)} written, {machine.engine} of {machine.found.version}"


def _folder(context: Context, name: str) -> Path:
    """A new folder for files of fio among the results."""
    folder = context.session.directory.root / FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


class FioActivity:
    """The I/O of a window."""

    ended_because: str | None = None
    is_full = False

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """Nothing is read or written yet."""
        self._context, self._window = context, window
        self.times: Times | None = None
        self._found: FioMeasured | None = None

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """fio, its engine, and the target are there."""
        self._target = target_of(self._context, self._window.candidate)
        root = self._context.session.directory.window(self._window.id).root
        root.mkdir(parents=True, exist_ok=True)
        self._files = root / FOLDER
        shutil.rmtree(self._files, ignore_errors=True)
        self._machine = ready(self._context.runner, self._target, self._files / "tried")
        yield Subject()

    def begin(self) -> None:
        """fio counts by itself."""

    def act(self) -> None:
        """Run the pattern to its end."""
        context, window = self._context, self._window
        spec = spec_of(context.file.study.at(window.point))
        profile = library.find(str(window.point.values["profile"]))
        share = spec.compressible_percent
        load = Load(
            duration_s=window.duration_s,
            ramp_s=window.ramp_up_s,
            seed=window.seed % 2**31,
            engine=self._machine.engine,
            compressible_share=None if share is None else share / 100,
        )
        count = profile.workers
        workers = [for_worker(self._target, load, each, count) for each in range(count)]
        began_s = context.session.clock.now_s()
        self._found = measure(
            self._machine, profile.patterns[0], workers, self._files / "run",
            context.session.stop.asked,
        )  # fmt: skip
        firsts = [rows[0].at_s for rows in self._found.seconds.values() if rows]
        from_s = min(firsts, default=began_s + window.ramp_up_s)
        self.times = Times(began_s, from_s, from_s + window.duration_s, complete=True)

    def end(self) -> None:
        """Nothing is counted besides."""

    def aftermath(self) -> None:
        """What fio wrote about every request is not kept: the histograms hold it."""
        for each in self._files.glob("run/**/*.log") if hasattr(self, "_files") else ():
            each.unlink(missing_ok=True)

    def cut_short(self) -> str:
        """It ends at its time, or by an error."""
        return "fio did not end"

    def values(self) -> Iterator[Measured]:
        """Of each direction, and of reads and writes together."""
        if self._found is None:
            return
        for of in DIRECTIONS:
            if (known := self._side(of)) is not None:
                yield from _values(of, *known)
        count = sum(each.count for each in self._found.answers)
        whole = merged(each.latency for each in self._found.answers)
        moved = sum(side.bytes_per_s for each in self._found.answers for side in _sides(each))
        yield from _values(ALL, self._found.iops, moved, whole)
        cpu_s = sum(each.cpu_s for each in self._found.answers)
        yield Measured("fio.cpu_s", cpu_s / count if count else None, ALL, count,
                       None if count else "nothing was answered")  # fmt: skip

    def _side(self, of: str) -> tuple[float, float | None, Histogram] | None:
        """Rate, bandwidth and latencies of a direction; None where there were none."""
        assert self._found is not None  # asked by the callers
        if of == "flush":
            flushes = [each for each in self._found.answers if each.flush and each.flush.count]
            found = [each.flush for each in flushes if each.flush is not None]
            rate = sum(
                (each.flush.count if each.flush else 0) / each.duration_s for each in flushes
            )
            return (rate, None, merged(found)) if found else None
        sides = [each.side("read" if of == "read" else "write") for each in self._found.answers]
        known = [each for each in sides if each is not None and each.latency.count]
        if not known:
            return None
        return (
            sum(each.iops for each in known),
            sum(each.bytes_per_s for each in known),
            merged(each.latency for each in known),
        )

    def spans(self) -> tuple[Span, ...]:
        """None: the pattern runs all the time."""
        return ()

    def tables(self, _: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        """Whole distributions, and every second."""
        yield tables.HISTOGRAMS, [] if self._found is None else list(self._buckets())
        yield tables.IO_SECONDS, [] if self._found is None else list(self._seconds())

    def _buckets(self) -> Iterator[Row]:
        assert self._found is not None  # asked by the caller
        whole = merged(each.latency for each in self._found.answers)
        sides = [(of, known[2]) for of in DIRECTIONS if (known := self._side(of)) is not None]
        for of, histogram in (*sides, (ALL, whole)):
            for bucket, (time_ns, count) in enumerate(histogram.counts_by_ns.items()):
                time_s = time_ns / NS_PER_S
                yield {
                    "window_id": self._window.id, "kind": "latency", "transaction": of,
                    "bucket": bucket, "lowest_s": time_s, "highest_s": time_s, "count": count,
                }  # fmt: skip

    def _seconds(self) -> Iterator[Row]:
        assert self._found is not None  # asked by the caller
        for stream, rows in self._found.seconds.items():
            for each in rows:
                yield _second_row(self._window.id, stream, each)

    def surroundings(self) -> Row:
        """It has no server."""
        return {}

    def said(self) -> str:
        """Requests a second, bandwidth, and the 99th percentile."""
        if self._found is None:
            return "nothing"
        whole = merged(each.latency for each in self._found.answers)
        p99_s = whole.quantile_s(0.99)
        shown = f"{self._found.iops:,.0f} IOPS"
        return shown if p99_s is None else f"{shown}, p99 {format_duration(p99_s)}"


def _sides(answer: Answer) -> list[Served]:
    return [each for each in (answer.read, answer.write) if each is not None]


def _values(
    of: str, iops: float, bytes_per_s: float | None, latency: Histogram
) -> Iterator[Measured]:
    count = latency.count
    missing = None if count else "nothing was answered"
    yield Measured("fio.iops", iops, of, count)
    if bytes_per_s is not None:
        yield Measured("fio.bytes_per_s", bytes_per_s, of, count)
    yield Measured("fio.mean_s", latency.mean_s, of, count, missing)
    for name, (percent, _) in PERCENTILES.items():
        yield Measured(f"fio.{name}", latency.quantile_s(percent / 100), of, count, missing)


def _second_row(window_id: str, stream: str, each: Second) -> Row:
    known = each.completion
    return {
        "window_id": window_id,
        "second": each.second,
        "at_s": each.at_s,
        "stream": stream,
        "direction": each.direction,
        "requests": each.count,
        "moved_bytes": each.moved_bytes,
        "latency_mean_s": each.latency_mean_s,
        "completion_p99_s": known.quantile_s(0.99) if known and known.count else None,
    }


def create(context: Context, window: WindowPlan) -> FioActivity:
    """The I/O of a window."""
    return FioActivity(context, window)
