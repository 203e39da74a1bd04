"""From the tables of a run to what rules look at, checked against the tables themselves."""

from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.limits.look import Tables, sights
from stithy.analysis.limits.sight import Sight
from stithy.report.context import Context, context_of
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id


def _context(root: Path, **shape: object) -> Context:
    build_run(root, Shape(**shape))  # type: ignore[arg-type]  # fields of a shape, each of its kind
    return context_of(read_run(root))


def _sight(context: Context, window: str, **more: object) -> Sight:
    run = context.run
    known: dict[str, object] = {
        "cpus": 2, "server_cpus": None, "emulated": frozenset(), "abilities": {}, **more,
    }  # fmt: skip
    tables = Tables(context.sampled, run.seconds, run.surroundings, **known)  # type: ignore[arg-type]  # as above
    found = {each.window_id: each for each in sights(context.evidence, tables)}
    return found[window]


DISK = window_id("disk", 4, 0)


def _measured(context: Context, window: str) -> pl.DataFrame:
    """The samples of the twenty measured seconds, from the files."""
    path = context.run.directory.window(window).table("series")
    return pl.read_parquet(path).filter((pl.col("second") > 5) & (pl.col("second") <= 25))


def test_sessions_are_means_over_all_looks(tmp_path: Path) -> None:
    """Groups sum to the active sessions; the collector looked twenty times."""
    context = _context(tmp_path)
    seen = _sight(context, DISK).sessions
    rows = _measured(context, DISK)
    active = rows.filter(pl.col("metric") == "active_backends")["value"].mean()
    assert seen is not None
    assert seen.looks == 20
    assert seen.active == pytest.approx(active)
    assert sum(seen.by_group.values()) == pytest.approx(active)
    assert seen.by_group["log"] == pytest.approx(0.4 * seen.active)
    assert seen.by_group["device"] == pytest.approx(0.3 * seen.active)


def test_an_event_that_occurred_in_few_looks_counts_for_those_alone(tmp_path: Path) -> None:
    """Only what occurs has samples: its mean is over all looks, not over those."""
    build_run(tmp_path, Shape())
    run = context_of(read_run(tmp_path)).run
    path = run.directory.window(DISK).table("series")
    kept = pl.read_parquet(path)
    late = (pl.col("metric") == "waiting_backends_by_event") & (pl.col("second") > 10)
    kept.filter(~late).write_parquet(path)
    whole = _context_again(tmp_path)
    seen = _sight(whole, DISK).sessions
    assert seen is not None
    assert seen.looks == 20
    assert sum(seen.by_group.values()) == pytest.approx(seen.active * 5 / 20)


def _context_again(root: Path) -> Context:
    return context_of(read_run(root))


def test_littles_law_tells_who_is_under_way_and_what_the_device_has(tmp_path: Path) -> None:
    """Rates times times, worked out here from the files."""
    context = _context(tmp_path)
    seen = _sight(context, DISK)
    where = context.run.directory.window(DISK)
    types = pl.read_parquet(where.table("transactions")).filter(pl.col("transaction") == "all")
    total = pl.read_parquet(where.table("window"))["transactions"][0]
    assert seen.under_way == pytest.approx(total / 20 * types["response_mean_s"][0])
    rows = _measured(context, DISK)
    rate = rows.filter(pl.col("metric") == "reads_per_s")["value"]
    time = rows.filter(pl.col("metric") == "read_latency_s")["value"]
    (device,) = seen.devices
    assert device.name == "vda"
    assert device.reads_under_way == pytest.approx((rate * time).mean())


def test_cpus_work_where_they_are_neither_idle_nor_waiting(tmp_path: Path) -> None:
    """Of the host; a server that is bound to none has none of its own."""
    context = _context(tmp_path)
    rows = _measured(context, DISK)
    idle = rows.filter(pl.col("metric").is_in(["idle_share", "iowait_share"]))["value"].sum() / 20
    seen = _sight(context, DISK)
    assert seen.host is not None
    assert seen.host.count == 2
    assert seen.host.used_share == pytest.approx(1 - idle)
    assert seen.server is None
    assert _sight(context, DISK, cpus=None).host is None


def test_other_programs_are_told_with_the_cpus_that_they_used(tmp_path: Path) -> None:
    """Where nobody counted them it is not known."""
    context = _context(tmp_path)
    row = context.run.surroundings.row(by_predicate=pl.col("window_id") == DISK, named=True)
    assert _sight(context, DISK).others_cpus == pytest.approx(row["others_cpu_s"] / row["span_s"])
    context.run.directory.window(DISK).table("surroundings").unlink()
    assert _sight(_context_again(tmp_path), DISK).others_cpus is None


def test_growth_is_that_to_the_next_level(tmp_path: Path) -> None:
    """From 4 to 13 users; the highest level has none."""
    context = _context(tmp_path)
    evidence = context.evidence
    four, thirteen = (evidence.level_value("disk", users, "tpm") for users in (4, 13))
    growth = _sight(context, DISK).growth
    assert growth is not None
    assert four is not None
    assert thirteen is not None
    assert growth.users == 13
    assert growth.factor == pytest.approx(thirteen / four)
    assert growth.share == pytest.approx((thirteen / four - 1) / (13 / 4 - 1))
    assert _sight(context, window_id("disk", 13, 0)).growth is None


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
    changed.write_parquet(path)
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
    """Fewer connections than users make a pool."""
    context = _context(tmp_path, changes={DISK: {"connections_opened": 2}})
    where = context.run.directory.window(DISK)
    types = pl.read_parquet(where.table("transactions")).filter(pl.col("transaction") == "all")
    wait_s = types["pool_wait_mean_s"][0]
    seen = _sight(context, DISK)
    if wait_s is None:
        assert seen.pool_waiting is None
    else:
        total = pl.read_parquet(where.table("window"))["transactions"][0]
        assert seen.pool_waiting == pytest.approx(total / 20 * wait_s)
    assert _sight(context, window_id("disk", 13, 0)).pool_waiting is None
