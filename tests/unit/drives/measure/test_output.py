"""What fio wrote, read."""

import json

import pytest

from fakes.fio import direction, latency
from stithy.drives.measure.output import parse
from stithy.drives.measure.points import Point
from stithy.errors import InfrastructureError

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
    answer = parse(output(read=[50e-6, 60e-6, 70e-6, 1e-3]), READ, "x")
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
    assert parse(text, READ, "x").read is not None


def test_what_fio_cannot_tell_apart_is_counted() -> None:
    """Its last bin begins at 17 s; the mean is right all the same."""
    answer = parse(output(read=[1e-4, 18.0]), READ, "x")
    assert answer.beyond == 1
    assert answer.read is not None
    assert answer.read.latency.mean_s == pytest.approx(9.00005)


def test_flushes_are_read_where_they_were_asked_for() -> None:
    """Others, of a file system's own, are not."""
    text = output(write=[1e-4], flush=[2e-4])
    asked = parse(text, Point(0.0, 4096, 1, flushed_every=1), "x")
    assert asked.flush is not None
    assert asked.flush.latency.mean_s == pytest.approx(2e-4)
    assert parse(text, Point(0.0, 4096, 1), "x").flush is None


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
        parse(text, READ, "/dev/x")
