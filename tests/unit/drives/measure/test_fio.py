"""How fio is found, told what to do, and what is read of its answer."""

import json

import pytest

from fakes.fio import FioRunner, direction, latency
from stithy.drives.measure.fio import Fio, Place, options, parse_output, ready
from stithy.drives.measure.points import Point, Schedule
from stithy.errors import InfrastructureError, PreconditionError

TIMING = Schedule(point_s=2.5, rounds=1, sustained_s=0.0)
READ_ONLY = Place("/dev/x:y", "x", 2**20, may_write=False)
WRITABLE = Place("/dev/x", "x", 2**20, may_write=True)


def told(place: Place, point: Point) -> list[str]:
    """fio's options."""
    return options(place, point, TIMING, "io_uring", seed=5)


def test_nothing_is_written_to_what_may_only_be_read() -> None:
    """fio itself refuses then, whatever the point asks."""
    assert "--readonly" in told(READ_ONLY, Point(1.0, 4096, 1))
    assert "--readonly" in told(READ_ONLY, Point(0.0, 4096, 1))
    assert "--readonly" in told(WRITABLE, Point(1.0, 4096, 1))
    assert "--readonly" not in told(WRITABLE, Point(0.0, 4096, 1))


def test_the_page_cache_of_this_machine_is_passed_by() -> None:
    """Direct I/O, and a colon in a name separates no files."""
    words = told(READ_ONLY, Point(1.0, 4096, 1))
    assert "--direct=1" in words
    assert r"--filename=/dev/x\:y" in words
    assert "--allow_file_create=0" in words


def test_a_point_becomes_its_options() -> None:
    """Kind, size, depth, mix, flushes, time."""
    mixed = told(WRITABLE, Point(0.7, 16384, 8))
    assert {"--rw=randrw", "--rwmixread=70", "--bs=16384", "--iodepth=8"} <= set(mixed)
    assert {"--runtime=2500ms", "--ramp_time=300ms"} <= set(mixed)
    flushed = told(WRITABLE, Point(0.0, 4096, 1, sequential=True, flushed_every=1))
    assert {"--rw=write", "--fdatasync=1"} <= set(flushed)


def test_the_best_engine_that_works_is_taken() -> None:
    """io_uring may be forbidden, as in containers."""
    assert ready(FioRunner(), READ_ONLY).engine == "io_uring"
    assert ready(FioRunner(refused=("io_uring",)), READ_ONLY).engine == "libaio"


def test_a_place_without_direct_io_is_refused() -> None:
    """With what each engine said."""
    with pytest.raises(PreconditionError, match="direct I/O.*io_uring.*libaio"):
        ready(FioRunner(refused=("io_uring", "libaio")), READ_ONLY)


@pytest.mark.parametrize("version", ["fio-2.16", "fio-3.1-5", "something else", ""])
def test_a_fio_that_is_too_old_or_none_is_refused(version: str) -> None:
    """With its version and how to get another."""
    with pytest.raises(PreconditionError, match="at least 3.20 is needed") as refused:
        ready(FioRunner(version=version), READ_ONLY)
    assert "apt-get install fio" in refused.value.remedy


def test_a_missing_fio_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With how to get it."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(PreconditionError, match="fio is not there"):
        ready(FioRunner(), READ_ONLY)


def test_what_fails_names_the_place() -> None:
    """And not the engine's inner words alone."""
    fio = Fio("fio", "fio-3.33", "sick", FioRunner(refused=("sick",)))
    with pytest.raises(InfrastructureError, match="^x: .*not loadable"):
        fio.measure(READ_ONLY, Point(1.0, 4096, 1), TIMING, seed=1)


READ = Point(1.0, 4096, 1)


def output(error: int = 0, **kinds: list[float]) -> str:
    """fio's output with these latencies, in seconds, within one second."""
    job = {
        "error": error,
        "read": direction(kinds.get("read", []), 4096, 1000),
        "write": direction(kinds.get("write", []), 4096, 1000),
        "sync": {"lat_ns": latency(kinds.get("flush", []))},
    }
    return json.dumps({"jobs": [job]}, indent=2)


def test_counts_bytes_and_latencies_are_read() -> None:
    """A histogram of four reads, with the mean that fio tells."""
    answer = parse_output(output(read=[50e-6, 60e-6, 70e-6, 1e-3]), READ, "x")
    assert answer.read is not None
    assert answer.write is None
    assert answer.flush is None
    assert answer.read.iops == 4
    assert answer.read.bytes_per_s == 4 * 4096
    assert answer.read.latency.quantile_s(0.5) == pytest.approx(60e-6, rel=0.01)
    assert answer.read.latency.quantile_s(1.0) == pytest.approx(1e-3, rel=0.01)
    assert answer.read.latency.mean_s == pytest.approx(295e-6)


def test_talk_around_the_document_is_passed_over() -> None:
    """fio writes warnings to the same place."""
    text = f"fio: io_u error\nnote: cache\n{output(read=[1e-4])}\nfio: bye"
    assert parse_output(text, READ, "x").read is not None


def test_what_fio_cannot_tell_apart_is_counted() -> None:
    """Its last bin begins at 17 s; the mean is right all the same."""
    answer = parse_output(output(read=[1e-4, 18.0]), READ, "x")
    assert answer.beyond == 1
    assert answer.read is not None
    assert answer.read.latency.mean_s == pytest.approx(9.00005)


def test_flushes_are_read_where_they_were_asked_for() -> None:
    """Others, of a file system's own, are not."""
    text = output(write=[1e-4], flush=[2e-4])
    asked = parse_output(text, Point(0.0, 4096, 1, flushed_every=1), "x")
    assert asked.flush is not None
    assert asked.flush.latency.mean_s == pytest.approx(2e-4)
    assert parse_output(text, Point(0.0, 4096, 1), "x").flush is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fio: you need to specify size=", "wrote no result: 'fio: you need to specify size='"),
        ("", "wrote no result"),
        (output(error=5, read=[1e-4]), "fio failed: 5"),
        (f"{output(error=22)}\nfio: bad file", "fio failed: fio: bad file"),
        (json.dumps({"jobs": []}), "measured nothing"),
        (output(write=[1e-4]), "told no histogram of read for read 4 KiB, depth 1"),
    ],
)
def test_what_is_no_answer_is_an_error(text: str, told: str) -> None:
    """An error of fio, or an output without what was asked for, is never a result."""
    with pytest.raises(InfrastructureError, match=told):
        parse_output(text, READ, "/dev/x")
