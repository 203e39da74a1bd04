"""Judging thresholds: by valid windows alone, and honest where there are none."""

from pathlib import Path

from stithy.analysis.answers.thresholds import Judgement, Outcome, windows_of
from stithy.metrics import Quantity
from stithy.report.context import Context, context_of
from stithy.report.parts.answer import judged
from stithy.results.read import read_run
from stithy.thresholds import Constant, MeasuredValue, Threshold
from support.sample_run import Shape, build_run
from support.sample_thresholds import thresholds

ERRORS = {"errors": 500}


def context(tmp_path: Path, *texts: str, **shape: object) -> Context:
    """A synthetic run with these thresholds."""
    built = Shape(users=(1, 4), duration_s=3, thresholds=thresholds(*texts), **shape)  # type: ignore[arg-type]  # fields of Shape
    return context_of(read_run(build_run(tmp_path / "run", built).root))


def test_a_response_time_is_that_of_all_transactions_unless_a_type_is_named(tmp_path: Path) -> None:
    """As on top of the report, and in the primary question."""
    run = context(
        tmp_path,
        "disk.p95_at_4 < 1 s",
        "disk.delivery.p95_at_4 < 1 s",
        "disk.new-order.p95_at_4 < 1 s",
    )
    values = [each.left for each in judged(run)]
    named = ("all", "delivery", "new-order")
    assert values == [run.evidence.level_value("disk", 4, "response_p95_s", each) for each in named]
    assert len(set(values)) == 3


def test_a_threshold_without_a_valid_window_is_not_met_and_has_not_failed(tmp_path: Path) -> None:
    """It cannot be judged, and says which windows were needed."""
    changes = {"w-disk-u4-b0": ERRORS}
    text = ("disk.nopm_at_4 > 0", "memory.nopm_at_4 > 0", "disk.nopm_at_1 > 0")
    run = context(tmp_path, *text, changes=changes)
    first, second, third = judged(run)
    assert first.outcome is Outcome.NOT_JUDGED
    assert first.because == "no window of disk at level 4 is valid"
    assert (second.outcome, third.outcome) == (Outcome.MET, Outcome.MET)
    assert [window.valid for window in windows_of(first.threshold, run.evidence)] == [False]


def test_a_window_that_was_never_run_is_told(tmp_path: Path) -> None:
    """An interrupted run meets nothing that it did not measure."""
    run = context(tmp_path, "disk.nopm_at_4 > 0", left_out=frozenset({"w-disk-u4-b0"}))
    (judgement,) = judged(run)
    assert judgement.because == "there is no window of disk at level 4"


def test_a_collectors_metric_is_its_mean_over_the_measurement(tmp_path: Path) -> None:
    """Latencies are weighted by the requests of each second; who has no such device says so."""
    texts = (
        "disk.block.write_latency_s_at_4 < 1 s", "disk.vda.block.writes_per_s_at_4 > 1",
        "memory.block.write_latency_s_at_4 < 1 s", "disk.vdb.block.writes_per_s_at_4 > 1",
        "disk.io.pressure.some_share_at_4 < 90%",
    )  # fmt: skip
    run = context(tmp_path, *texts)
    latency, rate, none, other, waited = judged(run)
    assert latency.outcome is rate.outcome is waited.outcome is Outcome.MET
    assert latency.left is not None
    assert 0.0014 < latency.left < 0.0028
    told = "nothing measured block.write_latency_s in a window"
    assert none.because == f"memory at level 4: {told}"
    assert other.outcome is Outcome.NOT_JUDGED
    assert waited.left == run.evidence.level_of("disk", 4, Quantity("pressure.some_share", "io"))


def test_equal_values_meet_only_what_includes_them() -> None:
    """The comparison is exact: no digit is rounded away before it."""
    side, one = MeasuredValue("a", "nopm", 1), Constant(1.0, "1/min")
    assert Judgement(Threshold(side, ">=", one), 1.0, 1.0).outcome is Outcome.MET
    assert Judgement(Threshold(side, ">", one), 1.0, 1.0).outcome is Outcome.NOT_MET
    assert Judgement(Threshold(side, ">=", one), 0.999999999, 1.0).outcome is Outcome.NOT_MET
