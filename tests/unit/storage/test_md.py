"""Arrays of md as mdadm is asked for them. Where the kernel has md, tests/real/test_layers.py."""

import pytest
from pydantic import ValidationError

from stithy.storage import raid
from stithy.storage.layers import md

GIB = 2**30


@pytest.mark.parametrize(
    ("level", "count", "least_share"),
    [("single", 2, 0.85), ("raid0", 2, 0.85), ("raid1", 2, 0.42), ("raid10", 4, 0.42),
     ("raid5", 4, 0.64), ("raid6", 6, 0.57)],
)  # fmt: skip
def test_capacity_is_what_copies_and_parity_leave(
    level: raid.Level, count: int, least_share: float
) -> None:
    """Less what mdadm keeps for itself."""
    spec = md.Spec(level=level)
    found = md.capacity_bytes(spec, [GIB] * count)
    assert least_share * count * GIB < found < count * GIB / md.redundancy(spec, count)


def test_mirrors_are_not_synchronised_and_parity_is() -> None:
    """The identifier is that by which the devices are known as Stithy's."""
    words = {
        level: md.create_words(md.Spec(level=level), ["/dev/a", "/dev/b"], "/dev/md200", "12-34")
        for level in ("raid1", "raid5")
    }
    assert "--assume-clean" in words["raid1"]
    assert "--assume-clean" not in words["raid5"]
    for each in words.values():
        assert each[-2:] == ["/dev/a", "/dev/b"]
        assert {"--uuid=12-34", "--raid-devices=2", "--run"} <= {*each}


def test_chunks_are_for_stripes() -> None:
    """A power of two, in KiB for mdadm."""
    spec = md.Spec(level="raid5", chunk="64 KiB")
    assert "--chunk=64K" in md.create_words(spec, ["/dev/a"], "/dev/md200", "12")
    for wrong in ({"level": "raid1", "chunk": "64 KiB"}, {"level": "raid5", "chunk": "65 KiB"}):
        with pytest.raises(ValidationError):
            md.Spec.model_validate(wrong)
