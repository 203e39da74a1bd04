"""What drives can do at most stands beside what they did, where their profiles say so."""

import json
from pathlib import Path
from typing import Any

import pytest

from stithy.report.context import Context, context_of
from stithy.report.drawing.annotations import device_limits_said, device_lines
from stithy.report.figure import Figure
from stithy.report.figures.device import draw
from stithy.results.files import write_with_checksum
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

SHAPE = Shape(users=(1, 13), drives={"disk": 0.0})


def _context(root: Path, caps: str, **drive: Any) -> Context:
    """The sample run with these caps in its drive's profile, which is at scale 1/8."""
    run = build_run(root / "run", SHAPE)
    _change(run, caps, drive)
    return context_of(read_run(run.root))


def _change(run: RunDirectory, caps: str, drive: dict[str, Any]) -> None:
    manifest = json.loads(run.manifest.read_text())
    facts = manifest["candidates"][0]["drives"][0]
    facts.update(profile=f"{facts['profile']}[cap]\n{caps}\n", **drive)
    write_with_checksum(run.manifest, json.dumps(manifest).encode())


def _figure(context: Context, name: str) -> Figure:
    (found,) = [each for each in draw(context) if each.name == name]
    assert isinstance(found, Figure)
    return found


def test_a_limit_near_to_what_was_reached_is_drawn_and_named(tmp_path: Path) -> None:
    """Divided by the scale; the axis holds it."""
    context = _context(tmp_path, "read_iops = 8000")
    (line,) = device_lines(context, "read_iops", reached=400.0)
    assert (line.value, line.text) == (1000.0, "limit of disk")
    drawn = [row for rows in _figure(context, "device-rate").spec["datasets"].values()
             for row in rows if "limit" in row]  # fmt: skip
    assert drawn == [{"value": 1000.0, "limit": "limit of disk"}]


@pytest.mark.parametrize("reached", [300.0, 0.0])
def test_a_limit_far_above_is_told_and_not_drawn(tmp_path: Path, reached: float) -> None:
    """It would press all points to the axis."""
    context = _context(tmp_path, "read_iops = 8000\nwrite_bytes_per_s = 800_000_000", scale=1.0)
    assert device_lines(context, "read_iops", reached) == ()
    said = _figure(context, "device-rate").caption
    assert "8,000 reads" in said
    assert "800 MB written a second" in said


def test_without_a_profile_nothing_is_said(tmp_path: Path) -> None:
    """Nor of one that tells no rates."""
    context = _context(tmp_path, "")
    assert device_lines(context, "read_iops", 1e9) == ()
    assert device_limits_said(context, ["read_iops"]) == ""
