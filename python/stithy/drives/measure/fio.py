"""fio at one point of a drive: how it is told what to measure, and what it answered.

Always with direct I/O, so that no page cache of this machine answers; with whole histograms; and
with `--readonly` unless something may be written. Latency is fio's `lat`, from submission to
completion.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from stithy.drives.measure.measurement import PointResult
from stithy.drives.measure.points import Point, Schedule
from stithy.fio import measure as library
from stithy.fio.jobfile import base_words, job_text
from stithy.fio.load import Target
from stithy.fio.measure import Machine
from stithy.fio.output import document_in, failed, served, sound_jobs
from stithy.fio.program import Worker, run
from stithy.hosts.runner import Runner

MS_PER_S = 1000.0


def parse_output(text: str, point: Point, where: str) -> PointResult:
    """The answer to a point; `where` names what was measured in messages.

    Raises InfrastructureError where fio failed, or its output lacks what was asked for.
    """
    document, around = document_in(text, where)
    job = sound_jobs(document, around, where)[0]
    runtime_s = max(job[kind]["runtime"] for kind in ("read", "write")) / MS_PER_S
    answer = PointResult(
        read=served(job["read"], job["read"]["lat_ns"], runtime_s),
        write=served(job["write"], job["write"]["lat_ns"], runtime_s),
        flush=served({}, job["sync"]["lat_ns"], runtime_s),
    )
    asked = {
        "read": point.read_share > 0,
        "write": point.read_share < 1,
        "flush": point.flushed_every > 0,
    }
    for kind, is_asked in asked.items():
        if is_asked and getattr(answer, kind) is None:
            problem = f"fio gave no histogram of {kind} for {point.name}"
            raise failed(f"{problem}{f': {around}' if around else ''}", where)
    return answer if point.flushed_every else answer.model_copy(update={"flush": None})


ENGINES = ("io_uring", "libaio")
"""Ways of submitting that keep many requests outstanding, best first."""


@dataclass(frozen=True)
class Place:
    """What is measured: from `begin_bytes` to `span_bytes`; `name` is for messages."""

    path: str
    name: str
    span_bytes: int
    may_write: bool
    begin_bytes: int = 0

    @property
    def target(self) -> Target:
        """Where fio works."""
        size_bytes = self.span_bytes - self.begin_bytes
        return Target(self.path, size_bytes, self.begin_bytes, self.name)


def ready(runner: Runner, place: Place) -> Machine:
    """fio with the best engine that reads this place directly.

    Raises PreconditionError where none does: no direct I/O there, or no rights.
    """
    with tempfile.TemporaryDirectory() as folder:
        return library.ready(runner, [place.target], Path(folder), ENGINES)


def fill(fio: Machine, place: Place) -> None:
    """Write all of a place once, from its beginning to its end, with data that differ."""
    with tempfile.TemporaryDirectory() as folder:
        library.lay_out(fio, place.target, Path(folder), seed=1)


def measure_point(
    fio: Machine, place: Place, point: Point, timing: Schedule, seed: int
) -> PointResult:
    """Measure one point once. Raises InfrastructureError where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        text = point_file(place, point, timing, fio.engine, seed)
        worker = Worker(text, Path(folder), point.writes and place.may_write)
        duration_s = timing.settle_s + timing.point_s
        said = run(fio.runner, fio.found, [worker], duration_s, place.name)
    return parse_output(said[0], point, place.name)


def point_file(place: Place, point: Point, timing: Schedule, engine: str, seed: int) -> str:
    """The job file of one point."""
    kind = {0.0: "write", 1.0: "read"}.get(point.read_share, "rw")
    words: dict[str, object] = {
        "offset": place.target.begin_bytes,
        "size": place.target.size_bytes,
        "rw": kind if point.sequential else f"rand{kind}",
        "bs": point.length_bytes,
        "iodepth": point.depth,
        "ioengine": engine,
        "time_based": 1,
        "runtime": f"{round(timing.point_s * MS_PER_S)}ms",
        "ramp_time": f"{round(timing.settle_s * MS_PER_S)}ms",
        "norandommap": 1,
        "refill_buffers": 1,
        "clat_percentiles": 0,
    }
    if kind == "rw":
        words["rwmixread"] = round(100 * point.read_share)
    if point.flushed_every:
        words["fdatasync"] = point.flushed_every
    return job_text(base_words(place.target, seed), {"point": words})
