"""What a person may name as a target, and how it becomes a profile; it is never overwritten."""

import os
import threading
import tomllib
from pathlib import Path

import pytest

from fakes.fio import FioRunner, SimulatedDrive
from stithy.drives.measure import measurement
from stithy.drives.measure.measuring import Watch
from stithy.drives.measure.profiling import Wanted, check_name, name_for, profile
from stithy.drives.measure.target import facts, inspect, need_room, scratch_file
from stithy.errors import Interrupted, PreconditionError, UserError

MIB = 2**20


def test_a_directory_on_a_disk_is_measured_by_a_scratch_file(disk_place: Path) -> None:
    """Its file system and device are told."""
    target = inspect(disk_place)
    assert target.kind == "directory"
    assert target.file_system
    found = facts(target, 64 * MIB)
    assert found.span_bytes == 64 * MIB
    assert found.name


def test_a_written_file_is_read_and_one_with_holes_is_not(disk_place: Path) -> None:
    """What was never written is read from nowhere, at once: also where room was only set aside."""
    written, sparse, aside = (disk_place / name for name in ("written", "sparse", "aside"))
    written.write_bytes(os.urandom(64 * MIB))
    with written.open("rb") as file:
        os.fsync(file.fileno())
    assert inspect(written).kind == "file"
    with sparse.open("wb") as file:
        file.truncate(64 * MIB)
    with aside.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 64 * MIB)
    for path in (sparse, aside):
        with pytest.raises(PreconditionError, match="never written at byte 0"):
            inspect(path)


def test_a_small_file_is_refused(disk_place: Path) -> None:
    """It tells of a cache."""
    (disk_place / "small").write_bytes(b"x" * 5000)
    with pytest.raises(PreconditionError, match="5000 bytes: too little"):
        inspect(disk_place / "small")


def test_what_lies_in_memory_is_refused() -> None:
    """No drive is there to be measured, though such places take direct I/O by now."""
    place = Path("/dev/shm")
    if not place.is_dir():
        pytest.skip("this machine has no /dev/shm")
    with pytest.raises(PreconditionError, match="lies in memory"):
        inspect(place)


def test_a_target_that_is_not_there_is_told(tmp_path: Path) -> None:
    """With what may be named."""
    with pytest.raises(UserError, match="no such target: no such file") as refused:
        inspect(tmp_path / "gone")
    assert "a block device such as" in refused.value.remedy


def test_a_character_device_is_no_target() -> None:
    """Nor a pipe, nor a socket."""
    with pytest.raises(UserError, match="neither a block device nor a file nor a directory"):
        inspect(Path("/dev/null"))


def test_a_scratch_file_has_a_size_and_no_name(disk_place: Path) -> None:
    """So a killed measurement leaves nothing either."""
    with scratch_file(disk_place, MIB) as path:
        assert os.stat(path).st_size == MIB
        assert list(disk_place.iterdir()) == []
        with open(path, "r+b") as file:
            file.write(b"it can be opened again")
    assert not os.path.exists(path)


def test_too_little_space_is_told_before_anything_is_written(disk_place: Path) -> None:
    """A share of the file system always stays free."""
    space = os.statvfs(disk_place)
    free_bytes = space.f_bavail * space.f_frsize
    with pytest.raises(PreconditionError, match="does not fit") as refused:
        need_room(disk_place, free_bytes)
    assert "--size" in refused.value.remedy


def test_a_directory_that_may_not_be_written_is_told() -> None:
    """/proc takes no files from anyone."""
    with (
        pytest.raises(PreconditionError, match="no file can be made there"),
        scratch_file(Path("/proc"), 0),
    ):
        pass


def wanted(*, writing: bool = True, span_bytes: int = 64 * MIB) -> Wanted:
    """A quick measurement."""
    return Wanted("a-drive", 61.0 if not writing else 80.0, writing, span_bytes)


