"""What fio answered is read around its errors, and what is missing is never taken for nothing."""

import json
import random
from pathlib import Path

import pytest

from fakes.fio import bin_ns as fake_bin_ns
from fakes.fio import direction, latency
from stithy.errors import InfrastructureError, InvalidMeasurement
from stithy.fio import logs
from stithy.fio.output import (
    Expected,
    FioAnswer,
    find_bin_middle_ns,
    find_bin_ns,
    merge_workers,
    parse,
    parse_messages,
)

READS = Expected("data", {"read": 1.0}, 1.0)


def job(name: str = "data", runtime_ms: int = 1000, **kinds: list[float]) -> dict[str, object]:
    """A job of fio's document; kinds are latencies in seconds."""
    sides = {way: direction(kinds.get(way, []), 4096, runtime_ms) for way in ("read", "write")}
    flushes = {"lat_ns": latency(kinds.get("flush", []))}
    cpu = {"usr_cpu": 10.0, "sys_cpu": 40.0, "job_runtime": 2000}
    return {"jobname": name, "error": 0, "sync": flushes, **sides, **cpu}


def said(*jobs: dict[str, object], before: str = "") -> str:
    """What fio writes."""
    return before + json.dumps({"fio version": "fio-3.33", "jobs": jobs}, indent=2)


def test_a_stream_has_counts_bytes_latencies_and_the_drivers_own_cost() -> None:
    """fio's talk before its document is no part of it; processors are shares of all run times."""
    text = said(job(read=[1e-4] * 50), before="fio: a note\nfio: {another}\n")
    (answer,) = parse(text, [READS], "x")
    assert answer.read is not None
    assert (answer.count, answer.iops, answer.read.moved_bytes) == (50, 50, 50 * 4096)
    assert (answer.write, answer.flush, answer.cpu_s) == (None, None, 1.0)
    assert answer.latency.mean_s == pytest.approx(1e-4)
    assert parse_messages(text, "x") == ("fio: a note", "fio: {another}")
    assert parse_messages(said(job()), "x") == ()
    many = "".join(f"fio: io_u error: read offset={index}, buflen=8192\n" for index in range(3))
    assert parse_messages(said(job(), before=many), "x") == (
        "fio: io_u error: read offset=0, buflen=8192 (and 2 alike)",
    )


