"""Whether a window was watched: a stopped collector has failed, a stalled server is measured."""

from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.evidence import Window
from stithy.analysis.gathering import gather
from stithy.analysis.validity.flags import Flag
from stithy.results.read import read_run
from stithy.results.tables import STOPPED, UNANSWERED
from support.reported import frames
from support.sample_run import Shape, build_run

OF_20_S = 20.0


@pytest.fixture
def run(tmp_path: Path) -> dict[str, pl.DataFrame]:
    """The tables of a run with one window of twenty seconds."""
    build_run(tmp_path, Shape(users=(4,), candidates=("disk",)))
    return dict(frames(read_run(tmp_path)))


def window(run: dict[str, pl.DataFrame], series: pl.DataFrame) -> Window:
    """The window with these samples."""
    return gather({**run, "series": series}).windows[0]


def after(second: float, collector: str, why: str) -> list[pl.Expr]:
    """Samples of a collector are missing from a second on."""
    gone = (pl.col("collector") == collector) & (pl.col("second") > second)
    return [
        pl.when(gone).then(pl.lit(why)).otherwise("missing_because").alias("missing_because"),
        pl.when(~gone).then(pl.col("value")).alias("value"),
    ]


def test_a_window_that_was_watched_has_no_reason(run: dict[str, pl.DataFrame]) -> None:
    """All samples are there."""
    assert window(run, run["series"]).reasons == ()


@pytest.mark.parametrize("collector", ["block", "cpu", "drive"])
def test_a_collector_that_stopped_makes_the_window_invalid(
    run: dict[str, pl.DataFrame], collector: str
) -> None:
    """Nobody knows what happened unseen."""
    found = window(run, run["series"].with_columns(after(10, collector, f"{STOPPED}it fell")))
    [reason] = found.reasons
    assert (reason.flag, found.valid) == (Flag.COLLECTOR, False)
    assert collector in reason.sentence


def test_a_server_that_does_not_answer_a_collector_is_noted(run: dict[str, pl.DataFrame]) -> None:
    """A stall is what is measured, not a failure to measure it."""
    found = window(run, run["series"].with_columns(after(10, "database", f"{UNANSWERED}60 s")))
    assert [reason.flag for reason in found.reasons] == [Flag.UNANSWERED]
    assert found.valid


def test_collectors_that_fall_silent_make_the_window_invalid(run: dict[str, pl.DataFrame]) -> None:
    """Whatever silenced them, and without a word of it; a second at each end is shared."""
    series = run["series"]
    found = window(run, series.filter(pl.col("second") < 12))
    assert [reason.flag for reason in found.reasons] == [Flag.COLLECTORS_SILENT]
    assert "of 20 s" in found.reasons[0].sentence
    assert not found.valid
    assert window(run, series.filter(pl.col("second") < 22)).valid


def test_a_window_without_any_sample_beside_one_with_samples_is_invalid(tmp_path: Path) -> None:
    """Its collectors never spoke."""
    build_run(tmp_path, Shape(users=(1, 4), candidates=("disk",)))
    read = dict(frames(read_run(tmp_path)))
    series = read["series"].filter(pl.col("window_id") == "w-disk-u1-b0")
    first, second = gather({**read, "series": series}).windows
    assert (first.valid, second.valid) == (True, False)
    assert second.reasons[0].sentence.endswith("gave samples of 0 of 20 s.")


def test_a_run_without_series_was_not_watched_and_says_nothing(
    run: dict[str, pl.DataFrame],
) -> None:
    """What nobody looked at is not judged."""
    assert window(run, run["series"].clear()).reasons == ()


def test_stolen_time_is_interference(run: dict[str, pl.DataFrame]) -> None:
    """The mean over the measurement; what was before it does not count."""
    steal = (pl.col("metric") == "steal_share") & (pl.col("subject") == "")

    def stolen(share: float, when: pl.Expr) -> pl.DataFrame:
        value = pl.when(steal & when).then(pl.lit(share)).otherwise(pl.col("value"))
        return run["series"].with_columns(value.alias("value"))

    found = window(run, stolen(0.05, pl.lit(True)))
    assert [reason.flag for reason in found.reasons] == [Flag.INTERFERENCE]
    assert "the hypervisor gave 5 % of the CPUs to others" in found.reasons[0].sentence
    assert found.valid
    assert window(run, stolen(0.9, pl.col("second") < 4)).reasons == ()
