"""Programs of file systems: which are asked, and how their refusals are told.

tests/real/drives makes real ones, and cuts the power of the machine that has them mounted.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from fakes.clock import HurriedClock
from stithy.drives import filesystems
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.hosts.runner import Command, Finished, Running


class _Telling:
    """Each program ends with this code and these words; the command lines are kept."""

    def __init__(self, code: int = 0, stderr: str = "", stdout: str = "") -> None:
        self.asked: list[Sequence[str]] = []
        self._finished = Finished(code, stdout, stderr)

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        self.asked.append(command.argv)
        return self._finished

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        raise NotImplementedError


def test_programs_of_file_systems_are_asked_and_their_refusals_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words are handed over one by one; an empty device is no unreadable one."""
    for name in ("mkfs.xfs", "xfs_repair", "e2fsck", "mount", "umount", "blkid"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    good, told = _Telling(), _Telling(1, "mkfs: reading\n  too small.\n\n")
    filesystems.mount("/dev/loop9", Path("/a b"), "xfs", options=["noatime"], runner=good)
    assert good.asked[0][1:] == ["-t", "xfs", "-o", "noatime", "--", "/dev/loop9", "/a b"]
    checked = [filesystems.check("/dev/loop9", "xfs", runner=each).clean for each in (good, told)]
    assert checked == [True, False]
    found = [
        filesystems.kind_on("/dev/loop9", runner=_Telling(*how)) for how in ((0, "", "xfs\n"), (2,))
    ]
    assert found == ["xfs", None]
    with pytest.raises(PreconditionError, match=r"mkfs\.ext4 was not found: apt-get install e2fs"):
        filesystems.need_tools("ext4")
    with pytest.raises(UserError, match="'ext5' is not a file system.*give one of ext4, xfs, btr"):
        filesystems.make("/dev/loop9", "ext5")
    with pytest.raises(
        InfrastructureError, match="/dev/loop9: xfs could not be created: too small: "
    ):
        filesystems.make("/dev/loop9", "xfs", runner=told)
    with pytest.raises(InfrastructureError, match="could not be mounted: it ended with code 32"):
        filesystems.mount("/dev/loop9", Path("/mnt"), "xfs", runner=_Telling(32))
    with pytest.raises(InfrastructureError, match="cannot be identified: blkid: input/output err"):
        filesystems.kind_on("/dev/loop9", runner=_Telling(8, "blkid: input/output error\n"))
    busy = _Telling(32, "umount: target is busy.\n")
    for path, device in (
        (tmp_path, None),
        (tmp_path / "none", "/dev/loop9"),
        (Path("/proc"), "/dev/loop9"),
    ):
        filesystems.unmount(path, device=device, runner=busy)
    assert busy.asked == [], "nothing is mounted there, or another device that a person mounted"
    with pytest.raises(PreconditionError, match="could not be unmounted: umount: target is busy"):
        filesystems.unmount(Path("/proc"), runner=busy, clock=HurriedClock())
