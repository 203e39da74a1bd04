"""What real runs leave behind: after a kill for the next one to remove, or kept because asked."""

from pathlib import Path

import pytest

from stithy.hosts.processes import pids_inside
from support.running import Stithy, entries, left_by, wait_for, write_study

pytestmark = pytest.mark.needs_postgresql


def test_what_a_killed_run_left_does_not_stop_the_next(stithy: Stithy, place: Path) -> None:
    """The next run cleans up first and uses the same directory."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="1 s")
    process = stithy.start("run", study, "--out", place / "first")
    wait_for(lambda: entries(place / "first", "creating", kind="shared-memory"), process)
    process.kill()
    process.communicate()
    ended = stithy.run("run", study, "--out", place / "second")
    assert ended.returncode == 0, ended.stderr
    assert left_by(place / "first") == []
    assert left_by(place / "second") == []
    assert not (place / "a").exists()


def test_kept_instances_go_on_until_clean(stithy: Stithy, place: Path) -> None:
    """Their URLs hold no password; the file that does is the owner's alone."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="1 s")
    out = place / "out"
    ended = stithy.run("run", study, "--out", out, "--keep")
    assert ended.returncode == 0, ended.stderr
    [line] = [line for line in ended.stdout.splitlines() if "kept running" in line]
    passfile = Path(line.rpartition("passfile=")[2])
    assert passfile.stat().st_mode & 0o077 == 0
    password = passfile.read_text().rpartition(":")[2].strip()
    for path in out.rglob("*"):
        assert not path.is_file() or password.encode() not in path.read_bytes()
    assert pids_inside(place / "a/data", "postgres")
    checked = stithy.run("hammer", "check", line.rpartition("running: ")[2])
    assert checked.returncode == 0, checked.stdout + checked.stderr
    refused = stithy.run("run", study, "--out", place / "second")
    assert refused.returncode == 3
    assert "stithy clean" in refused.stderr
    assert stithy.run("clean").returncode == 0
    assert left_by(out) == []
    assert not (place / "a").exists()
