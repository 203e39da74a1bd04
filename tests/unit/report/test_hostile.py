"""Names and messages of any kind stay texts in everything that is written of a run.

Nothing of them runs, steers a terminal, computes in a spreadsheet or ends a document; whoever looks
closely sees each letter, or its number.
"""

import csv
import io
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stithy.cli.app import run as stithy
from stithy.registry import plugins
from stithy.report.between import pairs
from stithy.report.context import context_of
from stithy.report.drawing import draw
from stithy.report.junit import junit_xml
from stithy.report.page import build, render
from stithy.report.parts.answer import judged
from stithy.report.words.escape import seen
from stithy.results.read import read_run
from stithy.results.tables import SERIES
from stithy.results.write import write_table
from support.openmetrics import read
from support.pdf_text import text_of
from support.reported import write_report
from support.sample_run import Shape, build_run, window_id
from support.sample_thresholds import thresholds

PLANTED = "document.body.dataset.planted=1"
NAMES: Mapping[str, str] = {
    "markup": f"<img src=x onerror={PLANTED}>",
    "end of a script": f"⁄script><script>{PLANTED}<⁄script>".replace("⁄", "\N{FRACTION SLASH}"),
    "quotes": "a\"b'c`d",
    "template": "{{ 7 * 7 }}{% raw %}",
    "typst": "#panic() $x$ *b* #{1+1} @ref <label>",
    "expression": "datum.value || alert(1)",
    "format": "%s%n{0}%(name)s\\",
    "formula": "=cmd|' !A1",
    "right to left": "\N{RIGHT-TO-LEFT OVERRIDE}שלום عربى",
    "no width": "a\N{ZERO WIDTH SPACE}b\N{ZERO WIDTH NO-BREAK SPACE}",
    "emoji": "😀👨\N{ZERO WIDTH JOINER}👩",
    "long": "x" * 200,
    "lines": "first\nsecond\r\tthird",
    "escape": "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "nothing": "\x00\x7f\ufffe",
}
"""Kinds of names; of a candidate's there is a folder, which cannot have a slash or a NUL."""

MESSAGE = " ".join([*NAMES.values(), "</script></style>-->", f"<script>{PLANTED}</script>"])
PAIRS = tuple((kind, name) for kind, name in NAMES.items() if kind not in ("nothing", "long"))


def shape_of(name: str, other: str = "plain") -> Shape:
    """A short run with a candidate of this name, and the same in whatever else a person writes."""
    bad = {window_id(other, 1, 0): {"errors": 1, "error_text": MESSAGE, "memory_limit_note": name}}
    return Shape(
        question=f"{name} {MESSAGE}", candidates=(other, name[:100]), users=(1, 4), duration_s=3,
        changes=bad, end="failed", end_because=MESSAGE,
    )  # fmt: skip


