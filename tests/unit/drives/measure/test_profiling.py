"""From a target to a profile, with a simulated drive in place of fio."""

import threading
import tomllib
from pathlib import Path

import pytest

from fakes.fio import FioRunner, SimulatedDrive
from stithy.drives.measure import kept
from stithy.drives.measure.measuring import Watch
from stithy.drives.measure.profiling import Wanted, check_name, name_for, profile
from stithy.drives.measure.target import inspect
from stithy.errors import Interrupted, UserError

MIB = 2**20


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
    path = kept.beside(disk_place / "a-drive.toml")
    path.write_text(done.measurement.model_dump_json())
    assert kept.read(path) == done.measurement
    path.write_text('{"version": 1}')
    with pytest.raises(UserError, match="this is no measurement of this version"):
        kept.read(path)
    with pytest.raises(UserError, match="cannot be read: no such file"):
        kept.read(disk_place / "gone.json")


def test_a_name_follows_from_the_device(disk_place: Path) -> None:
    """Its model, in the letters that a profile's name may have."""
    target = inspect(disk_place)
    assert name_for(target, "KINGSTON SEDC1500M/960G") == "measured-kingston-sedc1500m-960g"
    assert name_for(target, None).startswith("measured-")
    check_name(name_for(target, None))
    with pytest.raises(UserError, match="cannot name a profile"):
        check_name("../x")
