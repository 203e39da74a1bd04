"""Real runs that end before their time, whoever ends them: each can be cleaned, others go on."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import Unprivileged
from stithy.errors import Exit
from stithy.hosts.processes import find_pids_inside
from support.running import (
    PATIENCE_S,
    ROWS,
    Stithy,
    entries,
    hammer_of,
    left_by,
    manifest,
    seconds_measured,
    wait_for,
    window_row,
    write_study,
)
from support.servers import mounted

pytestmark = pytest.mark.needs_postgresql


def _study(place: Path, duration: str = "60 s", users: tuple[int, ...] = (1,)) -> Path:
    candidates = {"a": place / "a"}
    return write_study(place / "s.yaml", candidates, users=users, duration=duration, data=ROWS)


def test_what_is_killed_costs_its_window_and_a_hang_up_the_rest(
    stithy: Stithy, place: Path, hang_up: None
) -> None:
    """A server and a driver are killed: the reason is there, and the run goes on.

    Then it ends with a report, in which the window under way is incomplete; no server stays behind.
    unit/run/test_deciding.py measures such a block once more, and test_block_io_ended.py ends a run
    by Ctrl-C.
    """
    out, windows = place / "out", {users: f"w-a-u{users}-b0" for users in (1, 2, 4)}
    process = stithy.start("run", _study(place, "6 s", tuple(windows)), "--out", out)
    wait_for(lambda: seconds_measured(out, windows[1]) >= 1, process)
    os.kill(int((place / "a/data/postmaster.pid").read_text().split()[0]), signal.SIGKILL)
    wait_for(lambda: seconds_measured(out, windows[2]) >= 1, process)
    os.kill(hammer_of(out), signal.SIGKILL)
    wait_for(lambda: seconds_measured(out, windows[4]) >= 1, process)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stderr.close()
    process.send_signal(signal.SIGHUP)
    assert process.wait(PATIENCE_S) == 130
    assert str(out / "report.html") in process.stdout.read()
    assert (out / "report.html").exists()
    for users, reason in (
        (1, "the server was ended"), (2, "was ended by SIGKILL without a summa"),
        (4, "stopped by a person"),
    ):  # fmt: skip
        row = window_row(out, windows[users])
        assert not row["complete"]
        assert reason in row["missing_because"]
    assert manifest(out)["end"] == "interrupted"
    assert left_by(out, but_master=True) == []
    assert (out / "master-copy/master").is_dir()
    assert stithy.run("clean", out).returncode == Exit.OK
    stithy.assert_nothing_left(out)


def _loads(out: Path) -> object:
    return entries(out, "creating", kind="shared-memory")


@pytest.mark.needs_root
def test_a_dead_run_is_cleaned_alone(stithy: Stithy, place: Path) -> None:
    """A mount of somebody's in its database, links in it, and a run that goes on beside it."""
    dead, live = place / "dead", place / "live"
    study = write_study(place / "live.yaml", {"b": place / "b"}, users=[1], data=ROWS)
    beside = stithy.start("run", study, "--out", live)
    stithy.kill(lambda: _loads(dead), "run", _study(place), "--out", dead)
    wait_for(lambda: _loads(live), beside)
    (place / "theirs").mkdir()
    (place / "theirs/precious").touch()
    (place / "a/data/link").symlink_to(place / "theirs")
    with mounted(place / "a/data/mounted", "1m") as theirs:
        (theirs / "precious").touch()
        cleaned = stithy.run("clean")
        assert cleaned.returncode == Exit.INFRASTRUCTURE
        assert f"something is mounted inside, at {theirs}" in cleaned.stderr
        assert f"{live}: the run is still active, nothing removed" in cleaned.stdout
        assert (theirs / "precious").exists()
        left = {each.split()[0] for each in left_by(dead)}
        assert left == {"directory", "mark", "tree"}, "its processes and the rest are gone"
    cleaned = stithy.run("clean")
    assert cleaned.returncode == Exit.OK, cleaned.stderr
    assert left_by(dead) == []
    assert not (place / "a").exists()
    assert (place / "theirs/precious").exists()
    stithy.finish_well(beside)
    [window_id] = manifest(live)["plan"]["windows"]
    assert window_row(live, window_id)["complete"]
    assert stithy.registered() == []


@pytest.mark.needs_root
def test_a_full_disk_is_named(stithy: Stithy, place: Path) -> None:
    """It is no bug; what a resume uses stays until it is cleaned.

    That of the results is full in unit/run/test_books.py.
    """
    out = place / "out"
    with mounted(place / "a", "640m") as volume:
        study = write_study(place / "s.yaml", {"a": volume / "x"}, users=[4], duration="15 s")
        process = stithy.start("run", study, "--out", out)
        wait_for(lambda: seconds_measured(out, "w-a-u4-b0") >= 1, process)
        # The server writes meanwhile, so what is free cannot be known beforehand.
        with (volume / "filler").open("wb", buffering=0) as filler:
            for piece in (2**16, 512):
                with suppress(OSError):
                    while True:
                        filler.write(bytes(piece))
        _, stderr = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 4, stderr
        assert "candidate a: the file system of " in stderr
        assert "bug" not in stderr
        assert stithy.run("clean", out).returncode == Exit.OK
        stithy.assert_nothing_left(out)
        assert {path.name for path in volume.iterdir()} <= {"filler"}
        assert not window_row(out, "w-a-u4-b0")["complete"]
        assert (out / "report.html").exists()


def test_kept_instances_run_until_clean(stithy: Stithy, place: Path) -> None:
    """Their URLs hold no password; the file that does is the owner's alone."""
    study, out = _study(place, "1 s"), place / "out"
    ended = stithy.run_well("run", study, "--out", out, "--keep")
    [line] = [line for line in ended.stdout.splitlines() if "kept running" in line]
    passfile = Path(line.rpartition("passfile=")[2])
    assert passfile.stat().st_mode & 0o077 == 0
    password = passfile.read_text().rpartition(":")[2].strip()
    for path in out.rglob("*"):
        assert not path.is_file() or password.encode() not in path.read_bytes()
    assert find_pids_inside(place / "a/data", "postgres")
    checked = stithy.run("hammer", "check", line.rpartition(": ")[2])
    assert checked.returncode == 0, checked.stdout + checked.stderr
    refused = stithy.run("run", study, "--out", place / "second")
    assert (refused.returncode, "stithy clean" in refused.stderr) == (3, True)
    assert stithy.run("clean").returncode == 0
    stithy.assert_nothing_left(out)
    assert not (place / "a").exists()


@pytest.mark.needs_unprivileged
def test_a_user_without_rights_gets_a_report(place: Path, unprivileged: Unprivileged) -> None:
    """Every window carries the note that its memory was not limited, where it was not."""
    if os.geteuid() == 0:
        os.chown(place, 65534, 65534)
    out, stithy = place / "out", Stithy(place / "state", prefix=unprivileged.stithy())
    ended = stithy.run_well("run", _study(place, "1 s"), "--out", out)
    assert (out / "report.html").exists()
    row = window_row(out, "w-a-u1-b0")
    assert row["complete"], row["missing_because"]
    if not row["memory_limit_enforced"]:
        assert "was not enforced: " in row["memory_limit_note"]
        assert row["memory_limit_bytes"] is None
        assert "was not enforced" in ended.stderr
    assert manifest(out)["memory"]["enforced"] == row["memory_limit_enforced"]
    stithy.assert_nothing_left(out)
    assert not (place / "a").exists()
