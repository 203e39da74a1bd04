"""Code that somebody planted in names, notes, messages, settings or the study file never runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.browser import Browser, Look, Tab, tab
from support.looking import drawn, enliven, looked_at
from support.pages import page_of
from support.planted import CODE, NAMES, TEXT, TRACE, build_planted

pytestmark = pytest.mark.needs_browser


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a run that has it everywhere."""
    root = tmp_path_factory.mktemp("planted") / "run"
    build_planted(root)
    return page_of(root)


@pytest.fixture
def page(browser: Browser, planted: Path) -> Iterator[Tab]:
    """That page in a tab of its own."""
    with tab(browser, Look()) as opened:
        opened.open(planted)
        yield opened


def _quiet(page: Tab, planted: Path) -> None:
    """Nothing ran, asked or complained; a try that the page's policy stops is a complaint."""
    assert page.ask(f"globalThis.{TRACE} ?? null") is None
    assert page.complaints == []
    assert [request for request in page.requests if not request.startswith("data:")] == [
        planted.as_uri()
    ]


def test_nothing_of_it_runs_whatever_the_reader_does(page: Tab, planted: Path) -> None:
    """Read, unfolded, brought to life, pointed at, picked and looked at as on paper."""
    _quiet(page, planted)
    page.ask("document.querySelectorAll('details').forEach(each => { each.open = true })")
    enliven(page)
    states = page.ask("[...document.querySelectorAll('figure.figure')].map(f => f.dataset.state)")
    assert set(states) == {"live"}
    page.ask("document.querySelectorAll('.legend button').forEach(each => each.click())")
    page.ask("document.querySelectorAll('[autofocus], a, button').forEach(each => each.focus())")
    for number in range(len(states)):
        _point_at_first_mark(page, number)
    looked_at(page, Look(), media="print")
    _quiet(page, planted)


def _point_at_first_mark(page: Tab, figure: int) -> None:
    """The mouse over a mark of a figure, whose names a box then tells."""
    place = page.ask(f"""(figure => {{
        figure.scrollIntoView({{behavior: "instant"}});
        const mark = figure.querySelector(".stage .mark-symbol path, .stage .mark-rect path");
        const box = mark?.getBoundingClientRect();
        return box ? [box.x + box.width / 2, box.y + box.height / 2] : null;
    }})(document.querySelectorAll("figure.figure")[{figure}])""")
    if place:
        page.point(*place)
        drawn(page)


def test_all_of_it_is_there_to_be_read(page: Tab) -> None:
    """As letters: a name that is left out, or turned into an element, would be lost."""
    said = " ".join(page.ask("document.body.textContent").replace("\xa0", " ").split())
    for text in (*NAMES, TEXT):
        assert " ".join(text.split()) in said
    assert page.ask("document.querySelectorAll('main img, iframe, base, main meta').length") == 0
    assert page.ask("document.querySelectorAll('script:not([type])').length") == 2


def test_what_would_run_is_noticed(page: Tab, planted: Path) -> None:
    """The same code as an element: here the page's policy stops it, elsewhere it leaves a trace."""
    page.ask(f"""new Promise(done => {{
        addEventListener("securitypolicyviolation", done);
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror={CODE}>");
    }})""")
    assert page.complaints != []
    assert page.ask(f"globalThis.{TRACE} ?? null") is None
    free = planted.with_name("free.html")
    free.write_text(f"<body><p>{NAMES[0]}</p></body>")
    page.complaints.clear()
    page.open(free)
    assert page.ask(f"globalThis.{TRACE}") == 1
    assert "a dialog: 1" in page.complaints
