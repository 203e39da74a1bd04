"""Rates in block I/O: how they are written, in which order they come, what they are refused for."""

import pytest

from stithy.plan.expand import expand
from stithy.scenarios.block_io.plan import find_spec
from stithy.study.load import parse_study
from stithy.study.model import Study
from stithy.study.problems import StudyError


def made(keys: str, more: str = "") -> Study:
    """A study of two directories."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
        f"scenario: {{block-io: {{{keys}}}}}\n{more}"
    )
    return parse_study("study.yaml", text.encode())


@pytest.mark.parametrize(("written", "points"), [
    ("10-120%", [f"{each}%" for each in range(10, 121, 10)]),
    ("5-20% by 5%", ["5%", "10%", "15%", "20%"]),
    ("50%", ["50%"]),
    ("[90%, 12.5%]", ["12.5%", "90%"]),
    ("[2000, 500]", [500, 2000]),
    ("[1000/s, 30000/min, 2.5 / s]", [2.5, 500, 1000]),
    ("500-1500 by 500", [500, 1000, 1500]),
    ("500-1500/s by 500/s", [500, 1000, 1500]),
])  # fmt: skip
def test_rates_are_shares_or_requests_a_second(written: str, points: list[object]) -> None:
    """In rising order, beside the maximum."""
    study = made(f"profiles: [sql], rate: {written}")
    assert list(study.factors["rate"]) == ["max", *points]
    assert str(study.asked_point) == "profile=sql, rate=max"


@pytest.mark.parametrize(("keys", "said"), [
    ("profiles: [sql], rate: fast", "not a rate"),
    ("profiles: [sql], rate: [10%, 500]", "all shares or all requests a second"),
    ("profiles: [sql], rate: [10%, 10%]", "a rate given twice"),
    ("profiles: [sql], rate: 0%", "not a share of the maximum"),
    ("profiles: [sql], rate: 120-10%", "not a range of rates"),
    ("profiles: [checkpoint-bursts], rate: 50%", "its streams have no weights"),
    ("profiles: [sql], stop_at: 5 ms", "a latency to stop at without rates"),
    ("profiles: [oracle], block_size: 4 KiB", "it has several streams"),
    ("profiles: [commit-log/one-writer], queue_depth: 4", "needs iodepth = 1"),
    ("profiles: [sql], queue_depth: 4", "submission = 'async'"),
    ("profiles: [single-drive-4k], block_size: 8 KB", "not whole sectors"),
    ("profiles: [sql], rate: 500/parsec", "not a rate"),
    ("profiles: [sql], rate: 10%-50 by 5", "not a rate"),
    ("profiles: [sql], rate: 10-50 by 5%", "not a rate"),
    ("profiles: [sql], rate: [500/s, 30000/min]", "a rate given twice"),
])  # fmt: skip
def test_what_cannot_be_asked_is_said_before_anything_runs(keys: str, said: str) -> None:
    """At its key."""
    with pytest.raises(StudyError) as caught:
        made(keys)
    assert any(said in str(each) for each in caught.value.problems), caught.value.problems


@pytest.mark.parametrize("stop_at", ["", ", stop_at: 20 ms"])
def test_maxima_come_before_the_rates_that_are_shares_of_them(stop_at: str) -> None:
    """With a latency to stop at, rates rise besides."""
    plan = expand(made(f"profiles: [sql, oltp-8k], rate: 20-100% by 20%, repeat: 2{stop_at}"))
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    for block in (0, 1):
        rates = [str(each.point.values["rate"]) for each in windows if each.block == block]
        assert rates[:4] == ["max"] * 4
        assert "max" not in rates[4:]
        rising = rates == sorted(rates, key=lambda each: float(each.strip("%max") or 0))
        assert rising == bool(stop_at)


def test_block_sizes_depths_and_shares_of_reads_are_factors_like_any_other() -> None:
    """Each point's windows run the pattern as changed."""
    study = made(
        "profiles: [sql], threads: 2, submission: async",
        "vary: {scenario.block-io.block_size: [4 KiB, 64 KiB],"
        " scenario.block-io.read_share: [0%, 70%], scenario.block-io.queue_depth: [1, 32]}",
    )
    assert len(study.points) == 8
    found = set()
    for point in study.points:
        stream = find_spec(study.at(point)).profile_of("sql").patterns[0].streams[0]
        assert stream.jobs == 2
        found.add((*stream.write_sizes, stream.read_share, stream.iodepth))
    assert found == {(b, r, d) for b in (4096, 65536) for r in (0.0, 0.7) for d in (1, 32)}
