"""Tenants on real servers beside a real neighbour: one of them is killed."""

import os
import shutil
import signal
from collections.abc import Callable
from itertools import product
from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.series import sample_run
from stithy.analysis.surroundings import read_watched
from stithy.drives.program import find
from stithy.results.files import Run, read_run
from stithy.results.layout import RunDirectory
from stithy.results.tables import UNANSWERED
from support.running import Stithy, entries, left_by, manifest, wait_for

pytestmark = [
    pytest.mark.needs_postgresql,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found: install fio"),
]
STUDY = """study: Does it end well?
candidates: {{a: {storage}}}
scenario: {{noisy-neighbour: {{tenants: {tenants}, {keys}}}}}
database: {{engine: postgresql, memory: 128 MiB, settings: {{shared_buffers: 16MB}}}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [1], rate: 10/s, ramp_up: 0 s, duration: {duration}, repeat: 1, calibrate: false}}
"""
OF_FIO = "rate: [20], size: 16 MiB"
FIRST = "w-a-u1-neighbour0-b0"


def _study(
    place: Path, keys: str = OF_FIO, *, tenants: int = 2, duration: str = "4 s", roles: str = ""
) -> Path:
    path, storage = place / "s.yaml", f"{{path: {place}/a{roles}}}"
    text = STUDY.format(storage=storage, tenants=tenants, keys=keys, duration=duration)
    path.write_text(text)
    return path


def _works(out: Path, window: str) -> Callable[[], bool]:
    """Whether the second tenant's users work in that window."""
    output = RunDirectory(out).window(window).of_instance("tenant-2").hammer_output
    return lambda: output.exists() and '"second"' in output.read_text()


def test_a_killed_tenant_is_lost_alone(stithy: Stithy, place: Path) -> None:
    """Its values are missing with the reason, those of the other are there, and so is its end.

    It is killed in a run that was itself killed in its layout: the file is written again.
    """
    out = place / "out"
    journal = RunDirectory(out).journal
    stithy.kill(
        lambda: journal.exists() and entries(out, "step-started", kind="lay-out-neighbour"),
        "run", _study(place), "--out", out,
    )  # fmt: skip
    running = stithy.start("resume", out)
    wait_for(_works(out, FIRST), running)
    server = place / "a" / "data" / "tenant-2" / "postmaster.pid"
    os.kill(int(server.read_text().split()[0]), signal.SIGKILL)
    stithy.finish_well(running)
    assert [each["end"] for each in manifest(out)["sessions"]] == ["killed", "finished"]
    run = read_run(out)
    of_first = run.values.filter(window_id=FIRST, metric="tenant.tpm")
    rates = {row["of"]: row for row in of_first.to_dicts()}
    assert rates["tenant-1"]["value"] > 0
    assert rates["tenant-2"]["value"] is None
    assert "SIGKILL" in rates["tenant-2"]["missing_because"]
    spans = run.spans.filter(window_id=FIRST)
    assert spans["name"].to_list() == ["tenant-2"]
    _each_server_was_sampled_by_itself(run)
    others = run.values.filter(metric="tenant.tpm").filter(run.values.filter(
        metric="tenant.tpm")["window_id"] != FIRST)  # fmt: skip
    assert others["value"].null_count() == 0
    assert left_by(out) == []


def _each_server_was_sampled_by_itself(run: Run) -> None:
    """To the end of each, or with the reason why not; none of its rows is the whole window's."""
    of_servers = run.series.filter(pl.col("collector").is_in(["database", "server"]))
    keys = ("window_id", "collector", "instance")
    assert set(of_servers.select(keys).unique().iter_rows()) == set(
        product(run.window["window_id"], ("database", "server"), ("tenant-1", "tenant-2"))
    )
    commits = of_servers.filter(metric="commits_per_s").sort("at_s")
    silent = commits.filter(pl.col("value").is_null())
    [lost] = silent.select("window_id", "instance", "missing_because").rows()
    assert lost[:2] == (FIRST, "tenant-2")
    assert lost[2].startswith(UNANSWERED)
    first = commits.filter(window_id=FIRST, instance="tenant-1")
    assert first["at_s"].max() > silent["at_s"][0], "the other's server was sampled on"
    kept = sample_run(run.samples.parts(), run.window, {})
    assert not kept.means["collector"].is_in(["database", "server", "cgroup"]).any()
    assert kept.checkpoints.is_empty()
    assert read_watched(kept, run.window)[FIRST].unanswered == ("database of tenant-2",)


BESIDE = "w-a-u1-neighbour1-b0"


@pytest.mark.parametrize("keys", [
    "aggressor: bulk-load",
    pytest.param("aggressor: analytic-scan", marks=pytest.mark.long),
])  # fmt: skip
def test_neighbours_load_or_scan(stithy: Stithy, place: Path, keys: str) -> None:
    """Its rate is known, its tenants have theirs, and nothing is left of it."""
    out = place / "out"
    stithy.run_well("run", _study(place, keys), "--out", out)
    values = {(row["metric"], row["of"]): row for row in read_run(out).values.filter(
        window_id=BESIDE).to_dicts()}  # fmt: skip
    assert values["neighbour.achieved_per_s", "all"]["value"] > 0, values
    assert values["neighbour.bytes_per_s", "all"]["value"] > 0
    assert values["neighbour.asked_per_s", "all"]["value"] is None
    assert values["tenant.tpm", "tenant-2"]["value"] > 0
    assert left_by(out) == []
    assert not (place / "a/beside-database").exists()


@pytest.mark.long
@pytest.mark.needs_pgbackrest
def test_a_neighbour_makes_incremental_backups(stithy: Stithy, place: Path) -> None:
    """The full one is made before the users begin. Long: each file of a restore is synced."""
    out = place / "out"
    keys = "aggressor: backup, method: pgbackrest, kind: incremental, every: 0 s"
    stithy.run_well("run", _study(place, keys, duration="20 s"), "--out", out)
    spans = read_run(out).spans.filter(window_id=BESIDE).to_dicts()
    parts = {row["name"]: row for row in spans}
    assert parts["neighbour 1: restore"]["outcome"] == "done", spans
    assert not any(row["invalid_because"] for row in spans)
    [tool] = manifest(out)["database"]["backups"].values()
    assert tool.startswith("pgbackrest ")
    assert left_by(out) == []


@pytest.mark.long
@pytest.mark.needs_root
@pytest.mark.needs_drive
def test_a_lost_neighbour_drive_costs_its_window(stithy: Stithy, place: Path) -> None:
    """Its program is killed in mid-window: the neighbour failed, the tenants have their values."""
    out, beside = place / "out", "w-a-u1-neighbour20-b0"
    roles = ", roles: {backup: {drive: generic-nvme}}"
    study = _study(place, f"{OF_FIO}, volume: backup", roles=roles)
    running = stithy.start("run", study, "--out", out)
    wait_for(_works(out, beside), running)
    for folder in stithy.drives():
        drive = find(folder)
        assert drive is not None
        os.kill(drive.pid, signal.SIGKILL)
    text, shown = running.communicate(timeout=240)
    run = read_run(out)
    rows = {row["window_id"]: row for row in run.window.to_dicts()}
    assert "the neighbour failed" in rows[beside]["missing_because"], text + shown
    assert run.values.filter(window_id=beside, metric="tenant.tpm")["value"].null_count() == 0
    assert all(row["complete"] for name, row in rows.items() if "neighbour0" in name)
    stithy.run("clean", out)  # a run that stops keeps what its resume would use
    assert left_by(out) == []
