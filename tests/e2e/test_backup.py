"""A real database, backed up while users work, restored, and proven equal; runs are killed."""

from pathlib import Path

import pytest

from stithy.activities.hammer.judge import COMMITS
from stithy.drives.control import Control
from stithy.drives.program import CONTROL
from stithy.hosts.processes import find_pids_of_run
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.wire.drive.jobs import Gone
from support.html_page import page_text
from support.running import Stithy, entries, left_by, manifest, wait_for, write_study
from support.scenarios import PROVEN

pytestmark = pytest.mark.needs_postgresql


def study(place: Path, scenario: str = "{}", workload: str = "") -> Path:
    """Two users at a rate, on one candidate, with and without backups."""
    return write_study(
        place / "study.yaml", {"a": place / "a"}, users=[2], workload=workload,
        load={"rate": "40/s", "arrivals": "constant", "ledger": "true"},
        scenario=f"{{backup: {scenario}}}",
    )  # fmt: skip


def test_a_run_killed_in_its_proof_resumes(stithy: Stithy, place: Path) -> None:
    """The proof is made again; its windows' backups are restored, and nobody else's commits.

    Its users are an open loop in HammerDB's profile, which it says everywhere.
    """
    out = place / "run"
    journal = RunDirectory(out).journal
    stithy.kill(
        lambda: journal.exists() and entries(out, "step-started", kind="prove-backup"),
        "run", study(place, workload="profile: hammerdb"), "--out", out,
    )  # fmt: skip
    resumed = stithy.run("resume", out)
    assert "10 tables are equal after backup and restore" in resumed.stdout + resumed.stderr
    windows = make_context(read_run(out)).evidence.windows
    outcomes = {span["outcome"] for window in windows for span in window.spans}
    assert {"done", PROVEN} <= outcomes
    assert COMMITS not in {reason.flag for window in windows for reason in window.reasons}
    assert left_by(out) == []
    for row in (window.row for window in windows):
        assert (row["pace"], row["rate_per_s"]) == ("rate", 40.0)
        assert "profile=hammerdb" in row["options"]
        assert (row["suppressed_arrivals"], row["backlog"] is None) == (None, False)
        assert row["transactions"] + row["backlog"] == pytest.approx(80, abs=20)
    page = page_text(RunDirectory(out).page)
    assert "<title>PROFILE HAMMERDB" in page
    assert "Open loop, 40/s at constant intervals" in page
    load = manifest(out)["load"]
    assert (load["rate_per_s"], load["arrivals"]) == (40.0, "constant")


@pytest.mark.long
@pytest.mark.needs_pgbackrest
def test_a_run_killed_preparing_a_repository_resumes(stithy: Stithy, place: Path) -> None:
    """The window is begun anew, with its database and repository; in between nothing is left.

    Long: a whole run, begun twice.
    """
    out = place / "run"
    journal = RunDirectory(out).journal
    stithy.kill(
        lambda: journal.exists() and entries(out, "step-started", kind="prepare-backup"),
        "run", study(place, "{method: pgbackrest, kind: incremental}"), "--out", out,
    )  # fmt: skip
    stithy.run("clean")
    assert left_by(out) == []
    resumed = stithy.run("resume", out)
    assert "10 tables are equal after backup and restore" in resumed.stdout + resumed.stderr
    assert left_by(out) == []


@pytest.mark.long
@pytest.mark.needs_root
@pytest.mark.needs_drive
def test_a_lost_backup_drive_costs_cycles(stithy: Stithy, place: Path) -> None:
    """From the middle of a backup on every request to it fails: no backup of the window succeeds.

    Long: a whole run on a drive.
    """
    out = place / "run"
    path = study(place, "{cycles: 2, bandwidth: 32 MiB}")
    own = f"{{path: {place}/a, roles: {{backup: {{drive: generic-nvme}}}}}}"
    path.write_text(path.read_text().replace(f"{{path: {place}/a}}", own))
    running = stithy.start("run", path, "--out", out)
    wait_for(lambda: RunDirectory(out).journal.exists() and _backs_up(out), running)
    for folder in stithy.drives():
        Control(folder / CONTROL).set_fault("backup", Gone())
    said = running.communicate(timeout=240)
    run = read_run(out)
    [window] = [each for each in make_context(run).evidence.windows if "on" in each.id]
    assert window.measured, said
    assert window.value("tpm")
    assert {row["outcome"] for row in window.spans} == {"failed"}, window.spans
    [took] = run.values.filter(window_id=window.id, metric="backup.duration_s").to_dicts()
    assert took["missing_because"] == "no backup of the window succeeded"
    assert left_by(out) == []


def _backs_up(out: Path) -> bool:
    """Whether a backup of this run is under way."""
    [first] = entries(out, "run-started")
    names = (Path(f"/proc/{pid}/comm") for pid in find_pids_of_run(first.facts["run_id"]))
    return any(name.read_text().startswith("pg_basebackup") for name in names if name.exists())
