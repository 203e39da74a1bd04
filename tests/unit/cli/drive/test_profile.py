"""What `stithy drive profile` refuses before it measures, and what it shows."""

from pathlib import Path

import pytest

from fakes.fio import SimulatedDrive
from stithy.cli.drive.profile import as_json, as_text, files, need_consent
from stithy.drives.measure.fit import fit
from stithy.drives.measure.profiling import Profiled
from stithy.drives.measure.target import Target
from stithy.errors import PreconditionError, UserError
from support.measured_drive import measured

DEVICE = Target(Path("/dev/nosuchdisk"), "device", 2**30, "nosuchdisk", None, None)
FOLDER = Target(Path("/srv"), "directory", 2**30, "nosuchdisk", "ext4", Path("/"))


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    """Neither the profile nor what lies beside it; the folder must be there."""
    out = tmp_path / "a.toml"
    assert files(out) == (out, tmp_path / "a.measured.json")
    (tmp_path / "a.measured.json").touch()
    with pytest.raises(UserError, match="a.measured.json: the file exists already"):
        files(out)
    with pytest.raises(UserError, match="there is no such directory"):
        files(tmp_path / "gone" / "a.toml")


def test_a_device_is_written_to_only_if_it_is_named() -> None:
    """Without --erase, or with an id that is not its own, nothing is written."""
    need_consent(DEVICE, write=False, erase=None)
    need_consent(FOLDER, write=True, erase=None)
    with pytest.raises(PreconditionError, match="destroys what is on it"):
        need_consent(DEVICE, write=True, erase=None)
    with pytest.raises(PreconditionError, match="'sda' does not name this device"):
        need_consent(DEVICE, write=True, erase="sda")


@pytest.mark.parametrize(("target", "write"), [(DEVICE, False), (FOLDER, True), (FOLDER, False)])
def test_a_consent_without_use_is_told(target: Target, write: bool) -> None:
    """Whoever gives it expects something else."""
    with pytest.raises(UserError, match="nothing to erase"):
        need_consent(target, write=write, erase="x")


def test_what_was_measured_is_shown_with_what_is_assumed() -> None:
    """A row a point, the numbers of the profile, and what to do with it."""
    measurement = measured(SimulatedDrive(), writing=False)
    done = Profiled("a", "text", fit(measurement), measurement)
    text = as_text(done, Path("a.toml"), Path("a.measured.json"))
    assert "read 4 KiB, depth 16" in text
    assert "channels: 8" in text
    assert "assumed, write: writing was not measured" in text
    assert "stithy drive compare a.toml" in text
    assert "writes/s" not in text
    shown = as_json(done)
    assert shown["name"] == "a"
