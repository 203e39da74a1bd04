"""A profile is learned from requests: their sizes, places, flushes and concurrency."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.fio.learned import Request, learn
from stithy.fio.library import parse
from stithy.fio.profile import IoProfile
from stithy.fio.traces import read_text

KIB = 1024
SPAN = 2**30


def database() -> Iterator[Request]:
    """4 reads of 8K at random, 9 of 10 in the first half; a write of 16K in sequence with a flush.

    The reads are under way together; that is repeated every 10 ms.
    """
    dice = random.Random(7)
    for index in range(1000):
        at_s = index / 100
        for _ in range(4):
            half = dice.random() >= 0.9
            place = dice.randrange(SPAN // 2 // 8192) * 8192 + (SPAN // 2 if half else 0)
            yield Request(at_s, "read", place, 8 * KIB, 0.001)
        yield Request(at_s + 0.002, "write", index * 16 * KIB, 16 * KIB, 0.0005)
        yield Request(at_s + 0.003, "flush", 0, 0, 0.0001)


def profile_of(requests: Iterator[Request]) -> IoProfile:
    """What is learned, read back as a user's file is."""
    return parse(learn(requests, "a.trace").text, "mine", "mine.toml")


def test_reads_and_waited_writes_are_streams_with_their_own_shapes() -> None:
    """The text is a profile by the rules of any; rates and mean latencies are the trace's."""
    learned = learn(database(), "a.trace")
    reads, commits = parse(learned.text, "mine", "mine.toml").patterns[0].streams
    assert (reads.read_share, reads.random_share, reads.jobs) == (1.0, 1.0, 4)
    assert {each.submission for each in (reads, commits)} == {"sync"}
    assert reads.read_sizes == {8 * KIB: 1.0}
    spots = [(hot_spot.access_share, hot_spot.space_share) for hot_spot in reads.hot_spots]
    half = sum(access for access, _ in spots[:10])
    assert half == pytest.approx(0.9, abs=0.03)
    assert sum(space for _, space in spots) == pytest.approx(1)
    assert (commits.sync, commits.is_sequential, commits.jobs) == ("fdatasync", True, 1)
    assert commits.write_sizes == {16 * KIB: 1.0}
    assert commits.region.size_share == pytest.approx(16_000 * KIB / SPAN, rel=0.01)
    assert (reads.weight or 0) / (commits.weight or 1) == pytest.approx(4, rel=1e-5)

    assert learned.rate_per_s == pytest.approx(500, rel=0.01)
    assert learned.served["flush"].per_s == pytest.approx(100, rel=0.01)
    assert learned.served["read"].mean_s == pytest.approx(0.001)


def flushed_by_the_kernel(together: int) -> Iterator[Request]:
    """Writes at random places, so many at once 50 times a second, each served in 20 µs."""
    dice = random.Random(3)
    for number in range(200):
        for place in range(together):
            at_s = number / 50 + place * 1e-7
            yield Request(at_s, "write", dice.randrange(1000) * 8192, 8192, (place + 1) * 20e-6)


@pytest.mark.parametrize(("together", "batch"), [(1, 1), (2, 1), (24, 46), (64, 126)])
def test_writes_that_arrive_together_are_a_batch(together: int, batch: int) -> None:
    """Of which a write meets a fourth under way; those by themselves are none."""
    (stream,) = profile_of(flushed_by_the_kernel(together)).patterns[0].streams
    assert stream.batch == batch
    assert stream.iodepth >= stream.batch
    assert stream.submission == ("async" if batch > 1 else "sync")


def test_without_latencies_nobody_knows_what_was_under_way() -> None:
    """No batch is made up, and the profile says that its depth is none of the trace."""
    requests = [each._replace(latency_s=None) for each in flushed_by_the_kernel(64)]
    profile = profile_of(iter(requests))
    (stream,) = profile.patterns[0].streams
    assert (stream.batch, stream.iodepth) == (1, 1)
    assert "no latencies" in profile.note
    assert learn(requests, "a.trace").caution is not None
    assert learn(flushed_by_the_kernel(64), "a.trace").caution is None


def test_rare_sizes_count_as_their_nearest_and_no_share_is_lost() -> None:
    """fio knows whole percents."""
    requests = [Request(i / 10, "write", i * 4096, 4096, None) for i in range(999)]
    requests += [Request(100, "write", 0, 2**20, None)]
    (stream,) = profile_of(iter(requests)).patterns[0].streams
    assert (stream.write_sizes, stream.iodepth) == ({4096: 1.0}, 1)


def test_a_log_of_fio_and_the_words_of_blkparse_are_read(tmp_path: Path) -> None:
    """Of the latter with latencies, from dispatch to completion."""
    fio, blk = tmp_path / "a.log", tmp_path / "a.txt"
    fio.write_text(
        "fio version 3 iolog\n0 /x add\n0 /x open\n5000 /x read 8192 4096\n7000 /x datasync\n"
    )
    assert read_text(fio) == [
        Request(0.005, "read", 8192, 4096, None, "/x"), Request(0.007, "flush", 0, 0, None, "/x"),
    ]  # fmt: skip
    blk.write_text(
        "  8,0    3        1     0.000000000   697  Q   W 16 + 8 [kjournald]\n"
        "  8,0    3        2     0.000100000   697  D   W 16 + 8 [kjournald]\n"
        "  8,0    3        3     0.000200000   697  D  FN [kjournald]\n"
        "  8,0    3        4     0.000300000     0  C   W 16 + 8 [0]\n"
        "  8,0    3        5     0.000400000     0  C  FN 0 [0]\n"
        "CPU3 (8,0):\n"
    )
    found = read_text(blk)
    assert [(each.operation, each.offset_bytes, each.length_bytes) for each in found] == [
        ("write", 8192, 4096), ("flush", 0, 0),
    ]  # fmt: skip
    assert [each.latency_s for each in found] == pytest.approx([0.0002, 0.0002])


@pytest.mark.parametrize("text", ["", "fio version 2 iolog\n", "what is this\n"])
def test_what_is_no_trace_or_has_no_times_is_refused(tmp_path: Path, text: str) -> None:
    """With what would do."""
    file = tmp_path / "a.log"
    file.write_text(text)
    with pytest.raises(UserError):
        read_text(file)


def test_too_few_requests_teach_nothing() -> None:
    """Their shares would be chance."""
    with pytest.raises(UserError, match="too few"):
        learn([Request(0, "read", 0, 4096, None)] * 99, "a.trace")
