"""What ran beside a window, and whether collectors watched it."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.analysis.evidence import Window
from stithy.analysis.gathering import gather
from stithy.analysis.validity.judge import WindowRecord, is_valid, judge
from stithy.analysis.validity.reasons import Flag, Reason
from stithy.results.read import read_run
from stithy.results.tables import STOPPED, UNANSWERED
from support.reported import frames
from support.sample_run import Shape, build_run


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


Row = dict[str, Any]

HELD = [{"number": 1, "holds": True}]


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, Row]:
    """A window in which all is well, and what was around it: nothing."""
    root: Path = tmp_path_factory.mktemp("run")
    build_run(root, Shape(users=(4,), candidates=("disk",)))
    run = read_run(root)
    return run.window.to_dicts()[0], run.surroundings.to_dicts()[0]


def judged(quiet: tuple[Row, Row], change: Row, around: Row | None = None) -> tuple[Reason, ...]:
    """The reasons after changes to the window and to what was around it."""
    return judge(WindowRecord({**quiet[0], **change}, HELD, around={**quiet[1], **(around or {})}))


def test_programs_that_take_cpus_are_interference(quiet: tuple[Row, Row]) -> None:
    """More than a twentieth of all CPUs over the window; it says which, and invalidates nothing."""
    span_s = quiet[1]["span_s"]
    used = {"others_cpu_s": 0.5 * span_s, "others_names": "backup, cron"}
    reasons = judged(quiet, {}, used)
    assert [reason.flag for reason in reasons] == [Flag.INTERFERENCE]
    assert reasons[0].sentence == (
        "Something else ran meanwhile: other programs used 0.5 of 2 CPUs (backup, cron)."
    )
    assert is_valid(reasons)
    assert judged(quiet, {}, {"others_cpu_s": 0.09 * span_s}) == ()
    assert judged(quiet, {}, {"others_cpu_s": 0.5 * span_s, "cpus": 64}) == ()


def test_programs_that_use_the_disks_are_interference(quiet: tuple[Row, Row]) -> None:
    """A twentieth of what these disks moved, if that is more than the logs of an idle system."""
    reasons = judged(quiet, {}, {"others_here_bytes": 2**28, "others_names": "dd"})
    assert [reason.flag for reason in reasons] == [Flag.INTERFERENCE]
    assert "moved up to 256 MiB of 1 GiB on the disks under the volumes (dd)" in reasons[0].sentence
    assert judged(quiet, {}, {"others_here_bytes": 2**25}) == ()
    little = {"others_here_bytes": 2**20, "disks_bytes": 2**20}
    assert judged(quiet, {}, little) == ()
    assert judged(quiet, {}, {"others_here_bytes": 2**28, "disks_bytes": None}) == ()


def test_a_candidate_that_is_not_measured_must_be_quiet(quiet: tuple[Row, Row]) -> None:
    """What a file system writes about itself does not count; without others there is nothing."""
    reasons = judged(quiet, {}, {"idle_bytes": 5 * 2**20, "idle_names": "nvme"})
    assert [reason.flag for reason in reasons] == [Flag.NOT_QUIET]
    assert "not quiet: 5 MiB were read or written on that of nvme." in reasons[0].sentence
    assert is_valid(reasons)
    assert judged(quiet, {}, {"idle_bytes": 2**19}) == ()
    assert judged(quiet, {}, {"idle_bytes": None, "idle_names": None}) == ()


def test_a_memory_limit_that_was_lost_makes_the_window_invalid(quiet: tuple[Row, Row]) -> None:
    """One that could not be put is only noted: it is the same for all windows."""
    lost = {"memory_limit_lost": "the server left its memory group"}
    reasons = judged(quiet, {}, lost)
    assert [reason.flag for reason in reasons] == [Flag.MEMORY_LIMIT_LOST]
    assert not is_valid(reasons)
    assert is_valid(judged(quiet, {"memory_limit_enforced": False}))


def test_a_checkpoint_that_was_due_and_did_not_come_is_told(quiet: tuple[Row, Row]) -> None:
    """By the log that was written from the first user on, in that time, or by the time measured."""
    none = {"checkpoints_inside": 0}
    by_log = judged(quiet, none, {"log_bytes": 2**29, "span_s": 26.4})
    assert [reason.flag for reason in by_log] == [Flag.NO_CHECKPOINT]
    assert by_log[0].sentence.endswith(
        "though one was due: the server begins one after 5 min or 256 MiB of log, and it wrote "
        "512 MiB in 26 s."
    )
    by_time = judged(quiet, none, {"checkpoint_after_s": 20.0})
    assert [reason.flag for reason in by_time] == [Flag.NO_CHECKPOINT]
    assert is_valid(by_time)


def test_a_window_too_short_for_a_checkpoint_is_told_as_that(quiet: tuple[Row, Row]) -> None:
    """With the same words in every window of a study; with a checkpoint inside nothing is said."""
    [reason] = judged(quiet, {"checkpoints_inside": 0})
    assert reason.flag is Flag.SHORT_OF_CHECKPOINT
    assert "begins one after 5 min or 256 MiB of log" in reason.sentence
    assert judged(quiet, {"checkpoints_inside": 0}, {"log_bytes": 1})[0] == reason
    assert judged(quiet, {"checkpoints_inside": 2}, {"log_bytes": 2**29}) == ()
    assert judged(quiet, {"checkpoints_inside": None}, {"log_bytes": 2**29}) == ()


def test_log_files_that_the_server_created_are_noted(quiet: tuple[Row, Row]) -> None:
    """Nothing is said where it recycled all of them, or where nobody knows."""
    reasons = judged(quiet, {}, {"log_files_made": 26})
    assert [reason.flag for reason in reasons] == [Flag.LOG_FILES_MADE]
    assert "created 26 files for its write-ahead log" in reasons[0].sentence
    assert is_valid(reasons)
    assert "created a file for" in judged(quiet, {}, {"log_files_made": 1})[0].sentence
    assert judged(quiet, {}, {"log_files_made": None}) == ()
