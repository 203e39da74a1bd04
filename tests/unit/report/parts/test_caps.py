"""Throughputs that the users or the instrument cap weaken an answer."""

from dataclasses import replace
from pathlib import Path

from stithy.analysis.answers.findings import Limits, findings
from stithy.analysis.bottlenecks.judge import Limited, judge
from stithy.analysis.bottlenecks.observation import Cpus
from stithy.analysis.verdict.decide import PrimaryComparison
from stithy.metrics import P95
from stithy.report.context import Context, context_of
from stithy.report.parts import answer
from stithy.results.read import read_run
from support.sample_observation import disk, observed, sessions
from support.sample_run import Shape, build_run

CAPPED = judge(observed(places=100, paced=True, under_way=3.0, server=Cpus(2, 0.1)))
FULL = judge(observed(server=Cpus(1, 0.95)))
ALONE = judge(observed(server=Cpus(8, 0.4), sessions=sessions(device=0.8, cpu=3.2), devices=disk()))
OUTSIDE = judge(observed(sessions=sessions(cpu=0.1), server=Cpus(2, 0.2)))
LATE = judge(observed(late="the hammer was late"))


def _context(root: Path, *limited: Limited, shape: Shape | None = None) -> Context:
    """Two candidates at one level, a window each, limited by these in the order of their names."""
    build_run(root, shape or Shape(users=(4,)))
    context = context_of(read_run(root))
    names = sorted(window.id for window in context.evidence.windows)
    context.__dict__["limited"] = dict(zip(names, limited, strict=True))
    return context


def test_users_who_pause_make_no_storage_result(tmp_path: Path) -> None:
    """Candidates of the same cap are named together."""
    assert list(answer.cap_flaws(_context(tmp_path, CAPPED, CAPPED))) == [
        "At 4 users, the throughput of disk and memory is capped by the number of users: it is no "
        "storage result; compare response times, or ask for more."
    ]


def test_users_whose_time_storage_has_a_part_of_tell_what_it_could_do(tmp_path: Path) -> None:
    """A fifth of their time: a quarter more at most."""
    assert list(answer.cap_flaws(_context(tmp_path, ALONE, FULL))) == [
        "At 4 users, the throughput of disk is capped by the number of users: storage took at most "
        "20 % of their time, so that one which takes none would give at most 1.25 times as much."
    ]


def test_a_late_driver_makes_no_storage_result(tmp_path: Path) -> None:
    """Whatever the storage had of the time."""
    assert list(answer.cap_flaws(_context(tmp_path, FULL, LATE))) == [
        "At 4 users, the throughput of memory is capped by the load driver: it is no storage "
        "result."
    ]


def test_a_verdict_refutes_a_limit_that_both_share(tmp_path: Path) -> None:
    """Who did less could have done more; of the other one nobody knows how much more it could."""
    shape = Shape(users=(4,), repeat=6)
    build_run(tmp_path, shape)
    context = context_of(read_run(tmp_path))
    context.__dict__["limited"] = {window.id: OUTSIDE for window in context.evidence.windows}
    assert list(answer.cap_flaws(context)) == [
        "At 4 users, the throughput of memory is capped by the load driver: the difference may be "
        "larger than it shows."
    ]
    (found,) = [each for each in findings(context.evidence, context.limited)
                if isinstance(each, Limits)]  # fmt: skip
    said = {name: (cause.limit, cause.says) for name, cause in found.of}
    assert said["disk"] == (
        "unknown",
        "the load driver seemed to, but memory did more under the same load",
    )
    assert said["memory"][0] == "driver"


def test_a_question_about_times_is_not_weakened(tmp_path: Path) -> None:
    """At a load that is capped times tell candidates apart."""
    context = _context(tmp_path, CAPPED, CAPPED)
    asked = replace(context.evidence, primary=PrimaryComparison(metric=P95))
    times = Context(context.run, asked, context.sampled)
    times.__dict__["limited"] = context.limited
    assert not list(answer.cap_flaws(times))
