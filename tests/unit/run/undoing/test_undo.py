"""Each kind of making has its way back, which is idempotent and touches nothing else."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from stithy.drives import places
from stithy.errors import InfrastructureError
from stithy.hosts.processes import Identity
from stithy.run.undoing.register import Making
from stithy.run.undoing.undo import WAYS_BACK, undo
from stithy.storage.marks import Mark, read_mark, write_mark

DEAD = Identity("another boot", 1, 1)


def undone(*makings: Making) -> tuple[list[int], list[str]]:
    """Numbers of what was undone, and reasons of what was not."""
    numbers: list[int] = []
    left = undo("r1", makings, numbers.append, everything=False)
    return numbers, [each.reason for each in left]


def volume(root: Path, run_id: str = "r1") -> Path:
    """A marked directory with a database in it."""
    (root / "data/base").mkdir(parents=True)
    (root / "data/base/1").touch()
    write_mark(root, Mark(run_id, made_directory=True, owner=DEAD))
    return root


def makings(path: Path) -> tuple[Making, ...]:
    """What a provision and a load write down."""
    facts = {"path": str(path), "run_id": "r1"}
    tree = {"volume": str(path), "name": "data", "run_id": "r1"}
    return (
        Making(0, "directory", facts),
        Making(1, "mark", facts),
        Making(2, "tree", tree),
    )


def test_things_are_unmade_in_the_reverse_order_and_again_without_harm(tmp_path: Path) -> None:
    """Twice is as good as once."""
    path = volume(tmp_path / "x")
    assert undone(*makings(path)) == ([2, 1, 0], [])
    assert not path.exists()
    assert undone(*makings(path)) == ([2, 1, 0], [])


def test_another_runs_volume_is_not_touched(tmp_path: Path) -> None:
    """The mark decides, not the register."""
    path = volume(tmp_path / "x", run_id="r2")
    numbers, reasons = undone(*makings(path))
    assert numbers == [2, 1]
    assert reasons == ["Directory not empty"]
    assert (path / "data/base/1").exists()
    assert read_mark(path) is not None


def test_a_scratch_directory_is_removed_only_where_stithy_makes_them(tmp_path: Path) -> None:
    """A register that was tampered with must not remove a home."""
    (tmp_path / "stithy-0000").mkdir()
    undone(Making(0, "scratch", {"path": str(tmp_path / "stithy-0000")}))
    assert (tmp_path / "stithy-0000").exists()


def test_one_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    """Everything that can be removed is removed."""
    (tmp_path / "x").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").touch()
    numbers, reasons = undone(
        Making(0, "directory", {"path": str(tmp_path / "x")}),
        Making(1, "directory", {"path": str(tmp_path / "full")}),
        Making(2, "a kind of a later version", {}),
    )
    assert numbers == [0]
    assert len(reasons) == 2


@pytest.mark.parametrize("kind", WAYS_BACK)
def test_every_way_back_is_harmless_where_nothing_is(kind: str, tmp_path: Path) -> None:
    """A kill between the record and the making leaves just that."""
    none = str(tmp_path / "none")
    facts = {
        "path": none, "run_id": "r1", "volume": none, "name": "data", "data": none,
        "program": "no-such-program", "engine": "postgresql", "device": "/dev/loop99",
        "folder": none,
    }  # fmt: skip
    assert undone(Making(0, kind, facts)) == ([0], [])


def test_a_full_disk_under_the_register_does_not_keep_anything_from_being_removed(
    tmp_path: Path,
) -> None:
    """It is the removing that makes room."""
    made = [tmp_path / "a", tmp_path / "a/b"]
    for path in made:
        path.mkdir()
    makings = [Making(n, "directory", {"path": str(path)}) for n, path in enumerate(made)]

    def refuse(number: int) -> None:
        raise InfrastructureError("full", where="register", remedy="make room")

    assert undo("0123", makings, refuse, everything=False) == []
    assert not made[0].exists()


def test_a_volume_with_a_tree_that_cannot_be_removed_stays_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its mark the next clean finds it again, and then removes it."""
    path = volume(tmp_path / "x")
    refused = [True]

    def refuse(facts: Mapping[str, str]) -> None:
        if refused[0]:
            raise OSError(16, "something is mounted inside")
        undo_tree(facts)

    undo_tree = WAYS_BACK["tree"]
    monkeypatch.setattr("stithy.run.undoing.undo.WAYS_BACK", {**WAYS_BACK, "tree": refuse})
    numbers, reasons = undone(*makings(path))
    assert numbers == []
    assert reasons == ["something is mounted inside", *["data in it is left"] * 2]
    assert read_mark(path) is not None
    refused[0] = False
    assert undone(*makings(path)) == ([2, 1, 0], [])
    assert not path.exists()


def test_a_foreign_process_in_a_servers_directory_is_not_ended(tmp_path: Path) -> None:
    """A server is known by its program as well: a shell that somebody has there is not it."""
    (tmp_path / "data").mkdir()
    shell = subprocess.Popen(["sleep", "60"], cwd=tmp_path / "data")
    try:
        undone(Making(0, "server", {"data": str(tmp_path / "data"), "program": "postgres"}))
        assert shell.poll() is None
    finally:
        shell.kill()
        shell.wait()


def test_a_link_in_the_place_of_a_scratch_directory_is_removed_alone(tmp_path: Path) -> None:
    """What it points to is a person's."""
    (tmp_path / "mine").touch()
    link = Path("/tmp") / f"stithy-test-{tmp_path.name}-{os.getpid()}"
    link.symlink_to(tmp_path)
    try:
        assert undone(Making(0, "scratch", {"path": str(link)})) == ([0], [])
        assert not link.is_symlink()
        assert (tmp_path / "mine").exists()
    finally:
        link.unlink(missing_ok=True)


def test_a_drive_that_has_the_name_of_one_that_is_gone_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a reboot a person's drive may be that device; nothing of the run is mounted from it."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    folder = places.folder_of("mine")
    places.make(folder, places.Entry(None, ("mine",), DEAD, devices=("/dev/loop7",)))
    mended: list[Path] = []
    monkeypatch.setattr("stithy.drives.program.mend", mended.append)
    (tmp_path / "point").mkdir()
    facts = {"path": str(tmp_path / "point"), "device": "/dev/loop7"}
    assert undone(Making(0, "mount", facts)) == ([0], [])
    assert mended == []
