"""What was around a window: others on the machine, checkpoints, a limit that was lost."""

from pathlib import Path
from typing import Any

import pytest

from stithy.analysis.validity.flags import Flag
from stithy.analysis.validity.judge import is_valid, judge
from stithy.analysis.validity.reason import Reason
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

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
    return judge({**quiet[0], **change}, HELD, around={**quiet[1], **(around or {})})


def test_a_quiet_window_has_no_reason(quiet: tuple[Row, Row]) -> None:
    """Nothing is said where nothing happened."""
    assert judged(quiet, {}) == ()


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


def test_where_the_rule_is_not_known_a_missing_checkpoint_is_told_all_the_same(
    quiet: tuple[Row, Row],
) -> None:
    """Results of a server that did not tell it."""
    [reason] = judged(quiet, {"checkpoints_inside": 0}, {"checkpoint_after_s": None})
    assert reason.flag is Flag.NO_CHECKPOINT
    assert reason.sentence.endswith("so write-back was not measured.")


@pytest.mark.parametrize(
    "around",
    [
        {"others_cpu_s": 40.0},
        {"others_here_bytes": 2**30},
        {"idle_bytes": 2**30},
        {"memory_limit_lost": "the limit of its memory group was changed to max."},
        {"log_files_made": 3},
    ],
)
def test_each_reads_as_one_sentence_with_an_advice(quiet: tuple[Row, Row], around: Row) -> None:
    """As all reasons do."""
    [reason] = judged(quiet, {}, around)
    assert reason.sentence.endswith(".")
    assert ".." not in reason.sentence
    assert reason.advice.endswith(".")
    assert "{" not in reason.sentence + reason.advice
