"""Readings as rows, joined with the hammer's seconds."""

from stithy.collect.collector import Reading, Sample
from stithy.collect.rows import checkpoints_inside, series_rows
from stithy.results.frames import frame_of
from stithy.results.tables import SERIES


def checkpoint(at_s: float, began_s: float | None) -> Reading:
    """What the database's collector says at a moment about the last checkpoint."""
    return Reading(at_s, "database", "s", Sample("", "last_checkpoint_at_s", began_s, None))


def test_rows_are_as_the_table_declares_and_count_seconds_from_the_start() -> None:
    """A sample before the users' start has a negative second."""
    readings = [
        Reading(99.0, "cpu", "", Sample("", "user_share", 0.5)),
        Reading(101.5, "block", "s", Sample("vda", "read_latency_s", None, "no reads")),
    ]
    frame = frame_of(SERIES, series_rows("w-1", readings, started_at_s=100.0))
    assert frame["second"].to_list() == [-1.0, 1.5]
    assert frame["missing_because"].to_list() == [None, "no reads"]


def test_without_a_start_the_second_is_null() -> None:
    """A window whose users never started keeps its series by Unix time."""
    readings = [Reading(99.0, "cpu", "", Sample("", "user_share", 0.5))]
    assert series_rows("w-1", readings, None)[0]["second"] is None


def test_checkpoints_count_when_they_begin_and_end_inside() -> None:
    """One that began before does not count; one seen twice counts once."""
    readings = [
        checkpoint(101, 90),
        checkpoint(105, 103),
        checkpoint(106, 103),
        checkpoint(109, 107),
    ]
    assert checkpoints_inside(readings, 100.0, 110.0) == 2
    assert checkpoints_inside(readings, 104.0, 110.0) == 1
    assert checkpoints_inside(readings, 100.0, 104.0) == 0


def test_without_readings_the_number_of_checkpoints_is_not_known() -> None:
    """Not 0: nobody looked."""
    assert checkpoints_inside([checkpoint(101, None)], 100.0, 110.0) is None
