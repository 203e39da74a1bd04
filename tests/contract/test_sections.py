"""A section or finding of one file is in every format; nobody else knows of it."""

import json
from pathlib import Path

import pytest

from stithy.report.context import make_context
from stithy.results.files import read_run
from support.html_page import read_page
from support.pdf_text import text_of
from support.reported import write_report
from support.sample_run import Shape, build_run

SHAPE = Shape(users=(1,), duration_s=3, series=False)
SAID = (
    "Whose turn it was", "The candidates took turns.", "Every window, by its turn",
    "They took turns", "Each mark is a window.",
)  # fmt: skip


def test_an_own_section_is_in_every_format(fakes: Path, tmp_path: Path) -> None:
    """Its heading, words, table and figure, its place in the contents, and its files."""
    assert (fakes / "report/sections/turns.py").is_file()
    build_run(tmp_path, SHAPE)
    html, pdf, md, document = write_report(tmp_path, ("html", "pdf", "md", "json"))
    page = read_page(html.read_text("utf-8"))
    assert "#turns" in [a.get("href") for tag, a in page.elements if tag == "a"]
    printed = " ".join(text_of(pdf.read_bytes()).split())
    for text in (html.read_text("utf-8"), printed, md.read_text("utf-8")):
        assert [each for each in SAID if each not in text.replace("\N{NO-BREAK SPACE}", " ")] == []
    section = json.loads(document.read_text("utf-8"))["sections"]["turns"]
    assert section["heading"] == SAID[0]
    assert (section["facts"], section["figures"]) == ({"windows": 2}, {"turns": SAID[3]})
    assert section["tables"]["turns"][0] == {"turn": 1, "candidate": "memory"}
    assert (tmp_path / "report/tables/turns.csv").read_text().startswith("turn,candidate\n1,")
    assert (tmp_path / "report/figures/turns.svg").is_file()


def test_an_own_finding_is_in_every_format(fakes: Path, tmp_path: Path) -> None:
    """After those that answer the question, with its numbers in the table of findings."""
    assert (fakes / "report/findings/first.py").is_file()
    said = "memory was measured first."
    made = write_report(build_run(tmp_path, SHAPE).root, ("html", "pdf", "md", "json"))
    for path in made:
        content = path.read_bytes()
        text = text_of(content) if path.suffix == ".pdf" else content.decode()
        assert said in " ".join(text.split())


def test_without_tables_there_are_no_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scenario may read them as if they were there."""
    file = tmp_path / "own/scenarios/own/judge.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "from stithy.analysis.analyze import Losses\n\n\n"
        "class Own(Losses):\n    name, tables = 'own', frozenset({'io_seconds'})\n\n"
        "    def find_losses(self, analysis):\n        raise AssertionError\n\n\n"
        "PLUGINS = (Own(),)\n"
    )
    monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path / "own"))
    run = read_run(build_run(tmp_path / "run", SHAPE).root)
    assert make_context(run).evidence.windows


OWN_FIGURE = """from stithy.report.blocks import Absent, FigureKind


def plot(context):
    return [Absent("throughput-by-users", "the same again", "it is there")]


PLUGINS = (FigureKind(name="again", section="levels", order=1, plot=plot),)
"""


@pytest.mark.parametrize(("what", "refused"), [
    ("report/sections", "two tables of the report are called 'windows'"),
    ("figure", "two figures of the report have one name"),
])  # fmt: skip
def test_a_name_used_twice_is_refused(
    what: str, refused: str, fakes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two would silently be the other."""
    folder = tmp_path / "own" / ("report/figures" if what == "figure" else what)
    folder.mkdir(parents=True)
    text = (
        (fakes / "report/sections/turns.py")
        .read_text()
        .replace('NAME = "turns"', 'NAME = "windows"')
    )
    (folder / "again.py").write_text(text if "sections" in what else OWN_FIGURE)
    monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path / "own"))
    with pytest.raises(ValueError, match=refused):
        write_report(build_run(tmp_path / "run", SHAPE).root)
