"""Studies on emulated drives, from nothing to a report."""

from pathlib import Path

import polars as pl
import pytest

from stithy.results.hlog import read_hlog
from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import ROWS, Stithy, left_by, manifest, write_study

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_postgresql]


def roles(backing: Path) -> str:
    """A drive for each role, on three kinds of file systems, one of them in a file."""
    return (
        f"{{drive: generic-sata, backing: {backing}, roles: {{"
        "log: {drive: generic-nvme, filesystem: xfs, size: 1 GiB}, "
        "temp: {drive: generic-nvme, scale: 1/8}, "
        "backup: {drive: gp3, filesystem: btrfs}}}"
    )


def test_a_drive_for_each_role_is_measured(stithy: Stithy, place: Path) -> None:
    """Its window is valid or explained; what was emulated is in the results."""
    (place / "images").mkdir()
    study, out = place / "s.yaml", place / "out"
    write_study(study, {"one": roles(place / "images")}, users=(2,), data=ROWS)
    stithy.run_well("run", study, "--out", out)
    [candidate] = manifest(out)["candidates"]
    shown = candidate["drives"]
    assert [each["role"] for each in shown] == ["data", "log", "temp", "backup"]
    assert [each["filesystem"] for each in shown] == ["ext4", "xfs", "ext4", "btrfs"]
    assert shown[2]["scale"] == 8
    assert 'name = "generic-sata"' in shown[0]["profile"]
    assert shown[0]["transport_s"] > 0
    assert_measured(out)
    assert "EMULATED drives: one = data generic-sata, log generic-nvme" in page_text(
        RunDirectory(out).page
    )
    assert left_by(out) == []
    assert list((place / "images").iterdir()) == []
    assert stithy.drives() == []
    assert stithy.registered() == []


def assert_measured(out: Path) -> None:
    """Each drive has its counters, samples and log; the log's drive got what the log wrote."""
    names = ["backup", "data", "log", "temp"]
    window = RunDirectory(out).window("w-one-u2-b0")
    rows = pl.read_parquet(window.table("drives"))
    assert sorted(set(rows["role"])) == names
    flushes = rows.filter((pl.col("role") == "log") & (pl.col("operation") == "flush"))
    assert flushes["answered"][0] > 10
    assert flushes["latency_p50_s"][0] > 0
    series = pl.read_parquet(window.table("series")).filter(pl.col("collector") == "drive")
    assert {f"{name}:read" for name in names} <= set(series["subject"])
    for name in names:
        assert read_hlog(RunDirectory(out).drives / f"one.{name}.latency.hlog")
    restores = pl.read_parquet(RunDirectory(out).table("restores"))
    assert restores["identical"].all()
