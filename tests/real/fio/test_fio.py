"""What the real fio makes of job files: all are understood, rates are kept, damage is found."""

import resource
import shutil
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from stithy.clock import SystemClock
from stithy.drives.control import DriveSpec
from stithy.drives.measure.measuring import raise_drive
from stithy.errors import InfrastructureError, InvalidMeasurement, PreconditionError
from stithy.fio import library
from stithy.fio.generations import compare, list_laid_out_blocks, list_written_blocks
from stithy.fio.jobfile import fill_file, make_job_file, make_purge_file, read_back_file
from stithy.fio.load import FioLoad, FioTarget, WrittenData, plan, split_load
from stithy.fio.measure import FioMachine, Measured, lay_out, measure, prepare_fio, read_back
from stithy.fio.profile import USUAL_ASYNC
from stithy.fio.program import find
from stithy.hosts.runner import LocalRunner
from stithy.wire.drive.jobs import PowerCut, PowerOn, VolatileBytes
from support.places import DISK, a_place

MIB = 2**20
SIZE_BYTES = 128 * MIB


@pytest.fixture(scope="module")
def machine() -> FioMachine:
    """fio of this machine."""
    if shutil.which("fio") is None:
        pytest.skip("fio was not found: install fio")
    return FioMachine(LocalRunner(), find(LocalRunner()))


@pytest.fixture(scope="module")
def disk() -> Iterator[Path]:
    """A directory on a disk."""
    with a_place(DISK) as place:
        yield place


@pytest.fixture(scope="module")
def target(machine: FioMachine, disk: Path) -> FioTarget:
    """A file, all of which was written with checksums."""
    made = FioTarget(str(disk / "target"), SIZE_BYTES)
    lay_out(machine, made, disk / "laid-out", seed=1, verify=True)
    return made


