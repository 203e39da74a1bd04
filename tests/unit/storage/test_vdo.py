"""dm-vdo as LVM is asked for it. Where the kernel has it, tests/real/test_layers.py."""

import pytest

from fakes.program import EndingRunner
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.storage.layers import vdo

GIB = 2**30


@pytest.mark.parametrize(
    ("size", "slabs", "of"),
    [(3, 2, 128), (4, 10, 128), (5, 18, 128), (6, 26, 128), (8, 42, 128), (600, 298, 2048)],
)
def test_it_holds_whole_slabs(size: int, slabs: int, of: int) -> None:
    """As many as `vdoformat` 8.3 says of a device of that size."""
    found = vdo.VdoKeys(level="single").count_capacity_bytes([size * GIB + 6 * 2**20])
    assert 0.97 * slabs * of * 2**20 < found < slabs * of * 2**20


def test_a_volume_is_as_large_as_what_it_holds_or_as_it_is_promised() -> None:
    """Compression and deduplication are asked for, or not."""
    spec = vdo.VdoKeys(level="single")
    words = vdo.convert_words(spec, "g", 5 * GIB)
    size = int(words[words.index("--virtualsize") + 1].removesuffix("b"))
    assert 0 <= spec.count_capacity_bytes([5 * GIB + 6 * 2**20]) - size < 4 * 2**20
    assert " ".join(words[words.index("--compression") :]) == (
        "--compression y --deduplication y --vdosettings slab_size_mb=128 g/pool"
    )
    more = vdo.VdoKeys(level="single", overcommit=3, compression="none", deduplication=False)
    promised = vdo.convert_words(more, "g", 5 * GIB)
    assert int(promised[promised.index("--virtualsize") + 1].removesuffix("b")) > 2.9 * size
    assert {"y"} & {*promised} == set()
    assert "promises 3 times" in more.list_cautions()[-1]


def test_what_is_too_small_says_what_it_takes() -> None:
    """Its index alone is larger than many a test's drive."""
    with pytest.raises(InfrastructureError, match="at least 2944 MiB"):
        vdo.convert_words(vdo.VdoKeys(level="single"), "g", GIB)


# dmsetup message g-pool-vpool 0 stats, its beginning: Linux 6.12.95, 32 MiB of random data twice.
STATS = (
    "{ version : 36, dataBlocksUsed : 8215, overheadBlocksUsed : 731305, logicalBlocksUsed : "
    "24741, physicalBlocks : 1024000, logicalBlocks : 262400, blockMapCacheSize : 134217728, "
    "blockSize : 4096, completeRecoveries : 0, readOnlyRecoveries : 0, mode : normal, "
)


def test_the_books_of_vdo_are_read_for_each_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own data count as what drives hold, not as what is stored."""
    monkeypatch.setattr(filesystems, "find_program", lambda name, _package: name)
    runner = EndingRunner(stdout=STATS)
    found = vdo.read_usage_below("/dev/mapper/stithy_1-array", 2.0, runner)
    assert list(runner.asked[0]) == [
        "dmsetup", "message", "/dev/mapper/stithy_1-pool-vpool", "0", "stats",
    ]  # fmt: skip
    assert (found.stored_bytes, found.physical_bytes) == (8215 * 4096, 2 * 739520 * 4096)
    assert (found.redundancy, found.written_bytes) == (2.0, None)
    for answer in (EndingRunner(1, stderr="no such device"), EndingRunner(stdout="{ version : 36")):
        with pytest.raises(InfrastructureError):
            vdo.read_usage_below("/dev/mapper/stithy_1-array", 2.0, answer)
