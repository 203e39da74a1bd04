"""The space of volumes: what files hold, and what the books of a file system say of it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fakes.program import EndingRunner
from stithy.drives import filesystems
from stithy.errors import InfrastructureError
from stithy.hosts.runner import LocalRunner
from stithy.storage.layers.btrfs import parse_usage
from stithy.storage.provider import Array, Volume
from stithy.storage.space import Space, add_log, measure_files, measure_space

MIB = 2**20

# btrfs filesystem usage -b, btrfs-progs v6.2, Debian 12, Linux 6.18: 100 MiB of text with
# compress-force=zstd:1 on four loop devices of 1 GiB, -d raid5 -m raid1.
RAID5 = """\
Overall:
    Device size:\t\t        4294967296
    Device allocated:\t\t         983040000
    Used:\t\t\t          57518760
    Data ratio:\t\t\t              1.33
    Metadata ratio:\t\t              2.00
    Global reserve:\t\t           5767168\t(used: 0)
    Multiple profiles:\t\t                no

Data,RAID5: Size:322043904, Used:42598400 (13.23%)
   /dev/loop0\t 107347968
   /dev/loop1\t 107347968
   /dev/loop2\t 107347968
   /dev/loop3\t 107347968

Metadata,RAID1: Size:268435456, Used:344064 (0.13%)
   /dev/loop2\t 268435456
   /dev/loop3\t 268435456

System,RAID1: Size:8388608, Used:16384 (0.20%)
   /dev/loop2\t   8388608
   /dev/loop3\t   8388608

Unallocated:
   /dev/loop0\t 966393856
   /dev/loop1\t 966393856
   /dev/loop2\t 689569792
   /dev/loop3\t 689569792
"""


def test_the_books_of_btrfs_are_read() -> None:
    """What is stored once; with parity and copies of metadata, as it adds that up itself."""
    found = parse_usage(RAID5)
    assert found.stored_bytes == 42598400
    assert found.redundancy == pytest.approx(4 / 3)
    assert found.physical_bytes == pytest.approx(57518760, rel=1e-4)


def test_books_that_say_nothing_of_data_are_refused() -> None:
    """A number that may be wrong is not given."""
    with pytest.raises(InfrastructureError):
        parse_usage("Overall:\n")


def test_holes_count_as_length_alone_and_links_once(tmp_path: Path) -> None:
    """A hard link is no second file; what a symbolic link points to lies elsewhere."""
    folder = tmp_path / "data"
    (folder / "inner").mkdir(parents=True)
    with (folder / "inner" / "file").open("wb") as file:
        file.write(os.urandom(MIB))
        file.truncate(5 * MIB)
        os.fsync(file.fileno())
    os.link(folder / "inner" / "file", folder / "link")
    (folder / "away").symlink_to(tmp_path)
    assert measure_files(folder) == (5 * MIB, MIB)


def _volume(path: Path, filesystem: str, array: Array | None = None) -> Volume:
    return Volume(path, filesystem, path, "rw", (), memory_backed=False, array=array)


def test_a_directory_has_no_space_of_its_own(tmp_path: Path) -> None:
    """What it may take is everybody's; what lies on a file system with copies is not told apart."""
    (tmp_path / "file").write_bytes(os.urandom(MIB))
    os.sync()
    found = measure_space(_volume(tmp_path, "ext4"), LocalRunner())
    assert (found.logical_bytes, found.physical_bytes, found.redundancy) == (MIB, MIB, 1)
    assert set(found.missing) == {"provisioned_bytes", "allocated_bytes"}
    shared = measure_space(_volume(tmp_path, "btrfs"), LocalRunner())
    assert (shared.written_bytes, shared.physical_bytes, shared.reduction) == (MIB, None, None)
    assert "physical_bytes" in shared.missing


def test_copies_below_a_file_system_multiply_what_it_takes(tmp_path: Path) -> None:
    """An array of md under ext4, say; its drives are its own, and are not thin."""
    array = Array("md", {"level": "raid10"}, ("sda", "sdb"), 2.0)
    one, two = (
        measure_space(
            _volume(tmp_path, "ext4", each), LocalRunner(), devices_bytes=(10 * MIB, 10 * MIB)
        )
        for each in (None, array)
    )
    assert (one.redundancy, two.redundancy, two.provisioned_bytes) == (1, 2, 20 * MIB)
    assert one.physical_bytes is not None
    assert two.physical_bytes == pytest.approx(2 * one.physical_bytes, rel=0.1)
    assert two.thin is False


def test_reduction_and_thinness_are_known_only_from_their_parts() -> None:
    """Missing parts give None."""
    assert (Space(4, 4).reduction, Space(4, 4).thin) == (None, None)
    thin = Space(8, 6, 3, 6, 2.0, provisioned_bytes=100, allocated_bytes=6)
    assert (thin.reduction, thin.thin) == (2.0, True)


def test_the_write_ahead_log_counts_apart(tmp_path: Path) -> None:
    """Zeros in its files would count as what compresses well; below a file system nobody knows."""
    log = tmp_path / "data" / "log"
    log.mkdir(parents=True)
    (log / "segment").write_bytes(os.urandom(MIB))
    os.sync()
    volume = _volume(tmp_path, "ext4")
    whole = Space(9 * MIB, 8 * MIB, 4 * MIB, 8 * MIB, 2.0)
    plain = add_log(whole, volume, [log])
    assert (plain.log_written_bytes, plain.log_stored_bytes) == (MIB, MIB)
    assert plain.reduction == pytest.approx(7 / 3)
    below = add_log(replace(whole, below=True), volume, [log])
    assert (below.log_stored_bytes, below.reduction) == (None, None)
    assert "reduction" in below.missing
    assert add_log(whole, volume, []).reduction == 2.0
    # Blocks of a file on ZFS are counted after compression, so that its length stands for them.
    compressed = add_log(whole, _volume(tmp_path, "zfs"), [log])
    assert (compressed.log_written_bytes, compressed.log_stored_bytes) == (MIB, None)
    assert "reduction" in compressed.missing


def test_a_layer_that_compresses_below_a_file_system_reads_its_own_books(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After what no file uses any more was given back: it would count as stored."""
    (tmp_path / "dmsetup").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(filesystems, "SYSTEM_FOLDERS", ())
    (tmp_path / "file").write_bytes(os.urandom(MIB))
    runner = EndingRunner(stdout="{ dataBlocksUsed : 64, overheadBlocksUsed : 192, ")
    volume = _volume(tmp_path, "ext4", Array("vdo", {"level": "raid1"}, ("sda", "sdb"), 2.0))
    found = measure_space(volume, runner, devices_bytes=(10 * MIB, 10 * MIB))
    assert [Path(each[0]).name for each in runner.asked] == ["fstrim", "dmsetup"]
    assert (found.stored_bytes, found.physical_bytes) == (MIB // 4, 2 * MIB)
    assert (found.redundancy, found.below) == (2.0, True)
    assert found.reduction is not None
    assert found.reduction >= 4
