"""Emulated drives measured by the real fio, and the drive program on profiles that were made."""

import shutil
from pathlib import Path

import pytest

from fakes.fio import SimulatedDrive
from stithy.drives import control
from stithy.drives.control import DriveSpec
from stithy.drives.measure.fit import fit
from stithy.drives.measure.measurement import (
    Measurement,
    MeasurementPoint,
    MeasurementSchedule,
    WrittenSlice,
)
from stithy.drives.measure.measuring import MeasuringPlan, MeasuringWatch, measure_emulated
from stithy.drives.measure.profiling import write_profile
from stithy.drives.profiles import check_profile, load_catalogue, make_varied
from stithy.hosts.runner import LocalRunner
from stithy.plan.sensitivity import SHARE
from support.measured_drive import measured

pytestmark = pytest.mark.needs_drive

MIB = 2**20


@pytest.fixture(scope="module")
def simulated() -> dict[bool, Measurement]:
    """A simulated drive's measurement, by whether writing was measured too."""
    return {writing: measured(SimulatedDrive(), writing=writing) for writing in (True, False)}


@pytest.mark.parametrize("writing", [True, False])
@pytest.mark.parametrize("write_cache", ["write back", "write through", None])
def test_the_drive_program_takes_a_measured_profile(
    simulated: dict[bool, Measurement], writing: bool, write_cache: str | None
) -> None:
    """Every key is possible and has one source, whatever was measured."""
    found = simulated[writing]
    target = found.target.model_copy(update={"write_cache": write_cache, "model": 'A "b" \\ ü'})
    slowed = [WrittenSlice(moved_bytes=n, duration_s=1.0) for n in (900, 900, 900, 300, 300, 300)]
    changed = {"target": target, "sustained": tuple(slowed) if writing else ()}
    kept = found.model_copy(update=changed)
    fitted = fit(kept)
    facts = check_profile(write_profile("a-drive", fitted, kept), "a-drive.toml")
    assert facts.name == "a-drive"
    assert facts.channels == fitted.channels == 8
    assert facts.read_p50_s == pytest.approx(100e-6, rel=0.05)
    assert (facts.cache_bytes is None) == (write_cache != "write back")


def test_the_drive_program_takes_every_shipped_profile_varied() -> None:
    """Worse and better; none of its rules is broken."""
    for shipped in load_catalogue().profiles:
        for worse in (True, False):
            varied = make_varied(shipped.text, SHARE, worse=worse)
            assert check_profile(varied.text, shipped.facts.name).assumed == shipped.facts.assumed


def test_an_emulated_drive_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it was written before, its reads take at least what its profile says."""
    if shutil.which("fio") is None:
        pytest.skip("fio was not found: install fio")
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    text = (Path(__file__).parents[3] / "crates/drive/profiles/generic-7200.toml").read_text()
    spec = DriveSpec("measured", text, 64 * MIB)
    points = (
        MeasurementPoint(1.0, 4096, 1),
        MeasurementPoint(0.0, 4096, 1, sequential=True, flushed_every=1),
    )
    measured = measure_emulated(
        spec,
        MeasuringPlan(points, MeasurementSchedule(0.5, 1, 0.0), seed=1),
        LocalRunner(),
        MeasuringWatch(),
    )
    assert control.list_folders() == []
    reads, writes = (each.answer for each in measured.matrix)
    assert reads.read is not None
    assert writes.flush is not None
    assert (reads.read.latency.find_quantile_s(0.5) or 0) > 1e-3
