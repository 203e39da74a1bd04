"""Nothing of the user's is ever used or emptied."""

import os
from pathlib import Path

import pytest

from stithy.errors import PreconditionError
from stithy.hosts.processes import Identity, own_identity
from stithy.storage.consent import (
    DATA,
    MASTER,
    Use,
    foreign_entries,
    held_bytes,
    may_empty,
    may_use,
)
from stithy.storage.marks import MARK, Mark, write_mark

DEAD = Identity("another boot", 1, 1)


def refusal(path: Path) -> str:
    """The message with which `path` is refused."""
    with pytest.raises(PreconditionError) as caught:
        may_use(path, "candidate disk")
    return str(caught.value)


def test_a_missing_directory_may_be_made(tmp_path: Path) -> None:
    """Its parent is there and writable."""
    assert may_use(tmp_path / "new", "candidate disk") is Use.MISSING


def test_an_empty_directory_may_be_used(tmp_path: Path) -> None:
    """Nothing in it can be lost."""
    assert may_use(tmp_path, "candidate disk") is Use.EMPTY


def test_a_directory_left_by_a_dead_run_may_be_used_again(tmp_path: Path) -> None:
    """The mark says whose it was, and that process is gone."""
    write_mark(tmp_path, Mark("r1", made_directory=True, owner=DEAD))
    (tmp_path / "data").mkdir()
    assert may_use(tmp_path, "candidate disk") is Use.OURS


def test_only_what_lies_in_our_own_directories_is_counted_as_held(tmp_path: Path) -> None:
    """Without the mark nothing is ours, and a file beside them never is."""
    for name in (DATA, MASTER, "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows").write_bytes(b"x" * 40_000)
    assert held_bytes(tmp_path) == 0
    write_mark(tmp_path, Mark("r1", made_directory=True, owner=DEAD))
    files = [tmp_path / name / "rows" for name in (DATA, MASTER)]
    assert held_bytes(tmp_path) == sum(each.stat().st_blocks * 512 for each in files) > 0


def test_a_missing_parent_is_an_error_with_the_command_that_mends_it(tmp_path: Path) -> None:
    """Only one level is ever made."""
    assert refusal(tmp_path / "a/b") == (
        f"candidate disk: {tmp_path}/a does not exist: make it: mkdir -p {tmp_path}/a"
    )


def test_a_directory_with_files_of_the_user_is_refused(tmp_path: Path) -> None:
    """One of the files is named."""
    (tmp_path / "thesis.tex").touch()
    assert "it holds 'thesis.tex', not Stithy's" in refusal(tmp_path)
    write_mark(tmp_path, Mark("r1", made_directory=False, owner=DEAD))
    assert "it holds 'thesis.tex', not Stithy's" in refusal(tmp_path)


def test_a_directory_that_only_looks_like_ours_is_refused(tmp_path: Path) -> None:
    """A name such as `data` proves nothing without the mark."""
    (tmp_path / "data").mkdir()
    assert "it holds 'data', without Stithy's mark" in refusal(tmp_path)


def test_a_mark_that_cannot_be_read_is_no_mark(tmp_path: Path) -> None:
    """Whatever wrote it, it gives no consent."""
    (tmp_path / MARK).write_text('{"stithy_mark": 1, "run_id"')
    assert "without Stithy's mark" in refusal(tmp_path)
    assert not may_empty(tmp_path, "r1")


def test_a_directory_of_a_living_run_is_refused(tmp_path: Path) -> None:
    """So is one that was kept."""
    write_mark(tmp_path, Mark("r1", made_directory=False, owner=own_identity()))
    assert "is in use by run r1" in refusal(tmp_path)
    write_mark(tmp_path, Mark("r1", made_directory=False, owner=None))
    assert "stithy clean" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/", "is the root of the machine"),
        ("/tmp", "is shared by all users"),
        ("/etc/passwd", "is not a directory"),
        ("relative/path", "is a relative path"),
        ("/etc/passwd/below", "/etc/passwd is not a directory: name another directory"),
        ("/proc", "it holds"),
    ],
)
def test_places_that_are_never_right_are_refused(path: str, reason: str) -> None:
    """Each with its own reason."""
    assert reason in refusal(Path(path))


def test_a_link_to_nothing_is_refused(tmp_path: Path) -> None:
    """Making its target would surprise."""
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert "points to nothing" in refusal(tmp_path / "link")


def test_a_link_to_an_empty_directory_may_be_used(tmp_path: Path) -> None:
    """Links to storage are common."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert may_use(tmp_path / "link", "candidate disk") is Use.EMPTY


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_is_not_writable_is_refused(tmp_path: Path) -> None:
    """Before anything starts."""
    tmp_path.chmod(0o555)
    assert "is not writable for this user" in refusal(tmp_path)


def test_only_the_run_on_the_mark_may_empty_a_directory(tmp_path: Path) -> None:
    """Another run's directory is not ours to empty."""
    write_mark(tmp_path, Mark("r1", made_directory=False, owner=DEAD))
    assert may_empty(tmp_path, "r1")
    assert not may_empty(tmp_path, "r2")


def test_lost_and_found_counts_as_empty_only_at_a_mount_point(tmp_path: Path) -> None:
    """In a plain directory it is the user's."""
    (tmp_path / "lost+found").mkdir()
    assert foreign_entries(tmp_path) == ["lost+found"]


def test_a_link_that_took_the_place_of_a_directory_is_not_emptied(tmp_path: Path) -> None:
    """Even where what it points to bears the run's mark: it is a copy that somebody made."""
    write_mark(tmp_path, Mark("r1", made_directory=True, owner=None))
    (tmp_path / "link").symlink_to(tmp_path)
    assert may_empty(tmp_path, "r1")
    assert not may_empty(tmp_path / "link", "r1")
