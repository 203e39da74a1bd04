"""The PDF: everything the page says, tagged for those who listen, and never any code in it."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stithy.report.context import context_of
from stithy.report.drawing import draw
from stithy.report.formats.pdf import make
from stithy.report.page import Page, build
from stithy.results.read import read_run
from support.pdf_text import read_pdf, tags_of, text_of
from support.sample_run import START_S, Shape, build_run, window_id

CODE = '#read("/etc/hostname") #panic() $x^2$ *bold* @label <label> `raw` \\ // /* [a]'
HOSTILE = f"{CODE} <script>alert(1)</script>\"'&\x1b[31m\u202e😀 \N{HEBREW LETTER ALEF}"


def _page(root: Path, shape: Shape) -> Page:
    build_run(root, shape)
    return build(context_of(read_run(root)))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A short run of few figures."""
    shape = Shape(users=(1, 4), duration_s=3, series=False)
    return _page(tmp_path_factory.mktemp("run"), shape)


@pytest.fixture(scope="module")
def drawings(page: Page) -> dict[str, str]:
    """Its figures."""
    return {figure.name: draw.svg(figure.spec, figure.name) for figure in page.figures}


@pytest.fixture(scope="module")
def pdf(page: Page, drawings: dict[str, str]) -> bytes:
    """Its PDF."""
    return make(page, drawings)


def _joined(content: bytes) -> str:
    """All letters without the spaces, which lines and columns break."""
    return "".join(text_of(content).split())


def test_it_is_tagged_and_says_its_language_title_and_standard(pdf: bytes) -> None:
    """What PDF/UA asks for first."""
    reader = read_pdf(pdf)
    marks: Any = reader.root_object["/MarkInfo"]
    assert marks["/Marked"]
    assert str(reader.root_object["/Lang"]).startswith("en")
    assert reader.metadata is not None
    assert reader.metadata.title
    assert b"pdfuaid:part" in reader.xmp_metadata.stream.get_data()  # type: ignore[union-attr]  # it has XMP


def test_every_figure_has_its_alternative_text_and_number(page: Page, pdf: bytes) -> None:
    """Those who cannot see a figure are told what it shows; its title is beside its number."""
    alternatives = [alternative for _, alternative in tags_of(pdf) if alternative]
    told = [alternative.replace("\N{NO-BREAK SPACE}", " ") for alternative in alternatives]
    letters = _joined(pdf)
    for number, figure in enumerate(page.figures, start=1):
        assert figure.description in told
        assert "".join(f"Figure {number} {figure.title}".split()) in letters


def test_tables_have_headings_and_numbers_and_all_cells(page: Page, pdf: bytes) -> None:
    """A screen reader can tell to which column a cell belongs."""
    kinds = [kind for kind, _ in tags_of(pdf)]
    assert kinds.count("Table") >= 5
    assert kinds.count("TH") >= 20
    letters = _joined(pdf)
    assert "".join(f"{page.tables['summary'].caption}".split()) in letters
    for row in page.tables["summary"].cells():
        assert "".join("".join(cell.text for cell in row).split()) in letters


def test_the_page_and_the_pdf_say_the_same(page: Page, pdf: bytes) -> None:
    """The sentences on top, and the one on where the workload comes from."""
    letters = _joined(pdf)
    for said in (page.answer.headline, *page.answer.others, *page.answer.support):
        assert "".join(said.split()) in letters
    assert "itisnotaTPCbenchmark" in letters
    assert "runswithoutanetwork" not in letters


def test_it_is_dated_by_the_run(pdf: bytes) -> None:
    """Not by the moment at which it was made."""
    metadata = read_pdf(pdf).metadata
    assert metadata is not None
    assert metadata.creation_date == datetime.fromtimestamp(START_S, UTC)


def test_it_has_the_shipped_font_and_none_of_the_system(pdf: bytes) -> None:
    """Every font is inside, and each is known."""
    known = ("Inter", "DejaVuSansMono", "Libertinus")
    fonts = [
        str(font.get_object()["/BaseFont"])
        for page in read_pdf(pdf).pages
        for font in page["/Resources"].get("/Font", {}).values()  # type: ignore[attr-defined]  # a dictionary
    ]
    assert fonts
    assert all(any(name in font for name in known) for font in fonts), fonts


def test_names_with_code_stay_texts(tmp_path: Path) -> None:
    """Question, candidates and messages of a server may hold anything; none of it is run."""
    name = CODE.replace("/", "⁄")  # the id of a window becomes a folder
    bad = {window_id("plain", 1, 0): {"errors": 1, "error_text": HOSTILE}}
    shape = Shape(
        question=HOSTILE, candidates=("plain", name), users=(1, 4), duration_s=3, series=False,
        changes=bad,
    )  # fmt: skip
    page = _page(tmp_path, shape)
    first = page.figures[0]
    drawing = {figure.name: draw.svg(first.spec, first.name) for figure in page.figures}
    made = make(page, drawing)
    shown = HOSTILE.replace("\x1b", "[U+001B]").replace("\u202e", "[U+202E]")
    letters = _joined(made)
    # What is read from right to left may be told on either side of its neighbours.
    assert "".join(shown[: shown.index("[U+202E]")].split()) in letters
    assert "[U+202E][U+1F600]" in letters
    assert "".join(name.split()) in letters


def test_a_figure_without_an_image_of_its_own_does_not_end_it(page: Page) -> None:
    """Of a drawing without a size nothing is assumed but that it is square."""
    plain = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"></svg>'
    only = replace(page, groups=())
    assert make(only, {}).startswith(b"%PDF-")
    assert make(page, {figure.name: plain for figure in page.figures}).startswith(b"%PDF-")
