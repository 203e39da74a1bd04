"""Studies on emulated drives, from nothing to a report."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from stithy.results.hlog import read_hlog
from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import Stithy, left_by, manifest, write_study

pytestmark = [pytest.mark.needs_drive, pytest.mark.needs_postgresql]

PLAIN = "{drive: generic-nvme}"


def roles(backing: Path) -> str:
    """A drive for each role, on three kinds of file systems, one of them in a file."""
    return (
        f"{{drive: generic-sata, backing: {backing}, roles: {{"
        "log: {drive: generic-nvme, filesystem: xfs, size: 1 GiB}, "
        "temp: {drive: generic-nvme, scale: 1/8}, "
        "backup: {drive: gp3, filesystem: btrfs}}}"
    )


def test_a_drive_for_each_role_is_measured(stithy: Stithy, place: Path) -> None:
    """Both candidates have valid or explained windows; what was emulated is in the results."""
    (place / "images").mkdir()
    study = write_study(
        place / "s.yaml", {"one": PLAIN, "each": roles(place / "images")}, users=(2,)
    )
    out = place / "out"
    stithy.run_well("run", study, "--out", out)
    shown = {each["name"]: each["drives"] for each in manifest(out)["candidates"]}
    assert [each["role"] for each in shown["each"]] == ["data", "log", "temp", "backup"]
    assert [each["filesystem"] for each in shown["each"]] == ["ext4", "xfs", "ext4", "btrfs"]
    assert shown["each"][2]["scale"] == 8
    assert 'name = "generic-nvme"' in shown["one"][0]["profile"]
    assert shown["one"][0]["transport_s"] > 0
    assert_measured(out, {"one": ["data"], "each": ["backup", "data", "log", "temp"]})
    assert "EMULATED drives: one = generic-nvme" in page_text(RunDirectory(out).page)
    assert left_by(out) == []
    assert list((place / "images").iterdir()) == []
    assert stithy.drives() == []
    assert stithy.registered() == []


def assert_measured(out: Path, drives: Mapping[str, list[str]]) -> None:
    """Each drive has its counters, samples and log; the log's drive got what the log wrote."""
    for candidate, names in drives.items():
        window = RunDirectory(out).window(f"w-{candidate}-u2-b0")
        rows = pl.read_parquet(window.table("drives"))
        assert sorted(set(rows["role"])) == names
        writer = "log" if "log" in names else "data"
        flushes = rows.filter((pl.col("role") == writer) & (pl.col("operation") == "flush"))
        assert flushes["answered"][0] > 10
        assert flushes["latency_p50_s"][0] > 0
        series = pl.read_parquet(window.table("series")).filter(pl.col("collector") == "drive")
        assert {f"{name}:read" for name in names} <= set(series["subject"])
        for name in names:
            assert read_hlog(RunDirectory(out).drives / f"{candidate}.{name}.latency.hlog")
    restores = pl.read_parquet(RunDirectory(out).table("restores"))
    assert restores["identical"].all()
