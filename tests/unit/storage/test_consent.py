"""What may be used, emptied or erased, and everything that may not."""

import shutil
from pathlib import Path

import pytest

from fakes.fio import FioRunner
from stithy.errors import PreconditionError
from stithy.hosts.processes import ProcessIdentity, read_identity
from stithy.hosts.runner import Command, Finished
from stithy.storage import consent
from stithy.storage.consent import MARK, DirectoryMark, Use, may_empty, write_mark

DEAD = DirectoryMark("r1", made_directory=True, owner=ProcessIdentity("another boot", 1, 1))
LIVE = DirectoryMark("r1", made_directory=False, owner=read_identity(1))
KEPT = DirectoryMark("r1", made_directory=False, owner=None)


def test_a_directory_may_be_used_where_nothing_can_be_lost(tmp_path: Path) -> None:
    """Otherwise it is refused with the reason; tests/unmeasured has more places."""
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    (tmp_path / "link").symlink_to(tmp_path / "here")
    for name, mark, inside, expected in (
        ("new", None, None, Use.MISSING),
        ("here", None, None, Use.EMPTY),
        ("link", None, None, Use.EMPTY),
        ("here", DEAD, "data", Use.OURS),
        ("here", DEAD, "thesis.tex", "it holds 'thesis.tex', not Stithy's"),
        ("here", LIVE, None, "is in use by run r1"),
        ("here", KEPT, None, "stithy clean"),
        ("here", None, "data", "it holds 'data', without Stithy's mark"),
        ("here", '{"stithy_mark": 1, "run_id"', None, "without Stithy's mark"),
        ("dangling", None, None, "points to nothing"),
    ):
        path = tmp_path / "here"
        path.mkdir()
        if isinstance(mark, DirectoryMark):
            write_mark(path, mark)
        elif mark:
            (path / MARK).write_text(mark)
            assert not may_empty(path, "r1")
        if inside:
            (path / inside).mkdir()
        if isinstance(expected, Use):
            assert consent.may_use(tmp_path / name, "candidate disk") is expected, name
        else:
            with pytest.raises(PreconditionError, match=expected):
                consent.may_use(tmp_path / name, "candidate disk")
        shutil.rmtree(path)


def test_only_the_run_on_the_mark_may_empty_a_directory(tmp_path: Path) -> None:
    """Not a link that took its place; what is counted as held lies in our own directories."""
    for name in (consent.DATA, consent.MASTER, "notes", "lost+found"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows").write_bytes(b"x" * 40_000)
    assert consent.count_held_bytes(tmp_path) == 0
    write_mark(tmp_path, DEAD)
    (tmp_path / "link").symlink_to(tmp_path)
    assert (may_empty(tmp_path, "r1"), may_empty(tmp_path, "r2")) == (True, False)
    assert not may_empty(tmp_path / "link", "r1")
    files = [tmp_path / name / "rows" for name in (consent.DATA, consent.MASTER)]
    assert (
        consent.count_held_bytes(tmp_path) == sum(file.stat().st_blocks * 512 for file in files) > 0
    )
    assert "lost+found" in consent.list_foreign_entries(tmp_path), (
        "it is ours only at a mount point"
    )


class _Wipefs(FioRunner):
    found = ""

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        assert "--no-act" in command.argv
        return Finished(0, self.found, "")


def _erase(root: Path, named: str = "wwn-0x5000", found: str = "") -> None:
    runner = _Wipefs()
    runner.found = found
    by_id, proc, sys = root / "by-id", root / "proc", root / "sys"
    consent.may_erase(root / "sdq", named, runner, by_id=by_id, proc=proc, sys=sys)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """An empty device `sdq` that nothing uses, as /sys, /proc and udev would show it."""
    root = tmp_path.resolve()
    place = root / "sys/class/block/sdq"
    for folder in (root / "by-id", root / "proc/self", place / "holders"):
        folder.mkdir(parents=True)
    (root / "sdq").touch()
    for name, device in (("wwn-0x5000", "sdq"), ("wwn-other", "other")):
        (root / "by-id" / name).symlink_to(root / device)
    (place / "serial").write_text("S1234\n")
    (place / "dev").write_text("65:0\n")
    (root / "proc/swaps").write_text("Filename Type\n")
    (root / "proc/self/mountinfo").write_text("20 1 8:0 / / rw - ext4 /dev/sda rw\n")
    return root


def test_an_empty_device_named_by_a_stable_id_may_be_erased(machine: Path) -> None:
    """A name that may move, or the id of another device, is no consent; right ones are shown."""
    for named in ("wwn-0x5000", "S1234"):
        _erase(machine, named)
    for named in ("sdq", "/dev/sdq", "wwn-other", "", "yes"):
        with pytest.raises(PreconditionError, match=r"not name this device.*wwn-0x5000, S1234"):
            _erase(machine, named)


@pytest.mark.parametrize(("file", "line", "shown"), [
    ("proc/swaps", "Filename Type\n{0}/sdq partition", "it is swap space"),
    ("sys/class/block/sdq/holders/md0", "", "it is used by md0"),
    ("proc/self/mountinfo", "20 1 65:0 / /x rw - xfs /dev/sdq rw", "it is mounted at /x"),
    ("sys/class/block/sdq/sdq1/partition", "1", "it has partitions: sdq1"),
    ("", "", "something on it: ext4"),
    ("sdq", "", "it cannot be had alone: no such file"),
])  # fmt: skip
def test_what_is_on_a_device_protects_it(machine: Path, file: str, line: str, shown: str) -> None:
    """A file system, a partition, a mount, swap, an array, whatever the kernel knows."""
    if file == "sdq":
        (machine / file).unlink()
    elif file:
        (machine / file).parent.mkdir(exist_ok=True)
        (machine / file).write_text(f"{line.format(machine)}\n")
    with pytest.raises(PreconditionError, match=shown):
        _erase(machine, found="" if file else "ext4\n")