@pytest.fixture(params=PAIRS, ids=[kind for kind, _ in PAIRS])
def hostile(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A run with such names, and the candidate's."""
    name = str(request.param[1])
    shape = shape_of(name)
    return build_run(tmp_path / "run", shape).root, name


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_has_no_element_and_no_script_of_a_name(hostile: tuple[Path, str]) -> None:
    """Its scripts are its own two and data; no attribute is an event's."""
    page = build(context_of(read_run(hostile[0])))
    parser = _Elements()
    parser.feed(render(page, dict.fromkeys((each.name for each in page.figures), "")))
    assert [a for tag, a in parser.found if tag == "script" and "type" not in a] == [{}, {}]
    assert not {tag for tag, _ in parser.found} & {"img", "label", "iframe", "object"}
    assert not [a for _, a in parser.found for key in a if key.startswith("on")]
    for _, attributes in parser.found:
        assert not re.search("javascript:", " ".join(map(str, attributes.values())))


def test_texts_and_exports_keep_each_name_in_its_place(hostile: tuple[Path, str]) -> None:
    """Markdown in its table, JSON as it is, CSV as no formula, metrics in one line each."""
    root, name = hostile
    context = context_of(read_run(root))
    page = build(context)
    md = plugins("format")["md"].make(page, {}).decode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b\u202e]", md)
    answer = json.loads(plugins("format")["json"].make(page, {}))
    assert answer["candidates"] == ["plain", name]
    exported = {
        each: "".join(module.export(context).pieces) for each, module in plugins("export").items()
    }
    rows = list(csv.reader(io.StringIO(exported["csv"], newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not [cell for row in rows for cell in row if re.match(r"[=+@\t\r]|-\D", cell)]
    candidates = {
        labels["candidate"]
        for family in read(exported["openmetrics"]).values()
        for labels, _, _ in family.samples
    }
    assert candidates == {"plain", name.replace("\r", " ")}
    assert any(f"candidate={name}/" in each for each in json.loads(exported["bencher"]))
    lines = [line for line in exported["go-bench"].split("\n") if line.startswith("Benchmark")]
    assert lines
    assert all(re.match(r"Benchmark\S+ \d+ ", line) for line in lines)


def test_junit_is_well_formed_xml(hostile: tuple[Path, str]) -> None:
    """Whatever XML cannot hold is replaced."""
    context = context_of(read_run(hostile[0]))
    ElementTree.fromstring(junit_xml(context, judged(context)))


def test_nothing_of_a_name_steers_a_terminal(
    hostile: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What commands show to people has no control character but line ends and tabs."""
    root = str(hostile[0])
    assert stithy(["compare", root, shutil.copytree(root, f"{root}-again")]) in (0, 5)
    stithy(["export", root, "--to", "nothing\x1b[31m"])
    shown = "".join(capsys.readouterr())
    assert shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)


@pytest.mark.parametrize(("kind", "name"), PAIRS, ids=[kind for kind, _ in PAIRS])
def test_a_run_of_such_a_name_is_told_beside_another(tmp_path: Path, kind: str, name: str) -> None:
    """Its directory, what weakens it and what differs are texts, in every format and drawing."""
    base = build_run(tmp_path / "plain", replace(shape_of(name), end="finished")).root
    folder = tmp_path / name
    changed = {"isolation": f"{name} {MESSAGE}"[:70]}
    other = build_run(folder, replace(shape_of(name), load=changed, seed=2)).root
    contexts = [context_of(read_run(root)) for root in (base, other)]
    page = build(contexts[0], pairs(contexts[0], contexts[1:], ["isolation"]))
    told = [figure for figure in page.figures if figure.name == "runs-1"]
    ElementTree.fromstring(draw.svg(told[0].spec, "runs-1"))
    parser = _Elements()
    parser.feed(render(page, dict.fromkeys((each.name for each in page.figures), "")))
    assert [a for tag, a in parser.found if tag == "script" and "type" not in a] == [{}, {}]
    assert not {tag for tag, _ in parser.found} & {"img", "label", "iframe", "object"}
    assert not [a for _, a in parser.found for key in a if key.startswith("on")]
    md = plugins("format")["md"].make(page, {}).decode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b\u202e]", md)
    answer = json.loads(plugins("format")["json"].make(page, {}))
    assert answer["runs"][0]["other"] == " ".join(seen(name).split()), kind


def test_all_of_them_at_once_are_drawn_and_printed(tmp_path: Path) -> None:
    """In every format and every figure, each of which is whole; the PDF says what stands there."""
    kinds = ("markup", "typst", "escape", "right to left", "formula")
    shape = Shape(
        question=MESSAGE, candidates=tuple(NAMES[kind] for kind in kinds), users=(1, 4),
        duration_s=3, thresholds=thresholds("disk.nopm_at_4 >= 1"),
    )  # fmt: skip
    run = build_run(tmp_path / "run", shape)
    path = run.window(window_id(NAMES["typst"], 4, 0)).table("series")
    (row, *_) = read_run(run.root).series.filter(window_id=path.parent.name).to_dicts()
    write_table(path, SERIES, [{**row, "subject": MESSAGE, "metric": MESSAGE, "value": 1.0}])
    write_report(run.root, ("html", "pdf", "md", "json"))
    told = text_of((run.root / "report.pdf").read_bytes())
    assert seen(NAMES["escape"])[:12] in told.replace("\n", "")
    drawings = list((run.root / "report" / "figures").glob("*.svg"))
    assert drawings
    for drawing in drawings:
        tree = ElementTree.fromstring(drawing.read_text())
        assert not [each.tag for each in tree.iter() if each.tag.endswith(("script", "img"))]


@pytest.mark.parametrize("kind", ["long", "nothing"])
def test_a_question_of_any_letters_and_length_is_told(tmp_path: Path, kind: str) -> None:
    """As a title and in a table."""
    build_run(tmp_path, Shape(question=NAMES[kind] * 3, users=(1,), duration_s=2, series=False))
    (path,) = write_report(tmp_path, ("pdf",))
    assert seen(NAMES[kind])[:8] in text_of(path.read_bytes())