def test_a_directory_becomes_a_profile_with_sources_and_leaves_nothing(disk_place: Path) -> None:
    """Every number has a source or is marked as assumed; the scratch file is gone."""
    runner = FioRunner(SimulatedDrive())
    watch = Watch()
    done = profile(inspect(disk_place), wanted(writing=False), runner, watch)
    assert list(disk_place.iterdir()) == []
    table = tomllib.loads(done.text)
    assert table["name"] == "a-drive"
    assert table["channels"] == 8
    assert len(table["read"]["load_us"][0]) == 2 + len(table["read"]["load_shares"])
    source = table["provenance"]["source"][0]
    assert "fio-3.33" in source["text"]
    assert "read.load_us" in source["keys"]
    assert "write" in table["provenance"]["assumed"]
    assert "the file system is part of it" in table["provenance"]["note"]


def test_only_the_scratch_file_is_written_to_without_leave(disk_place: Path) -> None:
    """One pass from end to end; all else is read."""
    runner = FioRunner(SimulatedDrive())
    profile(inspect(disk_place), wanted(writing=False), runner, Watch())
    writes = [each for each in runner.commands if "read" not in each["rw"]]
    assert [each["name"] for each in writes] == ["fill"]
    assert all(each["filename"].startswith("/proc/") for each in runner.commands)


def test_an_existing_file_is_never_written_to(disk_place: Path) -> None:
    """Whatever was asked for."""
    file = disk_place / "precious"
    file.write_bytes(b"\7" * 64 * MIB)
    runner = FioRunner(SimulatedDrive())
    with pytest.raises(UserError, match="an existing file is only read"):
        profile(inspect(file), wanted(writing=True), runner, Watch())
    profile(inspect(file), wanted(writing=False), runner, Watch())
    assert all("readonly" in each for each in runner.commands)
    assert file.read_bytes() == b"\7" * 64 * MIB


def test_a_person_can_stop_it_and_nothing_is_left(disk_place: Path) -> None:
    """Between two runs of fio."""
    stop = threading.Event()

    def tell(_what: str, done: int, _total: int) -> None:
        if done == 5:
            stop.set()

    with pytest.raises(Interrupted):
        profile(inspect(disk_place), wanted(writing=False), FioRunner(), Watch(tell, stop))
    assert list(disk_place.iterdir()) == []


@pytest.mark.parametrize("span_bytes", [MIB, 2**60])
def test_a_span_that_cannot_be_measured_is_refused(disk_place: Path, span_bytes: int) -> None:
    """Too little tells of a cache, and more than there is cannot be had."""
    with pytest.raises(UserError, match="cannot be measured of it"):
        profile(inspect(disk_place), wanted(span_bytes=span_bytes), FioRunner(), Watch())


def test_a_measurement_is_read_back_as_it_was_kept(disk_place: Path) -> None:
    """Beside its profile, in its own version; what is none is refused with the place."""
    done = profile(inspect(disk_place), wanted(writing=False), FioRunner(), Watch())
    path = measurement.beside_profile(disk_place / "a-drive.toml")
    path.write_text(done.measurement.model_dump_json())
    assert measurement.read_measurement(path) == done.measurement
    path.write_text('{"version": 1}')
    with pytest.raises(UserError, match="this is no measurement of this version"):
        measurement.read_measurement(path)
    with pytest.raises(UserError, match="cannot be read: no such file"):
        measurement.read_measurement(disk_place / "gone.json")


def test_a_name_follows_from_the_device(disk_place: Path) -> None:
    """Its model, in the letters that a profile's name may have."""
    target = inspect(disk_place)
    assert name_for(target, "KINGSTON SEDC1500M/960G") == "measured-kingston-sedc1500m-960g"
    assert name_for(target, None).startswith("measured-")
    check_name(name_for(target, None))
    with pytest.raises(UserError, match="cannot name a profile"):
        check_name("../x")
