"""What stalls in checkpoints cost."""

import polars as pl
import pytest

from stithy.analysis.limits.stalls import stalled_shares


def _samples(*rows: tuple[float, str, float]) -> pl.DataFrame:
    """What is kept of checkpoints: time, metric and value."""
    return pl.DataFrame(
        [
            {"window_id": "w", "at_s": at, "metric": m, "value": value}
            for at, m, value in rows
        ],
        schema={
            "window_id": pl.String, "at_s": pl.Float64, "metric": pl.String, "value": pl.Float64,
        },
    )  # fmt: skip


def _seconds(*done: int) -> pl.DataFrame:
    rows = [
        {
            "window_id": "w", "transaction": "all", "phase": "measure", "at_s": 100.0 + index,
            "committed": each, "rolled_back": 0,
        }
        for index, each in enumerate(done)
    ]  # fmt: skip
    return pl.DataFrame(rows)


OVER = (100.5, "last_checkpoint_at_s", 50.0)
"""A checkpoint that was over before the window."""


def test_a_stall_while_a_checkpoint_runs_is_lost_throughput() -> None:
    """Two of ten seconds do a tenth of the usual: 18 % of the throughput."""
    samples = _samples(OVER, (106.0, "last_checkpoint_at_s", 103.0))
    seconds = _seconds(100, 100, 100, 10, 10, 100, 100, 100, 100, 100)
    assert stalled_shares(samples, seconds) == {"w": pytest.approx(0.18)}


def test_seconds_in_which_a_checkpoint_writes_belong_to_it_before_its_end_is_told() -> None:
    """The measurement may end before the checkpoint."""
    samples = _samples((100.2, "checkpoint_buffers_per_s", 9.0), OVER, (
        105.0, "checkpoint_buffers_per_s", 900.0,
    ))  # fmt: skip
    seconds = _seconds(100, 100, 100, 100, 0, 100, 100, 100, 100, 100)
    assert stalled_shares(samples, seconds) == {"w": pytest.approx(0.1)}


def test_a_dip_is_no_stall_and_a_stall_without_a_checkpoint_is_not_its_doing() -> None:
    """A second with six tenths is a dip; the stall at the end comes after the checkpoint."""
    samples = _samples(OVER, (104.0, "last_checkpoint_at_s", 102.0))
    seconds = _seconds(100, 100, 60, 60, 100, 100, 100, 0, 0, 100)
    assert stalled_shares(samples, seconds) == {"w": 0.0}


def test_a_window_whose_checkpoints_were_not_sampled_has_no_share() -> None:
    """Missing is not none."""
    assert stalled_shares(_samples(), _seconds(100, 0)) == {}
    assert stalled_shares(_samples(OVER), _seconds(0, 0)) == {"w": 0.0}
