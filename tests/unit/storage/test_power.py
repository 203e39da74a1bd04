"""Whose power is cut: all drives of a volume, or those of one host of its cluster."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from stithy.cluster import layout
from stithy.storage.power import list_drives_of
from stithy.storage.provider import EmulatedDrive, Volume

NAMES = ("data-host1", "data-host2", "data-host1-cache", "data-host2-cache")


@pytest.mark.parametrize(
    ("host", "numbers"), [(None, (0, 1, 2, 3)), (1, (0, 2)), (2, (1, 3)), (3, ())]
)
def test_a_host_has_its_drives_and_the_faster_ones_beside_them(
    tmp_path: Path, host: int | None, numbers: tuple[int, ...]
) -> None:
    """Known by the devices that its OSDs use; all carry what is mounted from the image."""
    folder = tmp_path / "cluster"
    layout.make(folder, layout.make_entry("lab", None, 2, 1))
    for number in range(4):
        (folder / f"osd.{number % 2}").mkdir(exist_ok=True)
        link = folder / f"osd.{number % 2}" / ("block", "block.db")[number // 2]
        link.symlink_to(f"/dev/loop{number}")
    given: dict[str, Any] = dict.fromkeys((of.name for of in fields(EmulatedDrive)), "")
    drives = tuple(EmulatedDrive(**{**given, "name": name, "device": f"/dev/loop{number}"})
                   for number, name in enumerate(NAMES))  # fmt: skip
    volume = Volume(tmp_path, "ext4", tmp_path, "noatime", ("loop9",), memory_backed=False)
    found = list_drives_of(replace(volume, emulated=drives, cluster=folder), host)
    assert [drive.name for drive in found] == [NAMES[number] for number in numbers]
    assert {drive.device for drive in found} <= {"/dev/loop9"}
