"""`stithy clean` removes what dead runs left, and nothing that is a person's or a live run's."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stithy.exits import Exit
from support.running import Stithy, entries, left_by, manifest, wait_for, window_row, write_study


@contextmanager
def mounted(point: Path) -> Iterator[Path]:
    """A file system in memory that somebody mounted there; unmounted at the end."""
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "theirs", str(point)], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", str(point)], check=True)


@pytest.mark.needs_root
@pytest.mark.needs_postgresql
def test_a_dead_run_is_cleaned_around_all_that_is_not_its_own(stithy: Stithy, place: Path) -> None:
    """A mount of somebody's in its database, links in it, and a run that goes on beside it."""
    dead, live = place / "dead", place / "live"
    study = write_study(place / "dead.yaml", {"a": place / "a"}, users=[1])
    process = stithy.start("run", study, "--out", dead)
    study = write_study(place / "live.yaml", {"b": place / "b"}, users=[1])
    beside = stithy.start("run", study, "--out", live)
    wait_for(lambda: entries(dead, "creating", kind="shared-memory"), process)
    process.kill()
    process.communicate()
    wait_for(lambda: entries(live, "creating", kind="shared-memory"), beside)
    (place / "theirs").mkdir()
    (place / "theirs/precious").touch()
    (place / "a/data/link").symlink_to(place / "theirs")
    with mounted(place / "a/data/mounted") as theirs:
        (theirs / "precious").touch()
        cleaned = stithy.run("clean")
        assert cleaned.returncode == Exit.INFRASTRUCTURE
        assert f"something is mounted inside, at {theirs}" in cleaned.stderr
        assert f"{live}: the run is still active, nothing removed" in cleaned.stdout
        assert (theirs / "precious").exists()
        left = [each.split()[0] for each in left_by(dead)]
        assert set(left) == {"directory", "mark", "tree"}, "its processes and the rest are gone"
    cleaned = stithy.run("clean")
    assert cleaned.returncode == Exit.OK, cleaned.stderr
    assert left_by(dead) == []
    assert not (place / "a").exists()
    assert (place / "theirs/precious").exists()
    _, told = beside.communicate(timeout=300)
    assert beside.returncode == Exit.OK, told
    [window_id] = manifest(live)["plan"]["windows"]
    assert window_row(live, window_id)["complete"]
    assert stithy.registered() == []
