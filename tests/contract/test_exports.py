"""Every export keeps the interface, reads what there is, and says what must be said."""

from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT
from stithy.registry import plugins
from stithy.report.context import context_of
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

EXPORTS = plugins("export")
SHAPE = Shape(users=(1, 4), duration_s=3, drives={"disk": 0.0})


def text_of(module: ModuleType, root: Path) -> str:
    """The whole document."""
    return "".join(module.export(context_of(read_run(root))).pieces)


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_told_in_the_guide(name: str) -> None:
    """With what becomes of windows that are not valid."""
    assert f"| `{name}` |" in (ROOT / "docs/how-to/use-other-tools.md").read_text()


@pytest.mark.parametrize("module", EXPORTS.values(), ids=EXPORTS)
def test_the_same_results_give_the_same_text(module: ModuleType, tmp_path: Path) -> None:
    """Nothing of the moment or the machine is in it."""
    first, second = tmp_path / "0" / "run", tmp_path / "1" / "run"
    for root in (first, second):
        build_run(root, SHAPE)
    assert text_of(module, first) == text_of(module, second)


@pytest.mark.parametrize("module", EXPORTS.values(), ids=EXPORTS)
def test_an_emulated_drive_is_named_as_emulated(module: ModuleType, tmp_path: Path) -> None:
    """Its numbers are not those of a drive that anyone could buy."""
    build_run(tmp_path, SHAPE)
    assert "EMULATED drive" in text_of(module, tmp_path)


@pytest.mark.parametrize("module", EXPORTS.values(), ids=EXPORTS)
def test_a_run_that_is_damaged_gives_what_there_is(module: ModuleType, tmp_path: Path) -> None:
    """Without a manifest, with a table cut short and a window without numbers."""
    nothing = {"missing_because": "the server was ended", "complete": False}
    nothing |= dict.fromkeys(("measure_from_s", "measure_to_s", "tpm", "nopm", "transactions"))
    build_run(tmp_path, Shape(users=(1, 4), duration_s=3, changes={"w-disk-u4-b0": nothing}))
    run = RunDirectory(tmp_path)
    run.manifest.unlink()
    series = run.window("w-memory-u4-b0").table("series")
    series.write_bytes(series.read_bytes()[:100])
    assert "memory" in text_of(module, tmp_path)
