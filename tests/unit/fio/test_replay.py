"""A trace of any kind is replayed: its requests in their places and order, at their times."""

import struct
from itertools import chain
from pathlib import Path

import pytest
from pydantic import ValidationError

from stithy.errors import UserError
from stithy.fio import library
from stithy.fio.jobfile import explain_no_rate, make_job_file
from stithy.fio.load import FioLoad, FioTarget
from stithy.fio.traces import EVENT, read_requests
from stithy.scenarios.block_io.keys import BlockIoSpec

MIB = 2**20


def iolog(folder: Path) -> Path:
    """Reads of 8 KiB at 1 MiB and after it, every tenth a write with a flush."""
    lines = ["fio version 3 iolog"]
    for number in range(200):
        at = number * 5000
        way = "write" if number % 10 == 9 else "read"
        lines.append(f"{at} /dev/x {way} {MIB + 8192 * number} 8192")
        if way == "write":
            lines.append(f"{at + 100} /dev/x datasync 0 0")
    path = folder / "db.iolog"
    path.write_text("\n".join(lines) + "\n")
    return path


def blkparse(folder: Path) -> Path:
    """Reads of 8 KiB in sequence, three under way at once for 1 ms, every 5 ms."""
    lines = []
    for number in range(200):
        at_s, sector = number // 3 * 0.005, MIB // 512 + 16 * number
        for action, moment_s in (("D", at_s), ("C", at_s + 0.001)):
            lines.append(f"8,0 3 1 {moment_s:.9f} 697 {action} R {sector} + 16 [x]")
    path = folder / "db.blkparse"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_at_its_own_times_each_request_waits_for_its_moment_and_all_are_there(
    tmp_path: Path,
) -> None:
    """By submitters in turn; a short trace begins again, and places begin with the target."""
    (pattern,) = library.find(str(iolog(tmp_path))).patterns
    target = FioTarget("/dev/y", 16 * MIB, begin_bytes=4 * MIB)
    made = make_job_file(pattern, target, FioLoad(2.0, 0.0, 7, submitters=16))
    assert len(made.logs) == made.streams[0].outstanding == 16
    assert "time_based" not in made.text
    assert "replay_redirect=/dev/y" in made.text
    found = sorted(
        (int(wait.split()[2]), int(done.split()[2]))
        for text in made.logs.values()
        for wait, done in zip(*[iter(text.splitlines()[3:-1])] * 2, strict=True)
        if done.split()[1] != "datasync"
    )
    assert [at for at, _ in found[:3]] == [2000, 2005, 2010]
    assert found[0][1] == 4 * MIB
    assert max(at for at, _ in found) == pytest.approx(2000 + 4000, abs=20)
    assert len(found) == pytest.approx(800, abs=3)


def test_as_fast_as_it_goes_one_submitter_has_all_in_their_order(tmp_path: Path) -> None:
    """Without times, again and again, with as many outstanding as the trace had."""
    (pattern,) = library.find(str(blkparse(tmp_path))).patterns
    made = make_job_file(
        pattern, FioTarget("/dev/y", 16 * MIB), FioLoad(2.0, 0.0, 7, replay="fast")
    )
    (text,) = made.logs.values()
    lines = text.splitlines()[3:]
    assert lines[:2] == ["target read 0 8192", "target read 8192 8192"]
    assert not any("wait" in line for line in lines)
    assert made.text.count("read_iolog") == 1
    assert "\niodepth=3\n" in made.text


def test_a_trace_without_latencies_is_not_replayed_as_fast_as_it_goes(tmp_path: Path) -> None:
    """One request at a time would be nobody's I/O; the study is refused, too."""
    path = iolog(tmp_path)
    (pattern,) = library.find(str(path)).patterns
    with pytest.raises(UserError, match="how many requests were outstanding"):
        make_job_file(pattern, FioTarget("/dev/y", 16 * MIB), FioLoad(2.0, 0.0, 7, replay="fast"))
    asked = {"profiles": [str(path)], "replay": "fast"}
    with pytest.raises(ValidationError, match="how many requests were outstanding"):
        BlockIoSpec.model_validate(asked)
    assert BlockIoSpec.model_validate(asked | {"replay": "times"}).replay == "times"
    assert (
        BlockIoSpec.model_validate(asked | {"profiles": [str(blkparse(tmp_path))]}).replay == "fast"
    )


def test_a_trace_says_what_it_is_like_and_takes_no_rate_or_shape(tmp_path: Path) -> None:
    """Its stream has its sizes and its share of reads."""
    (pattern,) = library.find(str(iolog(tmp_path))).patterns
    (stream,) = pattern.streams
    assert (stream.read_share, stream.read_sizes, stream.write_sizes) == (
        0.9, {8192: 1.0}, {8192: 1.0},
    )  # fmt: skip
    assert explain_no_rate(pattern) == "it is a trace, which has its own times"
    with pytest.raises(UserError, match="touches 1,638,400 bytes"):
        make_job_file(pattern, FioTarget("/dev/y", MIB), FioLoad(2.0, 0.0, 7))
    (tmp_path / "x.trace").write_text("what")
    with pytest.raises(UserError, match="no I/O profile"):
        library.find(str(tmp_path / "x.trace"))


def event(at_ns: int, sector: int, length: int, action: int, categories: int) -> bytes:
    """An event of blktrace, with two bytes behind it."""
    head = (0x65617407, 1, at_ns, sector, length, action | categories << 16, 1, 8 << 20, 0, 0, 2)
    return EVENT.pack(*head) + b"??"


def test_blktraces_own_files_are_read_of_all_processors(tmp_path: Path) -> None:
    """A write issued on one and completed on another, a read, a flush, a message, a discard."""
    write, read, flush, notify, discard = 2, 1, 4, 1 << 10, 1 << 13
    first = [
        event(1_000_000, 8, 4096, 7, write), event(2_000_000, 64, 8192, 7, read),
        event(2_500_000, 0, 0, 0, notify), event(4_000_000, 0, 0, 7, flush),
        event(5_000_000, 0, 4096, 7, discard), event(6_000_000, 0, 4096, 8, discard),
    ]  # fmt: skip
    second = [
        event(1_500_000, 8, 4096, 8, write), event(3_000_000, 64, 8192, 8, read),
        event(4_700_000, 0, 0, 8, flush),
    ]  # fmt: skip
    for number, events in enumerate((first, second)):
        (tmp_path / f"sda.blktrace.{number}").write_bytes(b"".join(events))
    found = list(read_requests(tmp_path / "sda.blktrace.0"))
    assert [(each.operation, each.offset_bytes, each.length_bytes) for each in found] == [
        ("write", 4096, 4096), ("read", 32768, 8192), ("flush", 0, 0),
    ]  # fmt: skip
    latencies = [each.latency_s for each in found]
    assert latencies == pytest.approx([0.5e-3, 1e-3, 0.7e-3])
    damaged = chain(first[:1], [struct.pack("<I", 7) * 12])
    (tmp_path / "sdb.blktrace.0").write_bytes(b"".join(damaged))
    with pytest.raises(UserError, match="it is damaged"):
        list(read_requests(tmp_path / "sdb.blktrace.0"))
