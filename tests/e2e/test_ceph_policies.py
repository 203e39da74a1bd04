"""Block I/O and load on clusters of every kind, without a word about clusters in either."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results.layout import RunDirectory
from support.running import Stithy, write_study

pytestmark = [pytest.mark.needs_ceph, pytest.mark.needs_root]

CLUSTERS = {
    "coded-3-1": "{hosts: 4, policy: {erasure_coding: 3+1}}",
    "coded-4-2": "{hosts: 6, policy: {erasure_coding: 4+2}}",
    "limited": "{hosts: 1, policy: {ftt: 0, iops_limit: 200}}",
    "cached": "{hosts: 1, drive: generic-7200, policy: {ftt: 0}, cache: {drive: generic-nvme}}",
    "two-drives": "{hosts: 1, drives_per_host: 2, policy: {ftt: 0}, network_gbit: 10}",
}
BLOCK_IO = """study: What does it do?
candidates: {{{candidates}}}
scenario:
  block-io: {{profiles: [oltp-8k], size: 32 MiB, verify: true, ramp_up: 2 s, duration: 2 s,
             repeat: 1}}
"""


def _iops(out: Path) -> dict[str, float]:
    found = {}
    for path in (out / "windows").glob("w-*/values.parquet"):
        values = pl.read_parquet(path).filter(pl.col("metric") == "fio.iops")
        name = pl.read_parquet(path.with_name("window.parquet"))["candidate"][0]
        found[name] = values.filter(pl.col("of") == "all")["value"][0]
    return found


@pytest.mark.long
def test_a_limit_and_a_faster_drive_do_what_they_say(stithy: Stithy, place: Path) -> None:
    """Not more requests than the limit; a disk with a cache serves writes faster than one alone.

    All that was written is read back.
    """
    alone = CLUSTERS["cached"].replace(", cache: {drive: generic-nvme}", "")
    clusters = {name: CLUSTERS[name] for name in ("limited", "cached")} | {"alone": alone}
    candidates = ", ".join(f"{name}: {{ceph: {keys}}}" for name, keys in clusters.items())
    (place / "s.yaml").write_text(BLOCK_IO.format(candidates=candidates))
    stithy.run_well("run", place / "s.yaml", "--out", place / "out")
    stithy.assert_nothing_left(place / "out")
    found = _iops(place / "out")
    assert found["limited"] <= 220
    assert found["cached"] > 1.5 * found["alone"], found


@pytest.mark.long
@pytest.mark.needs_postgresql
@pytest.mark.parametrize("kind", ["coded-3-1", "coded-4-2", "cached", "two-drives"])
def test_a_database_runs_on_a_cluster_of_any_kind(stithy: Stithy, place: Path, kind: str) -> None:
    """With its log on an emulated drive of its own; no acknowledged order is lost.

    Long: a cluster for each. tests/real/test_ceph.py has a thick one, and each time a coded one.
    """
    candidate = f"{{ceph: {CLUSTERS[kind]}, roles: {{log: {{drive: generic-nvme}}}}}}"
    study = write_study(place / "s.yaml", {"lab": candidate}, users=(2,), load={"ledger": "true"})
    out = place / "out"
    stithy.run_well("run", study, "--out", out)
    window = RunDirectory(out).window("w-lab-u2-b0")
    assert pl.read_parquet(window.table("ledger"))["lost"].sum() == 0
    drives = set(pl.read_parquet(window.table("drives"))["role"])
    assert {"data-host1", "log"} <= {name.removesuffix("-1") for name in drives}, drives
    stithy.assert_nothing_left(out)
