"""A study on a cluster of Ceph, from nothing to a report."""

from pathlib import Path

import polars as pl
import pytest

from stithy.errors import Exit
from stithy.results.layout import RunDirectory
from support import scenarios
from support.running import Stithy, entries, manifest, write_study

pytestmark = [pytest.mark.needs_ceph, pytest.mark.needs_postgresql]


def test_a_database_on_a_cluster_is_measured_and_loses_nothing(stithy: Stithy, place: Path) -> None:
    """Cluster up, load, ledger checked, down; OSDs and the storage's CPU time are in the series."""
    cluster = "{ceph: {hosts: 2, policy: {ftt: 1}}}"
    load = {"ledger": "true", "ramp_up": "1 s"}
    study = write_study(place / "s.yaml", {"lab": cluster}, users=(2,), load=load)
    out = place / "out"
    stithy.run_well("run", study, "--out", out)
    window = RunDirectory(out).window("w-lab-u2-b0")
    assert pl.read_parquet(window.table("ledger"))["lost"].sum() == 0
    series = pl.read_parquet(window.table("series")).filter(pl.col("collector") == "cluster")
    assert {"", "osd.0", "osd.1", "host1", "host2", "volumes", "clients"} == set(series["subject"])
    assert series.filter(pl.col("metric") == "cpu_share")["value"].sum() > 0
    writes = series.filter(pl.col("metric") == "write_latency_s").drop_nulls("value")
    assert {"", "osd.0", "host1", "volumes"} <= set(writes["subject"])
    held = series.filter(pl.col("metric") == "allocated_bytes", pl.col("subject") == "volumes")
    assert min(held["value"].to_list()) > 0
    [array] = manifest(out)["candidates"][0]["arrays"]
    policy = "FTT 1 (2 copies, min_size 1)"
    assert array["keys"] == {"hosts": "of 2 hosts", "policy": policy, "links": "not limited"}
    stithy.assert_nothing_left(out)


CLUSTER = "{ceph: {hosts: 2, policy: {ftt: 1}}}"


@pytest.mark.long
def test_a_cluster_is_backed_up(stithy: Stithy, place: Path) -> None:
    """As on any other storage. Long: a cluster for a run of two windows and a proof."""
    scenarios.backed_up(stithy, place, CLUSTER)


@pytest.mark.long
def test_tenants_share_a_cluster(stithy: Stithy, place: Path) -> None:
    """As on any other storage. Long: a cluster for three databases."""
    scenarios.disturbed(stithy, place, CLUSTER)


def test_what_a_killed_run_has_made_of_a_cluster_is_cleaned(stithy: Stithy, place: Path) -> None:
    """It is killed as soon as its journal names the cluster: namespaces and daemons come then."""
    study = write_study(place / "s.yaml", {"lab": "{ceph: {hosts: 2, policy: {ftt: 1}}}"})
    out = place / "out"
    journal = RunDirectory(out).journal
    stithy.kill(
        lambda: journal.exists() and entries(out, "creating", kind="cluster")
        and list((stithy.state / "clusters").glob("*/*")), "run", study, "--out", out,
    )  # fmt: skip
    cleaned = stithy.run("clean")
    assert cleaned.returncode == Exit.OK, cleaned.stdout + cleaned.stderr
    stithy.assert_nothing_left(out)
