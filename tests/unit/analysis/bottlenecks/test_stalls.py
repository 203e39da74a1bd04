"""What stalls in checkpoints cost."""

import polars as pl
import pytest

from stithy.analysis.bottlenecks.stalls import Stall, stalled_shares, stalled_windows, stalls


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


def _rows(*rows: tuple[str, str, str, float, float]) -> pl.DataFrame:
    """Samples: collector, subject, metric, time and value."""
    names = ("collector", "subject", "metric", "at_s", "value")
    return pl.DataFrame(
        [{"window_id": "w", **dict(zip(names, row, strict=True))} for row in rows],
        schema={
            "window_id": pl.String, **dict.fromkeys(names[:3], pl.String),
            "at_s": pl.Float64, "value": pl.Float64,
        },
    )  # fmt: skip


def _waits(event: str, value: float = 4.0) -> tuple[str, str, str, float, float]:
    return "database", event, "waiting_backends_by_event", 105.4, value


FLUSHES = tuple(
    ("block", "vda", metric, 100.5 + second, value)
    for second in range(10)
    for metric, value in (
        ("flushes_per_s", 100.0 if second != 6 else 2.0),
        ("flush_latency_s", 0.002 if second != 6 else 0.4),
    )
)
"""A device whose flushes took 0.4 s in the second after the stall."""


@pytest.mark.parametrize(
    ("samples", "checkpointed", "pooled", "cause"),
    [
        ((_waits("IO:WALInitWrite", 1.0), _waits("LWLock:WALWrite")), False, {}, "log-file"),
        ((_waits("LWLock:WALWrite"),), True, {}, "checkpoint"),
        ((*FLUSHES, _waits("IO:WALSync")), False, {}, "flush"),
        ((_waits("IO:WALSync"),), False, {}, "log"),
        ((_waits("IO:DataFileRead"),), False, {}, "data"),
        ((_waits("Lock:tuple"), _waits("CPU", 1.0)), False, {}, "locks"),
        ((_waits("Lock:tuple", 1.0), _waits("CPU", 3.0)), False, {}, "unknown"),
        ((), False, {"w": 8}, "pool"),
        ((), False, {}, "unknown"),
    ],
)
def test_a_stall_has_the_cause_that_samples_of_its_second_show(
    samples: tuple[tuple[str, str, str, float, float], ...],
    checkpointed: bool,
    pooled: dict[str, int],
    cause: str,
) -> None:
    """The surest first; without a sign none is named."""
    seconds = _seconds(*[100] * 5, 10, *[100] * 4).with_columns(waiting=pl.lit(6))
    checkpoints = _samples(OVER, (106.0, "last_checkpoint_at_s", 105.0))
    kept = checkpoints if checkpointed else _samples(OVER)
    found = stalls(seconds, kept, _rows(*samples), pooled)
    assert found == (Stall("w", 105, 0.9, cause),)


def test_a_checkpoint_that_runs_most_of_the_time_is_no_cause() -> None:
    """It would run in most stalls whatever caused them."""
    seconds = _seconds(*[100] * 5, 10, *[100] * 4).with_columns(waiting=pl.lit(None))
    always = _samples(OVER, (108.0, "last_checkpoint_at_s", 101.0))
    [found] = stalls(seconds, always, _rows(), {})
    assert found.cause == "unknown"


def test_seconds_that_chance_leaves_empty_are_no_stall() -> None:
    """Of nine transactions a second none is now and then done by chance."""
    seconds = _seconds(9, 9, 0, 9, 9)
    assert stalled_windows(seconds) == {}
    assert stalled_windows(_seconds(100, 100, 51, 100)) == {"w": {}}
