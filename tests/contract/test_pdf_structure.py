"""The PDF to those who hear it and to those who leaf through it: structure, contents, page numbers.

What PDF/UA-1 (ISO 14289-1) asks for, as far as the file itself tells it; the whole of the standard
was judged by veraPDF (docs/evidence.md).
"""

import re
from itertools import pairwise
from typing import Any

import pytest

from stithy.report.drawing import draw
from stithy.report.formats.pdf import PdfFormat
from stithy.report.page import Page
from support.drawn import context_built
from support.fixed_run import FIXED
from support.pdf_text import contents_of, elements_of, outline_of, pages_of, read_pdf

HEADING = re.compile(r"/H([1-6])$")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """The page of a run with nearly everything."""
    return Page(context_built(tmp_path_factory.mktemp("printed") / "run", FIXED))


@pytest.fixture(scope="module")
def pdf(page: Page) -> bytes:
    """Its PDF."""
    drawings = {figure.name: draw.draw_svg(figure.spec, figure.name) for figure in page.figures}
    made = PdfFormat().make(page, drawings)
    return made


@pytest.fixture(scope="module")
def elements(pdf: bytes) -> list[Any]:
    """The elements of its structure."""
    return elements_of(pdf)


def test_language_title_and_standard_are_told(page: Page, pdf: bytes) -> None:
    """The title stands in the window's bar instead of the file's name (7.1, 7.2)."""
    root: Any = read_pdf(pdf).root_object
    assert root["/Lang"] == "en"
    assert bool(root["/ViewerPreferences"]["/DisplayDocTitle"])
    metadata = read_pdf(pdf).metadata
    assert metadata is not None
    assert page.context.manifest is not None
    assert metadata.title == page.context.manifest.question
    assert b"<pdfuaid:part>1</pdfuaid:part>" in root["/Metadata"].get_object().get_data()


def test_headings_go_down_one_step_at_a_time(elements: list[Any]) -> None:
    """From the first level on, none left out (7.4.2)."""
    kinds = [str(each["/S"]) for each in elements]
    levels = [int(found[1]) for kind in kinds if (found := HEADING.match(kind))]
    assert levels[0] == 1
    assert len(levels) > 10
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_heading_of_a_table_says_of_what_it_is(elements: list[Any]) -> None:
    """Each has a scope, each table a row of them, and each row as many cells (7.5)."""
    tables, headings = (
        [each for each in elements if each["/S"] == kind] for kind in ("/Table", "/TH")
    )
    assert len(tables) >= 15
    assert len(headings) > 2 * len(tables)
    for each in headings:
        attributes = each["/A"].get_object()
        known = attributes if isinstance(attributes, list) else [attributes]
        scopes = [str(one.get_object().get("/Scope")) for one in known]
        assert set(scopes) & {"/Column", "/Row", "/Both"}
    for table in tables:
        rows = _rows(table)
        assert len(rows) >= 2
        assert set(rows[0]) == {"/TH"}
        assert {len(row) for row in rows} == {len(rows[0])}


def _rows(table: Any) -> list[list[str]]:
    """The kinds of the cells of each row of a table, which may lie in its head or body."""
    rows = []
    for each in _children(table):
        parts = _children(each) if each["/S"] in ("/THead", "/TBody", "/TFoot") else [each]
        for row in parts:
            if row["/S"] == "/TR":
                rows.append([str(cell["/S"]) for cell in _children(row)])
    return rows


def _children(element: Any) -> list[Any]:
    found = element.get("/K", [])
    found = found.get_object() if hasattr(found, "get_object") else found
    each = found if isinstance(found, list) else [found]
    known = [one.get_object() for one in each if hasattr(one, "get_object")]
    return [one for one in known if isinstance(one, dict) and "/S" in one]


def test_every_figure_is_told_to_those_who_do_not_see_it(page: Page, elements: list[Any]) -> None:
    """By the words that the page has for it, in the same order; none is without (7.3)."""
    shown = [each.get("/Alt") for each in elements if each["/S"] == "/Figure"]
    words = [str(each).replace("\N{NO-BREAK SPACE}", " ") for each in shown if each]
    assert words == [figure.description for figure in page.figures]
    assert len(words) == len(shown)


def test_every_link_can_be_followed_by_who_hears_it(pdf: bytes) -> None:
    """It is part of the structure and leads to a place in the document (7.18)."""
    links = [
        link
        for sheet in read_pdf(pdf).pages
        for each in sheet.get("/Annots", [])
        if (link := each.get_object())["/Subtype"] == "/Link"
    ]
    assert len(links) > 10
    assert all("/StructParent" in link for link in links)
    assert all("/URI" not in str(link.get("/A", "")) for link in links)


def test_sheets_are_counted_and_in_order(pdf: bytes) -> None:
    """Each says which of how many it is; its content belongs to elements, and Tab follows them."""
    sheets, pages = read_pdf(pdf).pages, pages_of(pdf)
    assert all("/StructParents" in sheet for sheet in sheets)
    assert all(str(sheet["/Tabs"]) == "/S" for sheet in sheets if "/Annots" in sheet)
    for number, text in enumerate(pages, start=1):
        assert text.endswith(f"{number}of{len(pages)}")


def test_contents_name_headings_and_figures(page: Page, pdf: bytes) -> None:
    """Each once and in their order; so have the bookmarks of the headings, which lead there."""
    pages, contents, marks = pages_of(pdf), contents_of(pdf), outline_of(pdf)
    titles = [title for title, _ in contents]
    headings = titles[: -len(page.figures)]
    sections = [each.heading for each in page.sections if each.heading]
    assert [title for title in headings if title in sections] == sections
    numbered = [f"Figure {n} {each.title}" for n, each in enumerate(page.figures, start=1)]
    assert titles[len(headings) :] == numbered
    assert [title for _, title, _ in marks if title not in ("Contents", "Figures")] == headings
    assert len(contents) > 30
    places = {title: number for _, title, number in marks}
    for title, number in contents:
        assert "".join(title.split()) in pages[number - 1], (title, number)
        assert places.get(title, number) == number
