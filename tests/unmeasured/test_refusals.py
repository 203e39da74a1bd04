"""What cannot work is said before anything starts: one message, the right code, nothing made."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.running import Stithy, write_study

pytestmark = pytest.mark.needs_postgresql


def occupied(place: Path) -> Path:
    """A directory with a file of the user."""
    (place / "mine").mkdir()
    (place / "mine/photo.jpg").touch()
    return place / "mine"


def a_file(place: Path) -> Path:
    """A file where a directory should be."""
    (place / "file").touch()
    return place / "file"


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a directory in use": (occupied, "it holds 'photo.jpg', not Stithy's"),
    "a missing parent": (lambda place: place / "no/such", "does not exist: make it: mkdir -p"),
    "a file": (a_file, "is not a directory"),
    "the whole machine": (lambda place: Path("/"), "is the root of the machine"),
    "a shared directory": (lambda place: Path("/tmp"), "is shared by all users"),
    "the kernel's files": (lambda place: Path("/proc/stithy"), "0 B are free"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_candidate_that_cannot_be_used_is_refused(stithy: Stithy, place: Path, case: str) -> None:
    """Exit code 3, the reason and the remedy; nothing of the user's is touched, nothing is made."""
    make, reason = REFUSED[case]
    study = write_study(place / "study.yaml", {"a": make(place)})
    before = sorted(path for path in place.rglob("*") if path.name != "state")
    ended = stithy.run("run", study, "--out", place / "out")
    assert ended.returncode == 3, ended.stderr
    assert ended.stderr.startswith("error: candidate a: ")
    assert reason in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stdout == ""
    after = sorted(path for path in place.rglob("*") if path.name != "state")
    assert after == before


def test_settings_that_the_server_refuses_are_refused(stithy: Stithy, place: Path) -> None:
    """Exit code 2 with the server's own words."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, settings={"shred_buffers": "1"})
    ended = stithy.run("run", study, "--out", place / "out")
    assert ended.returncode == 2
    assert 'unrecognized configuration parameter "shred_buffers"' in ended.stderr
    assert not (place / "a").exists()
    assert not (place / "out").exists()


def test_results_are_never_overwritten(stithy: Stithy, place: Path) -> None:
    """A directory that holds anything is refused."""
    (place / "out").mkdir()
    (place / "out/report.html").write_text("last year's")
    study = write_study(place / "study.yaml", {"a": place / "a"})
    ended = stithy.run("run", study, "--out", place / "out")
    assert ended.returncode == 2
    assert "is not an empty directory" in ended.stderr
    assert (place / "out/report.html").read_text() == "last year's"


def test_results_inside_a_candidate_are_refused(stithy: Stithy, place: Path) -> None:
    """They would be measured too."""
    study = write_study(place / "study.yaml", {"a": place / "a"})
    ended = stithy.run("run", study, "--out", place / "a/out")
    assert ended.returncode == 2
    assert "overlap" in ended.stderr


def test_candidates_inside_each_other_are_refused(stithy: Stithy, place: Path) -> None:
    """Also by way of a link."""
    (place / "a").mkdir()
    (place / "link").symlink_to(place / "a")
    study = write_study(place / "study.yaml", {"a": place / "a", "b": place / "link"})
    ended = stithy.run("run", study, "--out", place / "out")
    assert ended.returncode == 3
    assert "the place of candidate" in ended.stderr


def test_a_candidate_without_room_is_refused(stithy: Stithy, place: Path) -> None:
    """By the plan's numbers, before anything is made."""
    study = write_study(place / "study.yaml", {"a": place / "a"})
    text = study.read_text().replace("warehouses: 1", "warehouses: 90000")
    study.write_text(text)
    ended = stithy.run("run", study, "--out", place / "out")
    assert ended.returncode == 3
    assert "may be needed" in ended.stderr
    assert "are free: make room" in ended.stderr
    assert not (place / "a").exists()


@pytest.mark.needs_root
def test_a_place_that_the_servers_user_cannot_enter_is_refused(stithy: Stithy, place: Path) -> None:
    """The directory that is closed is named."""
    (place / "closed").mkdir(mode=0o700)
    study = write_study(place / "study.yaml", {"a": place / "closed/a"})
    ended = stithy.run("run", study, "--out", place / "out")
    assert ended.returncode == 3
    assert f"may not enter {place}/closed: allow it (chmod o+x {place}/closed)" in ended.stderr
