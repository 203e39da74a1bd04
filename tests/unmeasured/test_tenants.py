"""Tenants on real servers beside a real neighbour: one of them is killed."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from stithy.exits import Exit
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.running import Stithy, entries, left_by, manifest, wait_for

pytestmark = [
    pytest.mark.needs_postgresql,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found: install fio"),
]
STUDY = """study: Does it end well?
candidates: {{a: {{path: {place}/a}}}}
scenario: {{noisy-neighbour: {{tenants: 2, rate: [20], size: 16 MiB}}}}
database: {{engine: postgresql, memory: 128 MiB, settings: {{shared_buffers: 16MB}}}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [1], rate: 10/s, ramp_up: 0 s, duration: 3 s, repeat: 1, calibrate: false}}
"""
# Where CPUs are busy a driver may be late: such a window is invalid.
ENDED_WELL = (Exit.OK, Exit.INVALID)
FIRST = "w-a-u1-neighbour0-b0"


def _study(place: Path) -> Path:
    path = place / "s.yaml"
    path.write_text(STUDY.format(place=place))
    return path


def _works(out: Path) -> Callable[[], bool]:
    """Whether the second tenant's users work."""
    said = RunDirectory(out).window(FIRST).of_tenant("tenant-2").hammer_output
    return lambda: said.exists() and '"second"' in said.read_text()


def test_a_run_that_is_killed_while_the_neighbour_lays_out_is_resumed(
    stithy: Stithy, place: Path
) -> None:
    """Its file is written again, and nothing is left."""
    out = place / "out"
    journal = RunDirectory(out).journal
    stithy.kill(
        lambda: journal.exists() and entries(out, "step-started", kind="lay-out-neighbour"),
        "run", _study(place), "--out", out,
    )  # fmt: skip
    resumed = stithy.run("resume", out)
    assert resumed.returncode in ENDED_WELL, resumed.stdout + resumed.stderr
    assert [each["end"] for each in manifest(out)["sessions"]] == ["killed", "finished"]
    assert left_by(out) == []


def test_a_tenant_whose_server_is_killed_is_lost_alone(stithy: Stithy, place: Path) -> None:
    """Its values are missing with the reason, those of the other are there, and so is its end."""
    out = place / "out"
    running = stithy.start("run", _study(place), "--out", out)
    wait_for(_works(out), running)
    server = place / "a" / "data" / "tenant-2" / "postmaster.pid"
    os.kill(int(server.read_text().split()[0]), signal.SIGKILL)
    said, shown = running.communicate(timeout=240)
    assert running.returncode in ENDED_WELL, said + shown
    run = read_run(out)
    of_first = run.values.filter(window_id=FIRST, metric="tenant.tpm")
    rates = {row["of"]: row for row in of_first.to_dicts()}
    assert rates["tenant-1"]["value"] > 0
    assert rates["tenant-2"]["value"] is None
    assert "SIGKILL" in rates["tenant-2"]["missing_because"]
    spans = run.spans.filter(window_id=FIRST)
    assert spans["name"].to_list() == ["tenant-2"]
    others = run.values.filter(metric="tenant.tpm").filter(run.values.filter(
        metric="tenant.tpm")["window_id"] != FIRST)  # fmt: skip
    assert others["value"].null_count() == 0
    assert left_by(out) == []
