"""Does a profile that was learned from a database do what the database did?

PostgreSQL under pgbench's TPC-B-like load works on an emulated drive, whose trace teaches a
profile. fio runs the profile on the same drive, which is traced again. Both are compared as the
drive saw them: rate and mean latency of reads, writes, flushes, and of reads and writes together.
`--quick` looks at each for a shorter time and keeps no numbers; `--trace FILE` keeps the database's
trace there, or learns from it where there is one.
"""

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kept
from instance import Instance, started
from processes import run
from stithy.cli.talk.shortcut import find_learned
from stithy.drives import filesystems
from stithy.drives.control import DriveSpec
from stithy.drives.measure.measuring import raise_drive
from stithy.drives.profiles import read_profile_text
from stithy.drives.program import DriveProgram
from stithy.fio.learned import Learned, LearnedServed
from stithy.fio.library import parse
from stithy.fio.load import FioLoad, FioTarget
from stithy.fio.measure import measure, prepare_fio
from stithy.fio.traces import read_trace
from stithy.hosts.runner import LocalRunner

DRIVE, NAME, SIZE_BYTES = "generic-sata", "learned", 3 * 2**30
SETTINGS = {"shared_buffers": "32MB", "max_wal_size": "256MB", "checkpoint_timeout": "30s"}
SCALE, CLIENTS, SECONDS, QUICK_S = 60, 4, 30, 12
TRANSACTIONS_PER_S = 800
"""Own: what two CPUs serve together with the drive, the database and, later, fio."""

FORGET_S = 0.5
"""So often the page cache is dropped, so that the database reads its storage."""

WITHIN = 0.15


def main(words: list[str]) -> int:
    """Measure both, show, keep; 99 where a figure is out."""
    seconds = QUICK_S if "--quick" in words else SECONDS
    given = Path(words[words.index("--trace") + 1]) if "--trace" in words else None
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, drive() as program:
        trace = given or Path(folder) / "database.trace"
        said = "" if trace.exists() else of_database(program, trace, seconds)
        real = find_learned(trace)
        synthetic = of_profile(program, real, Path(folder), seconds)
        rows = list(compared(real, synthetic))
    for row in rows:
        print("{what:18} {real:12.6g} {synthetic:12.6g} {ratio:6.3f}".format(**row))
    if said and "--quick" not in words:
        facts = {"drive": f"{DRIVE}, 3 GiB in memory, ext4", "settings": SETTINGS, "pgbench": said}
        kept.keep("learned", {**facts, "load_after": os.getloadavg()}, {
            "real": real.served, "synthetic": synthetic.served,
            "compared": rows, "profile": real.text,
        })  # fmt: skip
    return kept.TARGET_MISSED if any(abs(row["ratio"] - 1) > WITHIN for row in rows) else 0


@contextmanager
def drive() -> Iterator[DriveProgram]:
    """The emulated drive, as its profile paces it."""
    spec = DriveSpec(NAME, read_profile_text(DRIVE), SIZE_BYTES)
    with raise_drive(spec, LocalRunner()) as program:
        yield program


def of_database(program: DriveProgram, trace: Path, seconds: int) -> str:
    """The trace of a database at work; what pgbench said."""
    device = program.devices[NAME]
    program.control.set(NAME, paced=False)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = Path(folder)
        filesystems.make(device, "ext4")
        filesystems.mount(device, place, "ext4")
        place.chmod(0o755)
        try:
            with started(place, SETTINGS) as instance:
                pgbench(instance, "-i", "-q", "-s", str(SCALE))
                instance.sql("CHECKPOINT")
                program.control.set(NAME, paced=True)
                with forgetting():
                    program.control.trace(NAME, trace)
                    asked = ("-R", str(TRANSACTIONS_PER_S), "-c", str(CLIENTS))
                    said = pgbench(instance, *asked, "-T", str(seconds))
                    program.control.trace(NAME, None)
        finally:
            filesystems.unmount(place)
    return said


def pgbench(instance: Instance, *words: str) -> str:
    """What it said at its end."""
    command = [instance.program("pgbench"), *words, "postgres"]
    return run(command, environment=instance.environment).stdout


@contextmanager
def forgetting() -> Iterator[None]:
    """The page cache is dropped again and again while this is held."""
    over = threading.Event()

    def forget() -> None:
        while not over.wait(FORGET_S):
            Path("/proc/sys/vm/drop_caches").write_text("1")

    thread = threading.Thread(target=forget)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def of_profile(program: DriveProgram, real: Learned, folder: Path, seconds: int) -> Learned:
    """What the drive saw of fio with the profile at the rate of the trace."""
    profile = parse(real.text, "learned", "learned.toml")
    target = FioTarget(program.devices[NAME], min(real.span_bytes, SIZE_BYTES))
    machine, trace = (
        prepare_fio(LocalRunner(), [target], folder / "tried"),
        folder / "synthetic.trace",
    )
    load = FioLoad(float(seconds), 1.0, 7, rate_per_s=real.rate_per_s, engine=machine.engine)
    program.control.set(NAME, paced=True)
    program.control.trace(NAME, trace)
    measure(machine, profile.patterns[0], [(target, load)], folder / "run")
    program.control.trace(NAME, None)
    assert not read_trace(trace).lost
    return find_learned(trace)


def compared(real: Learned, synthetic: Learned) -> Iterator[dict[str, Any]]:
    """Each figure of both."""
    for what in ("read", "write", "flush", "moved"):
        one, other = figures(real.served, what), figures(synthetic.served, what)
        for name in one:
            yield {"what": f"{what} {name}", "real": one[name], "synthetic": other[name],
                   "ratio": other[name] / one[name]}  # fmt: skip


def figures(served: Mapping[Any, LearnedServed], what: str) -> dict[str, float]:
    """Rate, and mean latency in microseconds."""
    names = ("read", "write") if what == "moved" else (what,)
    parts = [served[name] for name in names]
    count = sum(each.count for each in parts)
    latency_s = sum(each.count * (each.mean_s or 0.0) for each in parts) / count
    return {"per_s": sum(each.per_s for each in parts), "mean_us": latency_s * 1e6}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
