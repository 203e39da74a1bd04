"""A reader never takes an emulated drive for a real one."""

from pathlib import Path

import pytest

from stithy.report.context import context_of
from stithy.report.page import Page, build, render
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def page_of(root: Path, **drives: float) -> Page:
    """The page of a run whose candidates of these names are emulated."""
    build_run(root, Shape(candidates=("disk", "memory"), users=(1, 4), drives=drives))
    return build(context_of(read_run(root)))


def html(page: Page) -> str:
    """The page without the time that drawing takes."""
    html = render(page, {figure.name: "<svg></svg>" for figure in page.figures})
    return html.replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A run on one emulated drive and one directory."""
    return page_of(tmp_path_factory.mktemp("emulated") / "run", disk=0.02)


def test_the_answer_and_the_method_tell_what_is_emulated_and_assumed(emulated: Page) -> None:
    """At the top, and with the names of the assumed numbers at the end."""
    assert (
        "disk (sample-ssd at scale 1/8) is an emulated drive: it takes the times that its profile "
        "describes, except where it took other times (details: How sure this is)."
        in emulated.answer.support
    )
    text = html(emulated)
    assert "Assumed are write and flush; its other numbers name their source." in text
    assert "It is a scale model of 1/8" in text
    assert "The drive profile sample-ssd" in text
    assert "<b>no</b>" not in text


def test_the_first_screen_says_how_many_numbers_are_assumed(emulated: Page) -> None:
    """Two of the five that decide; a whole table may be assumed, and capacity decides nothing."""
    told = "Of the numbers that set a drive's times and rates, 2 of 5 of sample-ssd are assumed"
    assert any(text.startswith(told) for text in emulated.answer.flawed)
