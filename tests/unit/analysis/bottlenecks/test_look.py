"""From the tables of a run to what rules look at, checked against the tables themselves."""

from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.bottlenecks.observation import Observation
from stithy.analysis.bottlenecks.observe import Tables, observations
from stithy.report.context import Context, context_of
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, rewrite, window_id


def _context(root: Path, **shape: object) -> Context:
    build_run(root, Shape(**shape))  # type: ignore[arg-type]  # fields of a shape, each of its kind
    return context_of(read_run(root))


def _sight(context: Context, window: str, **more: object) -> Observation:
    run = context.run
    known: dict[str, object] = {
        "cpus": 2, "server_cpus": None, "emulated": frozenset(), "abilities": {}, **more,
    }  # fmt: skip
    tables = Tables(context.sampled, run.seconds, run.surroundings, **known)  # type: ignore[arg-type]  # as above
    found = {each.window_id: each for each in observations(context.evidence, tables)}
    return found[window]


DISK = window_id("disk", 4, 0)


def _context_again(root: Path) -> Context:
    return context_of(read_run(root))


def test_other_programs_are_told_with_the_cpus_that_they_used(tmp_path: Path) -> None:
    """Where nobody counted them it is not known."""
    context = _context(tmp_path)
    row = context.run.surroundings.row(by_predicate=pl.col("window_id") == DISK, named=True)
    assert _sight(context, DISK).others_cpus == pytest.approx(row["others_cpu_s"] / row["span_s"])
    context.run.directory.window(DISK).table("surroundings").unlink()
    assert _sight(_context_again(tmp_path), DISK).others_cpus is None


def test_storage_without_a_block_device_is_not_missed_and_a_dead_collector_is(
    tmp_path: Path,
) -> None:
    """What has nothing to look at says so; what died says why."""
    context = _context(tmp_path)
    assert _sight(context, window_id("memory", 4, 0)).unseen == {}
    path = context.run.directory.window(DISK).table("series")
    kept = pl.read_parquet(path)
    died = pl.col("collector") == "cpu"
    changed = kept.with_columns(
        pl.when(died).then(None).otherwise(pl.col("value")).alias("value"),
        pl.when(died).then(pl.lit("collector stopped: no file")).alias("missing_because"),
    )
    rewrite(path, changed)
    assert _sight(_context_again(tmp_path), DISK).unseen == {
        "cpu": "the collector `cpu` has no samples in the measurement (collector stopped: no file)"
    }


def test_an_open_loop_has_as_many_places_as_connections(tmp_path: Path) -> None:
    """What was not begun is told as a share of what was due."""
    row = {"pace": "rate", "rate_per_s": 100.0, "connections_opened": 3, "unserved": 500}
    context = _context(tmp_path, changes={DISK: row}, load={"pace": "rate", "rate_per_s": 100.0})
    seen = _sight(context, DISK)
    done = pl.read_parquet(context.run.directory.window(DISK).table("window"))["transactions"][0]
    assert (seen.is_open, seen.places) == (True, 3)
    types = pl.read_parquet(context.run.directory.window(DISK).table("transactions"))
    service_s = types.filter(pl.col("transaction") == "all")["service_mean_s"][0]
    assert seen.under_way == pytest.approx(done / 20 * service_s)
    assert seen.unserved_share == pytest.approx(500 / (500 + done))


def test_users_who_share_connections_wait_for_them(tmp_path: Path) -> None:
    """Fewer connections than users make a pool; in a line of deferred deliveries nobody waits."""
    context = _context(tmp_path, pool=2, think_s=0.01)
    path = context.run.directory.window(DISK).table("transactions")
    types = pl.read_parquet(path).filter(pl.col("transaction") != "all")
    lines = types.select(
        "transaction",
        waiting=(pl.col("committed") + pl.col("rolled_back")) * pl.col("pool_wait_mean_s") / 20,
    )
    seen = _sight(context, DISK)
    assert seen.pool_waiting == pytest.approx(lines["waiting"].sum(), rel=0.01)
    assert _sight(context, window_id("disk", 1, 0)).pool_waiting is None
    handed_in = pl.when(pl.col("transaction") == "delivery").then(0.0)
    left = handed_in.otherwise(pl.col("response_mean_s")).alias("response_mean_s")
    rewrite(path, pl.read_parquet(path).with_columns(left))
    others = lines.filter(pl.col("transaction") != "delivery")["waiting"].sum()
    assert _sight(_context_again(tmp_path), DISK).pool_waiting == pytest.approx(others, rel=0.01)
