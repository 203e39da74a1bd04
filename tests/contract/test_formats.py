"""Every format and every export of a report keeps the interface, whatever a run holds.

That formats are the same in every process is for `test_same_report`.
"""

from pathlib import Path

import pytest

from conftest import ROOT
from stithy.cli.report import report
from stithy.registry import plugins
from stithy.report.exports import ExportFormat
from stithy.report.formats import ReportFormat
from stithy.report.page import Page
from support.drawn import context_built
from support.sample_run import Shape, build_run, window_id

FORMATS = plugins(ReportFormat)
EXPORTS = plugins(ExportFormat)
SHAPE = Shape(users=(1, 4), duration_s=3, drives={"disk": 0.0})


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_reports_an_empty_run(name: str, tmp_path: Path) -> None:
    """Without windows and manifest there is little to say, and it is said."""
    assert f"`{name}`" in (report.__doc__ or "")
    gone = frozenset({window_id("disk", 1, 0), window_id("memory", 1, 0)})
    build_run(tmp_path, Shape(users=(1,), left_out=gone)).manifest.write_text("{")
    assert len(FORMATS[name].make(Page(context_built(tmp_path)), {})) > 100


def text_of(export: ExportFormat, root: Path, shape: Shape | None = None) -> str:
    """The whole document."""
    return "".join(export.export(context_built(root, shape)).pieces)


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_always_the_same(name: str, tmp_path: Path) -> None:
    """Nothing of the moment or the machine is in it."""
    assert f"| `{name}` |" in (ROOT / "docs/how-to/use-other-tools.md").read_text()
    first, second = (text_of(EXPORTS[name], tmp_path / each / "run", SHAPE) for each in "01")
    assert first == second
    assert "EMULATED drive" in first


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_a_damaged_run_is_exported(export: ExportFormat, tmp_path: Path) -> None:
    """Without a manifest, with a table cut short and a window without numbers."""
    nothing = {"missing_because": "the server was ended", "complete": False}
    nothing |= dict.fromkeys(
        ("measure_from_s", "measure_to_s", "tpm", "headline_per_min", "transactions")
    )
    shape = Shape(users=(1, 4), duration_s=3, changes={"w-disk-u4-b0": nothing})
    run = build_run(tmp_path, shape)
    run.manifest.unlink()
    series = run.window("w-memory-u4-b0").table("series")
    series.write_bytes(series.read_bytes()[:100])
    assert "memory" in text_of(export, tmp_path)
