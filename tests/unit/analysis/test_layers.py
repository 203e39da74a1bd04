"""What was nearly full."""

import polars as pl

from stithy.analysis.layers import Limit, limits


def _means(*rows: tuple[str, str, str, float]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"window_id": "w", "collector": c, "subject": s, "metric": m, "mean": value}
            for c, s, m, value in rows
        ],
        schema=["window_id", "collector", "subject", "metric", "mean"],
        schema_overrides={"mean": pl.Float64},
    )


def test_a_busy_device_is_named_with_its_use() -> None:
    """Busy nine tenths of the time or more is nearly full."""
    rows = _means(
        ("block", "vda", "utilisation_share", 0.97), ("block", "vdb", "utilisation_share", 0.5)
    )  # fmt: skip
    assert limits("w", rows) == (Limit("the device vda", 0.97),)


def test_cpus_that_wait_for_storage_are_not_full() -> None:
    """Waiting for I/O is idle time: only work counts as use."""
    waiting = _means(("cpu", "", "idle_share", 0.02), ("cpu", "", "iowait_share", 0.5))
    assert limits("w", waiting) == ()
    working = _means(("cpu", "", "idle_share", 0.04), ("cpu", "", "iowait_share", 0.01))
    (limit,) = limits("w", working)
    assert limit.what == "the CPUs of the host"


def test_the_fullest_comes_first() -> None:
    """Where several are full, the fullest is the likeliest limit."""
    rows = _means(
        ("cpu", "", "idle_share", 0.08), ("block", "vda", "utilisation_share", 0.99),
    )  # fmt: skip
    assert [limit.what for limit in limits("w", rows)] == ["the device vda", "the CPUs of the host"]


def test_nothing_watched_is_no_limit() -> None:
    """Without samples nothing is said."""
    assert limits("other", _means(("cpu", "", "idle_share", 0.0))) == ()


def test_a_bound_server_can_be_full_on_a_host_that_is_not() -> None:
    """Its own CPUs are what it has."""
    rows = _means(("cpu", "", "idle_share", 0.45), ("cpu", "server", "idle_share", 0.03))
    assert limits("w", rows) == (Limit("the CPUs of the server", 0.97),)
