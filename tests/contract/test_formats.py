"""Every format of the report keeps the interface, whatever a run holds."""

from pathlib import Path
from types import ModuleType

import pytest

from stithy.cli.report import report
from stithy.registry import plugins
from stithy.report.context import context_of
from stithy.report.drawing import draw
from stithy.report.page import Page, build
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

FORMATS = plugins("format")


def _page(root: Path, shape: Shape) -> Page:
    build_run(root, shape)
    return build(context_of(read_run(root)))


def _drawings(page: Page) -> dict[str, str]:
    return {figure.name: draw.svg(figure.spec, figure.name) for figure in page.figures}


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A short run."""
    shape = Shape(users=(1, 4), duration_s=3, series=False)
    return _page(tmp_path_factory.mktemp("short"), shape)


@pytest.mark.parametrize("module", FORMATS.values(), ids=FORMATS)
def test_the_same_results_give_the_same_bytes(module: ModuleType, short: Page) -> None:
    """Made twice, from drawings made twice."""
    assert module.make(short, _drawings(short)) == module.make(short, _drawings(short))


@pytest.mark.parametrize("module", FORMATS.values(), ids=FORMATS)
def test_a_run_without_windows_and_manifest_is_told(module: ModuleType, tmp_path: Path) -> None:
    """There is little to say, and it is said."""
    gone = frozenset({window_id("disk", 1, 0), window_id("memory", 1, 0)})
    run = build_run(tmp_path, Shape(users=(1,), left_out=gone))
    run.manifest.write_text("{")
    page = build(context_of(read_run(tmp_path)))
    assert len(module.make(page, {})) > 100


@pytest.mark.parametrize("name", FORMATS)
def test_the_help_names_the_format(name: str) -> None:
    """Nobody must guess what there is."""
    assert f"`{name}`" in (report.__doc__ or "")