def understood(machine: FioMachine, texts: Iterable[str], folder: Path) -> None:
    """Fail where fio does not take all of the job files, which are read by one fio."""
    folder.mkdir()
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"{number}.fio")
        paths[-1].write_text(text)
    words = [machine.found.program, "--parse-only", "--warnings-fatal", *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_fio_understands_every_profile(machine: FioMachine, tmp_path: Path) -> None:
    """As fast as it goes, at a rate, with checksums."""
    place = FioTarget("/nowhere/file", 2**31)
    patterns = [
        pattern for name in library.list_names() for pattern in library.load_shipped(name).patterns
    ]
    free, paced = (
        FioLoad(60, 5, 7, verify=True),
        FioLoad(60, 5, 7, rate_per_s=1234.5, data=WrittenData(0.3, 0.5)),
    )
    texts = [make_job_file(each, place, free).text for each in patterns]
    texts += [make_job_file(each, place, paced).text for each in patterns if each.is_weighted]
    understood(machine, texts, tmp_path / "jobs")


def test_fio_understands_what_makes_a_target_ready(machine: FioMachine, tmp_path: Path) -> None:
    """Filling, reading back, purging, and the rounds of preconditioning."""
    place = FioTarget("/nowhere/file", 2**31)
    filled = fill_file(place, seed=1, engine="libaio", data=WrittenData(0.5, 0.3))
    rounds = plan("snia", "full", is_device=True).patterns
    texts = [filled, read_back_file(place, engine="libaio"), make_purge_file(place)]
    texts += [make_job_file(each, place, FioLoad(60, 0, 1)).text for each in rounds]
    understood(machine, texts, tmp_path / "jobs")


def run_of(
    machine: FioMachine, name: str, target: FioTarget, folder: Path, load: FioLoad, workers: int = 1
) -> Measured:
    """A pattern measured on a target."""
    parts = split_load([target], load, workers)
    return measure(machine, library.find(name).patterns[0], parts, folder)


def test_a_target_may_have_any_name(machine: FioMachine, disk: Path) -> None:
    """Of a file in a folder of that name, filled, read back, measured and replayed."""
    name = ' [x] it\'s; #1 a:b ${X} $ncpus "c" a\nb\\ ä% '
    folder = disk / name
    folder.mkdir()
    try:
        made = FioTarget(str(folder / name), MIB)
        lay_out(machine, made, folder / "laid-out", seed=1, verify=True)
        read_back(machine, made, folder / "read-back")
        log = folder / "two.iolog"
        lines = (f"{n * 500} /dev/x read {n * 4096} 4096" for n in range(200))
        log.write_text("\n".join(["fio version 3 iolog", *lines]))
        for asked in ("four-corners/random-read-4k", str(log)):
            done = run_of(machine, asked, made, folder / f"run-{len(asked)}", FioLoad(1.0, 0.0, 7))
            assert done.iops > 0
    finally:
        shutil.rmtree(folder)


def test_an_open_loop_keeps_its_rate(machine: FioMachine, target: FioTarget, disk: Path) -> None:
    """Two workers, 600/s, four standard deviations above at most; seconds add up to the whole.

    A busy machine keeps fio from asking for some of them.
    """
    load = FioLoad(3.0, 0.0, 5, rate_per_s=600.0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = run_of(machine, "sql-80-20", target, disk / "paced", load, workers=2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (answer,) = found.answers
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert 0 < answer.cpu_s < used_s
    assert answer.read is not None
    assert answer.write is not None
    assert 0.6 * 480 < answer.read.iops < 480 + 4 * (480 / 3) ** 0.5
    assert 0.6 * 120 < answer.write.iops < 120 + 4 * (120 / 3) ** 0.5
    rows = found.seconds["data"]
    assert sum(row.count for row in rows) == answer.count
    assert sum(each.moved_bytes for each in rows) == answer.count * 8192
    assert 0 < found.late_shares["data"] < 1


def test_weights_hold_and_seconds_are_whole(
    machine: FioMachine, target: FioTarget, disk: Path
) -> None:
    """99 to 1; three seconds, which have all requests of the document with their latencies."""
    found = run_of(machine, "oracle", target, disk / "weighted", FioLoad(3.0, 0.3, 5))
    data, log = found.answers
    assert data.count / log.count == pytest.approx(99, rel=0.05)
    for answer in (data, log):
        rows = found.seconds[answer.stream]
        assert sum(each.count for each in rows) == answer.count
        sum_s = sum(row.count * (row.latency_mean_s or 0.0) for row in rows)
        assert sum_s / answer.count == pytest.approx(answer.latency.mean_s, rel=0.01)
    reads = [second for second in found.seconds["data"] if second.direction == "read"]
    assert [read.second for read in reads] == [0, 1, 2]
    assert all(each.completion for each in reads)


def saved(path: str) -> WrittenData:
    """What compression of each page saves of a file, and what keeping each page once does.

    Pages that were never written do not count.
    """
    pages = [page for page in pages_of(path) if any(page)]
    small = sum(len(zlib.compress(each, 1)) for each in pages)
    return WrittenData(1 - small / (4096 * len(pages)), 1 - len(set(pages)) / len(pages))


def pages_of(path: str) -> Iterator[bytes]:
    """The content of a file."""
    with Path(path).open("rb") as file:
        while page := file.read(4096):
            yield page


def test_written_data_shrink_as_asked(machine: FioMachine, disk: Path) -> None:
    """What lays out a target, one submitter in sequence, many at random; headers take a little."""
    asked = WrittenData(0.5, 0.4)
    laid = FioTarget(str(disk / "shares"), 64 * MIB)
    lay_out(machine, laid, disk / "shares-laid-out", seed=3, data=asked)
    found = [saved(laid.path)]
    rates: dict[str, float | None] = {"four-corners/sequential-write-64k": None, "oltp-8k": 2000.0}
    for name, rate in rates.items():
        empty = FioTarget(str(disk / f"shares-{len(found)}"), 64 * MIB)
        with Path(empty.path).open("wb") as file:
            file.truncate(empty.size_bytes)
        load = FioLoad(1.0, 0.0, 5, rate_per_s=rate, data=asked)
        run_of(machine, name, empty, disk / f"shares-run-{len(found)}", load)
        found.append(saved(empty.path))
    for each in found:
        assert each.compressible_share == pytest.approx(0.48, abs=0.02)
        assert each.duplicate_share == pytest.approx(0.4, abs=0.08)


def test_a_trace_is_replayed(machine: FioMachine, target: FioTarget, disk: Path) -> None:
    """400 requests a second, a tenth of them writes with flushes, in each second.

    A busy machine keeps fio from asking for some of them.
    """
    lines = []
    for number in range(1000):
        at_s, way = number * 0.0025, "W" if number % 10 == 9 else "R"
        asked = [f"{way} {number * 37 % 1000 * 16} + 16"] + (["FN"] if way == "W" else [])
        for place, each in enumerate(asked):
            for action, after_s in (("D", 0.0), ("C", 0.0004)):
                moment_s = at_s + place * 0.0005 + after_s
                lines.append(f"8,0 3 1 {moment_s:.9f} 697 {action} {each} [x]")
    trace = disk / "db.blkparse"
    trace.write_text("\n".join(lines) + "\n")

    timed = run_of(machine, str(trace), target, disk / "timed", FioLoad(3.0, 0.0, 5))
    (answer,) = timed.answers
    assert 0.6 * 400 < answer.iops < 1.02 * 400
    assert answer.write is not None
    assert answer.write.iops / answer.iops == pytest.approx(0.1, rel=0.05)
    whole = dict.fromkeys(range(3), 0)
    for second in timed.seconds["trace"]:
        whole[second.second] += second.count
    assert all(100 < count < 700 for count in whole.values())
    load = FioLoad(1.0, 0.2, 5, replay="fast")
    assert run_of(machine, str(trace), target, disk / "fast", load).iops > 2 * 400


def test_flushes_have_latencies_of_their_own(
    machine: FioMachine, target: FioTarget, disk: Path
) -> None:
    """A commit log: one flush for each write."""
    found = run_of(machine, "commit-log/one-writer", target, disk / "log", FioLoad(1.0, 0.2, 5))
    (answer,) = found.answers
    assert answer.write is not None
    assert answer.flush is not None
    assert answer.flush.count == pytest.approx(answer.write.latency.count, abs=2)
    assert answer.read is None


def test_damage_is_found_by_reading_back(
    machine: FioMachine, target: FioTarget, disk: Path
) -> None:
    """After writes with checksums all is well; one changed byte is not."""
    # Whatever other tests wrote had no checksums.
    lay_out(machine, target, disk / "again", seed=2, verify=True)
    load = FioLoad(1.0, 0.0, 5, verify=True)
    run_of(machine, "checkpoint-bursts", target, disk / "bursts", load)
    paced = FioLoad(1.0, 0.0, 5, rate_per_s=200.0, verify=True)
    run_of(machine, "oltp-8k", target, disk / "paced-checked", paced)
    run_of(machine, "vdi-full-clone-like-boot", target, disk / "desktops", load)
    read_back(machine, target, disk / "sound")
    with Path(target.path).open("r+b") as file:
        file.seek(SIZE_BYTES // 3)
        file.write(b"damaged")
    with pytest.raises(InvalidMeasurement, match="not what was written"):
        read_back(machine, target, disk / "damaged")


@pytest.mark.needs_drive
def test_forgotten_writes_are_found_by_generations(
    machine: FioMachine, disk: Path, own_state: Path
) -> None:
    """A power cut takes what was answered since the layout; every block that is left is whole."""
    spec = DriveSpec("forgetful", None, 64 * MIB, volatile=VolatileBytes(limit_bytes=2**30))
    clock = SystemClock()
    with raise_drive(spec, machine.runner) as program:
        device = FioTarget(program.devices[spec.name], spec.size_bytes)
        began_s, apart_s = clock.monotonic_s(), clock.now_s() - clock.monotonic_s()
        lay_out(machine, device, disk / "remembered", seed=1, verify=True)
        load = FioLoad(4.0, 0.0, 5, rate_per_s=400.0, verify=True)
        run_of(machine, "oltp-8k", device, disk / "forgotten", load)
        kept = list_written_blocks(device.path, disk / "forgotten" / "worker-0", apart_s)
        expected = [list_laid_out_blocks(device, began_s), kept]
        compare(device, expected)
        program.control.set_fault(
            spec.name, PowerCut(seed=1, lost_share=1.0, torn_share=0.0, unit_bytes=4096)
        )
        program.control.set_fault(spec.name, PowerOn())
        read_back(machine, device, disk / "whole")
        with pytest.raises(InvalidMeasurement, match="older than what was written there last"):
            compare(device, expected)


def test_engines_are_tried_on_the_target(
    machine: FioMachine, target: FioTarget, disk: Path
) -> None:
    """A target that cannot be read is said with what each engine answered."""
    patterns = library.load_shipped("vmfleet-sql").patterns
    assert prepare_fio(machine.runner, [target], disk / "trial", patterns).engine in USUAL_ASYNC
    absent = FioTarget(str(disk / "absent"), MIB)
    with pytest.raises(PreconditionError, match=r"direct I/O.*(io_uring|libaio).*psync"):
        prepare_fio(machine.runner, [target, absent], disk / "no-trial", patterns)


def test_a_target_that_vanished_is_not_made_again(machine: FioMachine, disk: Path) -> None:
    """An error that says so, and no file."""
    gone = FioTarget(str(disk / "gone"), 16 * MIB)
    with pytest.raises(InfrastructureError, match="no longer there"):
        run_of(machine, "sql", gone, disk / "without", FioLoad(1.0, 0.0, 5))
    assert not Path(gone.path).exists()