def test_lines_of_errors_within_the_document_are_told_and_the_document_is_read() -> None:
    """As more than one thread writes to the same file."""
    lines = said(job(read=[1e-4] * 50)).splitlines()
    message = "fio: io_u error on file /dev/x: Input/output error: read offset=4096"
    for place in (0, 1, len(lines) // 2, len(lines) - 1, len(lines)):
        text = "\n".join([*lines[:place], message, *lines[place:]])
        (answer,) = parse(text, [READS], "x")
        assert (answer.count, parse_messages(text, "x")) == (50, (message,))
        failed = text.replace('"error": 0', '"error": 5')
        with pytest.raises(InfrastructureError, match="Input/output error: read offset=4096"):
            parse(failed, [READS], "x")


def test_directions_in_jobs_of_their_own_are_one_stream() -> None:
    """And another stream's are not."""
    text = said(
        job("data.read", read=[1e-4] * 30), job("data.write", write=[2e-4] * 20), job("data-2")
    )
    (answer,) = parse(text, [Expected("data", {"read": 0.6, "write": 0.4}, 1.0)], "x")
    assert (answer.count, answer.cpu_s) == (50, 2.0)


@pytest.mark.parametrize(("text", "expected", "problem"), [
    ("fio: unrecognised option", READS, "wrote no result"),
    (said(), READS, "measured nothing"),
    (said(job(), before="fio: file creation disallowed by allow_file_create=0\n"), READS,
     "no longer there"),
    (said(job("other", read=[1e-4])), READS, "no result of the stream data"),
    (said(job(runtime_ms=400, read=[1e-4] * 9)), READS, "for 0.4 s of 1 s"),
    (said(job(runtime_ms=1000)), Expected("data", {"read": 1.0}, 0.0), "no histogram of read"),
    (said(job(read=[1e-4] * 100)), Expected("data", {"read": 0.7, "write": 0.3}, 1.0),
     "no histogram of write"),
    (said(job(write=[1e-4] * 100)), Expected("data", {"write": 1.0}, 1.0, flushes=True),
     "no histogram of flush"),
])  # fmt: skip
def test_what_is_missing_or_too_short_is_an_error(
    text: str, expected: Expected, problem: str
) -> None:
    """Never a zero."""
    with pytest.raises(InfrastructureError, match=problem):
        parse(text, [expected], "/dev/x")


def test_a_rare_direction_may_have_had_nothing_to_do() -> None:
    """Of 100 requests 1 % writes may well be none."""
    (answer,) = parse(
        said(job(read=[1e-4] * 100)), [Expected("data", {"read": 0.99, "write": 0.01}, 1.0)], "x"
    )
    assert answer.write is None


@pytest.mark.parametrize(("number", "problem", "remedy"), [
    (28, "No space left", "make room"),
    (5, "fio failed", "dmesg"),
    (19, "the device is gone", "bring it back"),
    (2, "no longer there", "bring it back"),
    (107, "file system is gone", "bring it back"),
    (84, "not what was written", "trust this storage with nothing"),
    (22, "fio failed", "measure again"),
])  # fmt: skip
def test_an_error_number_becomes_a_problem_with_its_remedy(
    number: int, problem: str, remedy: str
) -> None:
    """Full disks, vanished targets and damage are told apart; also with a whole document."""
    text = said(job(read=[1e-4]) | {"error": number}, before="fio: No space left on device\n")
    with pytest.raises(InvalidMeasurement if number == 84 else InfrastructureError) as caught:
        parse(text, [READS], "/dev/x")
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


def test_workers_add_up_and_percentiles_are_those_of_all_requests() -> None:
    """90 of 1 ms here and 10 of 9 ms there: the 95th percentile is 9 ms, not their mean."""
    fast, slow = (
        parse(said(job(read=times)), [READS], "x") for times in ([1e-3] * 90, [9e-3] * 10)
    )
    (both,) = merge_workers([fast, slow])
    assert (both.count, both.iops, both.cpu_s) == (100, 100, 2.0)
    assert both.latency.find_quantile_s(0.95) == pytest.approx(9e-3, rel=0.01)
    assert both.latency.mean_s == pytest.approx(1.8e-3)


def test_bins_are_those_of_fio() -> None:
    """By number and by value, to the last one; within 0.8 %."""
    assert [find_bin_middle_ns(each) for each in (0, 127, 128, 191, 192)] == [0, 127, 129, 255, 258]
    draw = random.Random(3)
    middles = {find_bin_middle_ns(index) for index in range(29 * 64)}
    for _ in range(2000):
        time_ns = draw.randrange(1, 2 ** draw.randrange(2, 34))
        found = find_bin_ns(time_ns)
        assert found == fake_bin_ns(time_ns)
        assert found in middles
        assert abs(found / time_ns - 1) <= 1 / 128


def test_an_open_loop_is_measured_after_its_ramp(tmp_path: Path) -> None:
    """Each request is known: the second without any has a 0; five of eight have five eighths."""
    rows = [(0, 9), (999, 9), (1000, 1), (1500, 3), (1999, 2), (3100, 4), (3999, 4), (4100, 9)]
    text = "".join(f"{50_000 + at}, {ms * 1_000_000}, 1, 8192, 0\n" for at, ms in rows)
    (tmp_path / "data_lat.7.log").write_text(text)
    requests = list(logs.read_requests("data", [tmp_path]))
    answer, seconds = logs.summarise_measurement("data", requests, 1.0, 3.0, "x", cpu_s=0.8)
    assert isinstance(answer, FioAnswer)
    assert answer.cpu_s == pytest.approx(0.5)
    assert answer.write is not None
    assert (answer.count, answer.read, answer.write.moved_bytes) == (5, None, 5 * 8192)
    assert answer.latency.mean_s == pytest.approx(14e-3 / 5)
    assert [(second.second, second.at_s, second.count) for second in seconds] == [
        (0, 51.0, 3), (1, 52.0, 0), (2, 53.0, 2),
    ]  # fmt: skip
    assert seconds[1].latency_mean_s is None
    late = logs.list_closed_loop_seconds("data", [tmp_path], 3.0)
    assert [(each.second, each.count) for each in late] == [(0, 2), (1, 3), (2, 3)]
    for part in (requests[:4], []):
        with pytest.raises(InfrastructureError, match="was seen for"):
            logs.summarise_measurement("data", part, 1.0, 3.0, "x")
    (tmp_path / "data_lat.8.log").write_text("5001, 12")
    with pytest.raises(InfrastructureError, match="no line of a log"):
        list(logs.read_requests("data", [tmp_path]))
