"""fio at one point of a drive: how it is told what to measure, and what it answered.

Always with direct I/O, so that no page cache of this machine answers; with whole histograms; and
with `--readonly` unless something may be written. Latency is fio's `lat`, from submission to
completion.
"""

from dataclasses import dataclass

from stithy.drives.measure.measurement import PointResult
from stithy.drives.measure.points import Point, Schedule
from stithy.errors import InfrastructureError, PreconditionError
from stithy.fio.jobfile import FILL_BYTES, FILL_DEPTH
from stithy.fio.measure import SLOWEST_BYTES_PER_S
from stithy.fio.output import document_in, failed, served, sound_jobs
from stithy.fio.program import PATIENCE_S, find
from stithy.hosts.runner import Command, Runner

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


@dataclass(frozen=True)
class Fio:
    """A fio that was found, with the engine that works here."""

    program: str
    version: str
    engine: str
    runner: Runner

    def measure(self, place: Place, point: Point, timing: Schedule, seed: int) -> PointResult:
        """Measure one point once. Raises InfrastructureError where it fails."""
        words = [self.program, *options(place, point, timing, self.engine, seed)]
        limit_s = timing.settle_s + timing.point_s + PATIENCE_S
        finished = self.runner.run(Command(words), timeout_s=limit_s)
        text = f"{finished.stderr.strip()}\n{finished.stdout}".lstrip("\n")
        return parse_output(text, point, place.name)

    def fill(self, place: Place) -> None:
        """Write all of a place once, from its beginning to its end, with data that differ."""
        words = {
            "name": "fill",
            "filename": place.path.replace(":", r"\:"),
            "size": place.span_bytes,
            "rw": "write",
            "bs": FILL_BYTES,
            "iodepth": FILL_DEPTH,
            "ioengine": self.engine,
            "direct": 1,
            "invalidate": 0,
            "fallocate": "none",
            "allow_file_create": 0,
            "refill_buffers": 1,
            "lat_percentiles": 1,
            "output-format": "json+",
        }
        command = Command([self.program, *(f"--{name}={value}" for name, value in words.items())])
        limit_s = PATIENCE_S + place.span_bytes / SLOWEST_BYTES_PER_S
        finished = self.runner.run(command, timeout_s=limit_s)
        text = f"{finished.stderr.strip()}\n{finished.stdout}".lstrip("\n")
        parse_output(text, Point(0.0, FILL_BYTES, FILL_DEPTH, sequential=True), place.name)


def ready(runner: Runner, place: Place) -> Fio:
    """fio with the best engine that reads this place directly.

    Raises PreconditionError where none does: no direct I/O there, or no rights.
    """
    found = find(runner)
    point, timing = Point(1.0, 4096, 1), Schedule(0.05, 1, 0.0, settle_s=0.0)
    problems = []
    for engine in ENGINES:
        fio = Fio(found.program, found.version, engine, runner)
        try:
            fio.measure(place, point, timing, seed=1)
        except InfrastructureError as error:
            problems.append(f"{engine}: {error.problem}")
        else:
            return fio
    raise PreconditionError(
        f"it cannot be read with direct I/O ({'; '.join(problems)})",
        where=place.name,
        remedy="name a device, or a directory on a file system with direct I/O; see that this user "
        "may read it",
    )


def options(place: Place, point: Point, timing: Schedule, engine: str, seed: int) -> list[str]:
    """fio's command line for one point."""
    kind = {0.0: "write", 1.0: "read"}.get(point.read_share, "rw")
    words = {
        "name": "point",
        # A colon would separate two files.
        "filename": place.path.replace(":", r"\:"),
        "offset": place.begin_bytes,
        "size": place.span_bytes - place.begin_bytes,
        "rw": kind if point.sequential else f"rand{kind}",
        "bs": point.length_bytes,
        "iodepth": point.depth,
        "ioengine": engine,
        "direct": 1,
        "invalidate": 0,
        "fallocate": "none",
        "allow_file_create": 0,
        "time_based": 1,
        "runtime": f"{round(timing.point_s * 1000)}ms",
        "ramp_time": f"{round(timing.settle_s * 1000)}ms",
        "norandommap": 1,
        "random_generator": "tausworthe64",
        "randseed": seed,
        "refill_buffers": 1,
        "lat_percentiles": 1,
        "clat_percentiles": 0,
        "group_reporting": 1,
        "output-format": "json+",
    }
    if kind == "rw":
        words["rwmixread"] = round(100 * point.read_share)
    if point.flushed_every:
        words["fdatasync"] = point.flushed_every
    shown = [f"--{name}={value}" for name, value in words.items()]
    return shown if point.writes and place.may_write else [*shown, "--readonly"]
