"""Arrays of LVM as it is asked for them. Where the kernel has it, tests/real/test_layers.py."""

import pytest
from pydantic import ValidationError

from stithy.storage import raid
from stithy.storage.layers import lvm, writecache

GIB = 2**30


@pytest.mark.parametrize(
    ("level", "count", "share"),
    [("single", 2, 1), ("raid0", 2, 1), ("raid1", 2, 1 / 2), ("raid10", 5, 2 / 5),
     ("raid5", 4, 3 / 4), ("raid6", 6, 4 / 6)],
)  # fmt: skip
def test_capacity_is_what_copies_and_parity_leave(
    level: raid.Level, count: int, share: float
) -> None:
    """Less what LVM keeps for itself; copies take devices in pairs."""
    found = lvm.capacity_bytes(lvm.Spec(level=level), [GIB] * count)
    assert 0.98 * share * count * GIB < found < share * count * GIB


@pytest.mark.parametrize("size", [8 * GIB, 800 * GIB])
def test_checksums_take_their_share(size: int) -> None:
    """Four bytes for a sector, and the journal."""
    spec = lvm.Spec(level="raid1", checksum=True)
    assert 0.97 * size < lvm.capacity_bytes(spec, [size] * 2) < (1 - 4 / 512) * size


def test_mirrors_without_checksums_are_not_synchronised() -> None:
    """The others are: parity and checksums have to be right."""
    words = {
        (level, checksum): lvm.create_words(lvm.Spec(level=level, checksum=checksum), "g", 12, 4)
        for level in ("raid10", "raid5")
        for checksum in (False, True)
    }
    assert [key for key, each in words.items() if "--nosync" in each] == [("raid10", False)]
    assert " ".join(words["raid10", True]) == (
        "lvcreate --yes --name array --extents 12 --type raid10 --mirrors 1 --stripes 2 "
        "--stripesize 64k --raidintegrity y g"
    )
    assert {"--stripes", "3"} <= {*words["raid5", False]}


def test_chunks_are_for_stripes_and_checksums_for_what_can_be_repaired() -> None:
    """All else is refused when the study is read."""
    spec = lvm.Spec(level="raid0", chunk="256 KiB")
    assert "256k" in lvm.create_words(spec, "g", 12, 2)
    for wrong in (
        {"level": "raid1", "chunk": "64 KiB"},
        {"level": "raid5", "chunk": "65 KiB"},
        {"level": "raid0", "checksum": True},
    ):
        with pytest.raises(ValidationError):
            lvm.Spec.model_validate(wrong)


def test_a_cache_adds_no_capacity() -> None:
    """What moves on lies on the first device alone."""
    found = writecache.capacity_bytes(writecache.Spec(), [GIB, GIB // 4])
    assert 0.99 * GIB < found < GIB
    assert writecache.redundancy(writecache.Spec(), 2) == 1
