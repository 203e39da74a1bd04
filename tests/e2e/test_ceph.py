"""A study on a cluster of Ceph, from nothing to a report, with a fault and without."""

import json
import time
from pathlib import Path

import polars as pl
import pytest

from stithy.errors import Exit
from stithy.results.layout import RunDirectory
from support import scenarios
from support.running import Stithy, manifest, write_study

pytestmark = [pytest.mark.needs_ceph, pytest.mark.needs_postgresql]


SLOW = Path(__file__).parents[2] / "studies/drives/sata-tenth.toml"
"""So slow that two busy CPUs emulate it as described: no window has to be measured twice."""


def _write_failure(place: Path, cluster: str, faults: str, *, at: str = "at: 1 s, heal: 2 s",
                   duration: str = "6 s") -> Path:  # fmt: skip
    scenario = f"{{failure: {{faults: {faults}, {at}}}}}"
    load = {"ledger": "true", "ramp_up": "1 s"}
    return write_study(place / "s.yaml", {"lab": cluster}, users=(2,), duration=duration,
                       load=load, scenario=scenario)  # fmt: skip


def _read(out: Path, fault: str, table: str, block: int = 0) -> pl.DataFrame:
    window = RunDirectory(out).window(f"w-lab-u2-fault{fault}-b{block}")
    return pl.read_parquet(window.table(table))


def test_a_database_on_a_cluster_loses_an_osd_and_nothing_else(stithy: Stithy, place: Path) -> None:
    """Cluster up, load, an OSD killed, ledger checked, down.

    OSDs and the storage's CPU time are in the series of the window without the fault.
    """
    cluster = f"{{ceph: {{hosts: 2, policy: {{ftt: 1}}, drive: {SLOW}}}}}"
    study = _write_failure(place, cluster, "[osd-killed]", duration="5 s")
    out = place / "out"
    stithy.run("run", study, "--out", out)
    for fault in ("none", "osd-killed"):
        [row] = _read(out, fault, "load").to_dicts()
        assert row["ledger_acknowledged"] > 0
        assert row["ledger_unverified_because"] is None
        assert (row["errors"], _read(out, fault, "ledger")["lost"].sum()) == (0, 0)
    spans = {row["name"]: row for row in _read(out, "osd-killed", "spans").to_dicts()}
    assert spans.keys() == {"fault", "undetected", "repair", "rebuild"}
    assert spans["rebuild"]["outcome"] == "clean"
    undetected_s = spans["undetected"]["to_s"] - spans["fault"]["from_s"]
    assert 0 < undetected_s < spans["fault"]["to_s"] - spans["fault"]["from_s"]
    series = _read(out, "none", "series").filter(pl.col("collector") == "cluster")
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


@pytest.mark.long
@pytest.mark.parametrize("ftt", [0, 1])
def test_an_osd_lost_with_its_data_takes_what_has_no_copy(
    stithy: Stithy, place: Path, ftt: int
) -> None:
    """Without one the storage is made anew for the next block; with one an empty OSD is filled.

    Long: a cluster for each policy, and a second one where the first is lost.
    """
    cluster = f"{{ceph: {{hosts: 2, policy: {{ftt: {ftt}}}}}}}"
    study = _write_failure(place, cluster, "[osd-lost]")
    study.write_text(study.read_text().replace("repeat: 1", "repeat: 2"))
    out = place / "out"
    stithy.run("run", study, "--out", out)
    blocks = [(_read(out, "osd-lost", "spans", block), _read(out, "osd-lost", "values", block))
              for block in range(2)]  # fmt: skip
    for spans, values in blocks:
        [promised] = values.filter(pl.col("metric") == "fault.promised")["value"]
        assert promised == (ftt > 0)
        assert ("lost" in set(spans["name"])) is (ftt == 0)
        assert ("rebuild" in set(spans["name"])) is (ftt > 0)
    [row] = _read(out, "none", "load", 1).to_dicts()
    assert row["ledger_acknowledged"] > 0  # also where a lost cluster was made anew
    assert _read(out, "none", "ledger", 1)["lost"].sum() == 0
    stithy.assert_nothing_left(out)


@pytest.mark.long
def test_a_persons_cluster_is_broken_only_where_the_study_says_so(
    stithy: Stithy, place: Path
) -> None:
    """Killed in the fault, `stithy clean` lets the cluster use its OSD again."""
    up = stithy.run("cluster", "up", "--name", "lab", "--hosts", "2", "--size", "1GiB", "--json")
    conf = json.loads(up.stdout)["conf"]
    cluster, out = f"{{ceph: {{conf: {conf}, pool: volumes, ALLOW}}}}", place / "out"
    study = _write_failure(place, cluster.replace(", ALLOW", ""), "[osd-down]",
                           at="at: 1 s, heal: 60 s", duration="70 s")  # fmt: skip
    refused = stithy.run("plan", study)
    assert refused.returncode != Exit.OK
    assert "allow_faults: true" in refused.stderr
    study.write_text(
        study.read_text().replace("pool: volumes", "pool: volumes, allow_faults: true")
    )

    def state() -> str:
        shown = stithy.run("cluster", "status", "lab", "--json")
        return str(json.loads(shown.stdout)[0]["health"])

    stithy.kill(lambda: "degraded" in state(), "run", study, "--out", out)
    assert stithy.run("clean").returncode == Exit.OK
    until_s = time.monotonic() + 60
    while state() != "healthy":
        assert time.monotonic() < until_s
    assert stithy.run("cluster", "down", "lab").returncode == Exit.OK


@pytest.mark.long
def test_tenants_share_a_cluster(stithy: Stithy, place: Path) -> None:
    """As on any other storage. Long: a cluster for three databases."""
    scenarios.disturbed(stithy, place, "{ceph: {hosts: 2, policy: {ftt: 1}}}")
