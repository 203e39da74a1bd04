"""What of a dead session stays, and what is proven of it; unmeasured tests resume runs upon it."""

from pathlib import Path

import pytest

from stithy.run.context import KEEPER
from stithy.run.resuming.survivors import Survivors, proven, spared
from stithy.run.undoing.register import Making
from stithy.storage.copy import contents_of

SURVIVORS = Survivors(
    {KEEPER: frozenset({"master"}), "b": frozenset({"data"})}, Path("/out/master-copy/master")
)


def making(kind: str, candidate: str, **facts: str) -> Making:
    """A thing that an earlier session made."""
    return Making(0, kind, {"candidate": candidate, **facts})


@pytest.mark.parametrize(
    ("made", "stays"),
    [
        (making("tree", KEEPER, name="master"), True),
        (making("tree", "a", name="data"), False),
        (making("tree", "b", name="data"), True),
        (making("tree", "c", name="data"), False),
        (making("directory", KEEPER, path="/out/master-copy"), True),
        (making("mark", "b", path="/b"), True),
        (making("mark", "c", path="/c"), False),
        (making("server", "a", data="/a/data"), False),
        (Making(0, "scratch", {"path": "/tmp/stithy-0"}), False),
    ],
)
def test_only_what_a_surviving_directory_needs_stays(made: Making, stays: bool) -> None:
    """Servers, sockets and groups always go."""
    assert SURVIVORS.spare(made) == stays
    assert spared([made], SURVIVORS) == (() if stays else (made,))


def test_without_its_master_copy_nothing_of_it_stays() -> None:
    """What last windows left stays known."""
    without = SURVIVORS.without_master()
    assert without.master is None
    assert without.databases == {"b"}
    assert sorted(without.recorded) == [("b", "data")]
    assert sorted(SURVIVORS.recorded) == [("b", "data"), (KEEPER, "master")]


def test_contents_are_proven_by_their_hash(tmp_path: Path) -> None:
    """Or the reason says what is not as it was."""
    (tmp_path / "rows").write_text("one")
    made = contents_of(tmp_path)
    assert proven(tmp_path, made.sha256) == (made, None)
    (tmp_path / "rows").write_text("two")
    assert proven(tmp_path, made.sha256)[0] is None
    (tmp_path / "link").symlink_to("rows")
    contents, because = proven(tmp_path, made.sha256)
    assert contents is None
    assert "cannot be read" in (because or "")
