"""Windows joined with what belongs to them, and what a candidate did at a level."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.evidence import Evidence
from stithy.analysis.gathering import gather
from stithy.metrics import NOPM, parse_quantity
from stithy.results.read import read_run
from stithy.results.tables import STOPPED
from support.reported import frames
from support.sample_run import Shape, build_run, window_id


def _evidence(root: Path, shape: Shape) -> Evidence:
    build_run(root, shape)
    return gather(frames(read_run(root)), shape.candidates, shape.users)


def test_invalid_windows_support_no_value_and_no_effect(tmp_path: Path) -> None:
    """An invalid window stays in observed but out of every number."""
    bad = window_id("disk", 4, 0)
    evidence = _evidence(tmp_path, Shape(users=(4,), changes={bad: {"errors": 9}}))
    assert [window.id for window in evidence.at("disk", 4)] == [bad]
    assert evidence.valid_at("disk", 4) == ()
    assert evidence.level_value("disk", 4, "nopm") is None
    effect = evidence.effect("disk", "memory", 4, NOPM)
    assert effect.ratio is None
    assert effect.missing_because == "no window of disk is valid"


def test_an_effect_pairs_only_blocks_with_both_windows(tmp_path: Path) -> None:
    """A block that lost a window is left out, the others still count."""
    shape = Shape(
        users=(4,),
        repeat=3,
        left_out=frozenset({window_id("disk", 4, 1)}),
        changes={window_id("memory", 4, 2): {"complete": False}},
    )
    evidence = _evidence(tmp_path, shape)
    effect = evidence.effect("disk", "memory", 4, NOPM)
    a = evidence.at("disk", 4)[0].row["nopm"]
    b = evidence.at("memory", 4)[0].row["nopm"]
    assert effect.pairs == 1
    assert effect.ratio == pytest.approx(b / a)


def test_no_block_with_both_is_a_reason_of_its_own(tmp_path: Path) -> None:
    """Both have valid windows, but never in the same block."""
    shape = Shape(
        users=(4,),
        repeat=2,
        left_out=frozenset({window_id("memory", 4, 0), window_id("disk", 4, 1)}),
    )
    effect = _evidence(tmp_path, shape).effect("disk", "memory", 4, NOPM)
    assert effect.missing_because == "no block has a valid window of both"


def test_a_window_without_numbers_has_no_values(tmp_path: Path) -> None:
    """It is there with its reason, and every value of it is missing."""
    lost = window_id("disk", 4, 0)
    changes = {lost: {"missing_because": "the server died", "tpm": None, "measure_to_s": None}}
    window = _evidence(tmp_path, Shape(users=(4,), changes=changes)).at("disk", 4)[0]
    assert not window.valid
    assert not window.measured
    assert window.value("nopm") is None
    assert window.measured_s is None


def test_a_collector_that_stopped_is_a_failure_and_one_that_never_spoke_is_not(
    tmp_path: Path,
) -> None:
    """Metrics that a machine lacks are null from the start; a dead collector falls silent."""
    build_run(tmp_path, Shape(users=(4,), candidates=("disk",)))
    run = read_run(tmp_path)
    reason = (
        pl.when((pl.col("collector") == "cpu") & (pl.col("second") > 10))
        .then(pl.lit(f"{STOPPED}the source is gone"))
        .when(pl.col("collector") == "pressure")
        .then(pl.lit("this kernel does not tell it"))
    )
    silent = run.series.with_columns(reason.alias("missing_because")).with_columns(
        pl.when(pl.col("missing_because").is_null()).then(pl.col("value")).alias("value")
    )
    window = gather({**frames(run), "series": silent}).windows[0]
    assert [reason.sentence for reason in window.reasons] == [
        "The instrument failed: samples are missing from cpu, which stopped."
    ]
    assert not window.valid


def test_a_block_that_was_measured_again_counts_by_its_second_attempt_alone(
    tmp_path: Path,
) -> None:
    """What was valid of the first is shown and supports nothing either."""
    late = {window_id("disk", 4, 0): {"lateness_p99_s": 1.0}}
    shape = Shape(users=(4,), repeat=2, changes=late, again=frozenset({(4, 0)}))
    evidence = _evidence(tmp_path, shape)
    counted = [window.id for window in evidence.windows if window.valid]
    assert len(evidence.windows) == 6
    assert sorted(counted) == [
        "w-disk-u4-b0-again", "w-disk-u4-b1", "w-memory-u4-b0-again", "w-memory-u4-b1",
    ]  # fmt: skip
    assert evidence.effect("disk", "memory", 4, NOPM).pairs == 2
    dropped = {window.id: window for window in evidence.windows}[window_id("memory", 4, 0)]
    assert dropped.failures == ()
    assert [reason.flag.value for reason in dropped.reasons if reason.invalidates] == [
        "block measured again"
    ]


def test_a_second_attempt_that_was_cut_short_gives_no_pair(tmp_path: Path) -> None:
    """Its first window is not paired with the other candidate's of the first attempt."""
    late = {window_id("disk", 4, 0): {"lateness_p99_s": 1.0}}
    left_out = frozenset({window_id("memory", 4, 0, 1)})
    shape = Shape(users=(4,), changes=late, again=frozenset({(4, 0)}), left_out=left_out)
    effect = _evidence(tmp_path, shape).effect("disk", "memory", 4, NOPM)
    assert effect.missing_because == "no window of memory is valid"


def test_the_canary_before_a_second_attempt_is_told_of_that_alone(tmp_path: Path) -> None:
    """The machine may have changed between both: that may be why the first one failed."""
    late = {window_id("disk", 4, 0): {"lateness_p99_s": 1.0}}
    shape = Shape(users=(4,), repeat=4, changes=late, again=frozenset({(4, 0)}))
    build_run(tmp_path, shape)
    canaries = read_run(tmp_path).canary
    [first] = canaries.filter(block=0, attempt=0)["window_id"].to_list()
    slow = {first: {"one_rounds_per_s": 60_000.0}}
    evidence = _evidence(tmp_path / "slow", replace(shape, canaries=slow))
    told = [
        window.id
        for window in evidence.windows
        if any(reason.flag.value == "the machine changed" for reason in window.reasons)
    ]
    assert sorted(told) == ["w-disk-u4-b0", "w-memory-u4-b0"]


def test_a_window_without_a_percentile_says_why(tmp_path: Path) -> None:
    """Too few transactions, none of the type, or no log of them."""
    evidence = _evidence(tmp_path, Shape(users=(4,), duration_s=2, series=False))
    (window,) = evidence.at("disk", 4)
    few = evidence.value_of(window, parse_quantity("p99 of payment"))
    assert few.missing_because == "p99 of payment needs 10,000 values in a window, and one has 99"
    none = evidence.value_of(window, parse_quantity("p50 of refund"))
    assert none.missing_because == "a window completed no refund"
    rows = {"all": {**window.transactions["all"], "response_p50_s": None}}
    unlogged = evidence.value_of(replace(window, transactions=rows), parse_quantity("p50"))
    assert unlogged.missing_because == "a window has no whole latency log"
    assert evidence.value_of(window, parse_quantity("p50")).number is not None
