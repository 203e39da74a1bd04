"""Arrays of LVM as it is asked for them. Where the kernel has it, tests/real/test_layers.py."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.program import EndingRunner
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command, Finished
from stithy.storage.layers import lvm

GIB = 2**30


def test_mirrors_without_checksums_are_not_synchronised() -> None:
    """The others are: parity and checksums have to be right."""
    words = {
        (level, checksum): lvm.LvmKeys(level=level, checksum=checksum).list_create_words(
            "g", "array", 12, 4
        )
        for level in ("raid10", "raid5")
        for checksum in (False, True)
    }
    assert [key for key, each in words.items() if "--nosync" in each] == [("raid10", False)]
    assert " ".join(words["raid10", True]) == (
        "lvcreate --yes --name array --extents 12 --type raid10 --mirrors 1 --stripes 2 "
        "--stripesize 64k --raidintegrity y g"
    )
    assert {"--stripes", "3"} <= {*words["raid5", False]}
    spec = lvm.LvmKeys(level="raid0", chunk="256 KiB")
    assert "256k" in spec.list_create_words("g", "array", 12, 2)


class Answering(EndingRunner):
    """LVM and dmsetup: each command, by its name, ends as it is told."""

    def __init__(self, **answers: Callable[[str], Finished]) -> None:
        super().__init__()
        self._answers = answers

    def run(self, command: Command, *, timeout_s: float = 600.0, stdin: str = "") -> Finished:
        """By the first word after the program; its last word is what it is about."""
        super().run(command)
        answer = self._answers.get(command.argv[1])
        return answer(command.argv[-1]) if answer else Finished(0, "", "")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with LVM."""
    for name in ("lvm", "dmsetup"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def _volumes(blocks: Path, *names: str) -> Path:
    for number, name in enumerate(names):
        (blocks / f"dm-{number}/dm").mkdir(parents=True)
        (blocks / f"dm-{number}/dm/name").write_text(f"{name}\n")
    return blocks


def test_volumes_of_devices_that_fail_are_taken_from_the_kernel(programs: Path) -> None:
    """LVM knows nothing of them any more; those of others are not touched."""
    below, above, other = "stithy_12345678-array_rimage_0", "stithy_12345678-array", "vg-root"
    blocks = _volumes(programs / "block", below, above, other)

    def removed(name: str) -> Finished:
        there = {path.read_text().strip(): path for path in blocks.glob("*/dm/name")}
        if name == below and above in there:
            return Finished(1, "", "Device or resource busy")
        there[name].unlink()
        return Finished(0, "", "")

    runner = Answering(vgs=lambda _: Finished(5, "", "not found"), remove=removed)
    lvm.VolumeGroup(["/dev/gone"], "12345678-9abc", runner).remove(blocks)
    assert [each.read_text().strip() for each in blocks.glob("*/dm/name")] == [other]
    held = Answering(remove=lambda _: Finished(1, "", "busy"))
    with pytest.raises(InfrastructureError, match="in use: stithy_12345678-array: end what uses"):
        lvm.VolumeGroup(["/dev/gone"], "12345678-9abc", held).remove(
            _volumes(programs / "held", above)
        )


def test_an_array_that_lost_a_device_while_it_was_synchronised_is_not_measured(
    programs: Path,
) -> None:
    """It would be slower than its level, or faster."""

    def asked(health: str) -> lvm.VolumeGroup:
        answers = iter(["100.00", health])
        runner = Answering(lvs=lambda _: Finished(0, f"  {next(answers)}\n", ""))
        return lvm.VolumeGroup(["/dev/a"], "12345678-9abc", runner)

    asked("").wait_in_sync()
    with pytest.raises(InfrastructureError, match="not whole: its health is 'partial'"):
        asked("partial").wait_in_sync()
