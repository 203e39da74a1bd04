"""Users who think over a pool, keyed users, an open loop: from a study to its report."""

import json
from pathlib import Path

import polars as pl
import pytest

from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import Stithy, window_row, write_study

pytestmark = pytest.mark.needs_postgresql


def _run(stithy: Stithy, place: Path, users: int, workload: str = "", **load: str) -> RunDirectory:
    """A run of one candidate with these keys in its load, and more of its workload."""
    at, candidates = place / "study.yaml", {"a": place / "a"}
    study = write_study(at, candidates, users=[users], load=load, workload=workload)
    out = place / "out"
    stithy.run_well("run", study, "--out", out)
    return RunDirectory(out)


def _laws(run: RunDirectory) -> dict[str, bool]:
    table = pl.read_parquet(run.report / "tables" / "identities.parquet")
    return dict(table.select("name", "holds").iter_rows())


def test_users_who_think_share_a_pool(stithy: Stithy, place: Path) -> None:
    """Forty of them over two connections obey Little's law, their pauses included."""
    run = _run(stithy, place, 40, pace="{think: 200 ms}", connections="2")
    row = window_row(run.root, "w-a-u40-b0")
    assert (row["pace"], row["connections_opened"]) == ("think", 2)
    assert row["suppressed_arrivals"] is not None
    window = run.window("w-a-u40-b0").root
    assert (window / "hammer.pool-wait.hlog").exists()
    merged = pl.read_parquet(window / "transactions.parquet").filter(transaction="all")
    assert merged["pool_wait_p99_s"].item() is not None
    laws = _laws(run)
    assert laws["users = throughput × (response + pause)"] is True
    assert "think 200 ms" in page_text(run.page)


@pytest.mark.long
def test_keyed_users_are_at_home_and_hand_in_their_deliveries(stithy: Stithy, place: Path) -> None:
    """Hundreds of them are hardly any load."""
    homes = "users_per_warehouse: 400"
    run = _run(stithy, place, 400, homes, pace="keyed", connections="2")
    row = window_row(run.root, "w-a-u400-b0")
    assert (row["pace"], row["transactions"] > 0) == ("keyed", True)
    assert all(holds is not False for holds in _laws(run).values())


def test_an_open_loop_in_hammerdbs_profile_says_so_everywhere(stithy: Stithy, place: Path) -> None:
    """Its rate is kept or the window says that it was not; nobody misses a start."""
    own = "profile: hammerdb"
    run = _run(stithy, place, 4, own, rate="50/s", arrivals="constant")
    row = window_row(run.root, "w-a-u4-b0")
    assert (row["pace"], row["rate_per_s"]) == ("rate", 50.0)
    assert "profile=hammerdb" in row["options"]
    assert row["suppressed_arrivals"] is None
    assert row["backlog"] is not None
    assert row["transactions"] + row["backlog"] == pytest.approx(100, abs=20)
    page = page_text(run.page)
    assert "<title>PROFILE HAMMERDB" in page
    assert "Open loop, 50/s at constant intervals" in page
    load = json.loads(run.manifest.read_text())["load"]
    assert (load["rate_per_s"], load["arrivals"]) == (50.0, "constant")
