"""File systems: which programs are asked, and how their refusals are told."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from fakes.clock import HurriedClock
from stithy.drives import filesystems
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts.runner import Command, Finished, Running


class TellingRunner:
    """Each program ends with this code and these words; the command lines are kept."""

    def __init__(self, code: int = 0, stderr: str = "", stdout: str = "") -> None:
        self.asked: list[Sequence[str]] = []
        self._finished = Finished(code, stdout, stderr)

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """It has ended already."""
        self.asked.append(command.argv)
        return self._finished

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """Nothing goes on here."""
        raise NotImplementedError


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs of all names, the only one that is searched."""
    for kind in filesystems.KINDS.values():
        for name in (kind.make[0], kind.check[0], "mount", "umount", "blkid"):
            (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", filesystems.KINDS)
def test_each_kind_is_made_mounted_and_checked_by_its_programs(kind: str, tools: Path) -> None:
    """Words are handed over one by one, never as a shell's line."""
    runner = TellingRunner()
    filesystems.make("/dev/loop9", kind, runner=runner)
    filesystems.mount("/dev/loop9", Path("/a b"), kind, options=["noatime"], runner=runner)
    assert filesystems.check("/dev/loop9", kind, runner=runner).clean
    made, mounted, checked = runner.asked
    assert (made[0], made[-1]) == (str(tools / f"mkfs.{kind}"), "/dev/loop9")
    assert mounted[1:] == ["-t", kind, "-o", "noatime", "--", "/dev/loop9", "/a b"]
    assert checked[-1] == "/dev/loop9"


def test_an_unknown_kind_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(UserError, match="'ext5' is not a file system.*give one of ext4, xfs, btr"):
        filesystems.make("/dev/loop9", "ext5")


def test_a_missing_program_is_told_with_its_package(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is made."""
    (tools / "mkfs.xfs").unlink()
    with pytest.raises(PreconditionError, match=r"mkfs\.xfs was not found: apt-get install xfs"):
        filesystems.need_tools("xfs")
    filesystems.need_tools("ext4")


def test_what_a_program_refuses_is_quoted(tools: Path) -> None:
    """Its last line; the code where it says nothing."""
    told = TellingRunner(1, "mkfs: reading\n  too small.\n\n")
    with pytest.raises(InfrastructureError, match="/dev/loop9: no xfs could be made: too small: "):
        filesystems.make("/dev/loop9", "xfs", runner=told)
    with pytest.raises(InfrastructureError, match="could not be mounted: it ended with code 32"):
        filesystems.mount("/dev/loop9", Path("/mnt"), "xfs", runner=TellingRunner(32))
    assert not filesystems.check("/dev/loop9", "ext4", runner=told).clean


def test_what_lies_on_a_device_is_told(tools: Path) -> None:
    """An empty one has nothing; one that cannot be read is no empty one."""
    assert filesystems.kind_on("/dev/loop9", runner=TellingRunner(stdout="xfs\n")) == "xfs"
    assert filesystems.kind_on("/dev/loop9", runner=TellingRunner(2)) is None
    with pytest.raises(
        InfrastructureError, match="cannot be identified: blkid: input/output error"
    ):
        filesystems.kind_on("/dev/loop9", runner=TellingRunner(8, "blkid: input/output error\n"))


def test_nothing_mounted_is_nothing_to_unmount(tmp_path: Path) -> None:
    """Also where the folder is not there."""
    runner = TellingRunner()
    filesystems.unmount(tmp_path, runner=runner)
    filesystems.unmount(tmp_path / "none", device="/dev/loop9", runner=runner)
    assert runner.asked == []


def test_what_is_mounted_of_another_device_stays() -> None:
    """A person may have mounted something else there since."""
    runner = TellingRunner()
    filesystems.unmount(Path("/proc"), device="/dev/loop9", runner=runner)
    assert runner.asked == []


def test_what_is_busy_is_told_after_a_while(tools: Path) -> None:
    """A server may need a moment to end."""
    runner = TellingRunner(32, "umount: target is busy.\n")
    with pytest.raises(PreconditionError, match="could not be unmounted: umount: target is busy"):
        filesystems.unmount(Path("/proc"), runner=runner, clock=HurriedClock())
    assert runner.asked


def test_a_file_system_without_a_shutdown_is_told() -> None:
    """The kernel's own pretend ones have none."""
    with pytest.raises(PreconditionError, match="cannot be shut down"):
        filesystems.shut_down(Path("/proc"))
