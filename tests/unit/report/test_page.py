"""The report of a run: complete, true to its files, safe, self-contained, and always the same."""

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from stithy.errors import InfrastructureError
from stithy.report.context import context_of
from stithy.report.drawing import draw
from stithy.report.page import build, render
from stithy.report.words.escape import seen
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.html_page import PrintedPage, read_page
from support.reported import write_report
from support.sample_run import Shape, build_run, window_id

HOSTILE = "<script>alert(1)</script>\"'&{{ 7 * 7 }}\u202e😀</style>--><!--"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A usual run with its report: two candidates, three levels, one invalid window."""
    root = tmp_path_factory.mktemp("report") / "run"
    broken = {window_id("disk", 1, 0): {"errors": 2, "error_text": "deadlock detected"}}
    directory = build_run(root, Shape(changes=broken))
    assert write_report(root) == (directory.page,)
    return directory


@pytest.fixture(scope="module")
def html(run: RunDirectory) -> str:
    """Its page."""
    return run.page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html: str) -> PrintedPage:
    """Its page, taken apart."""
    return read_page(html)


def _undrawn(root: Path, shape: Shape) -> str:
    """The page of a run, without the time that drawing takes."""
    build_run(root, shape)
    return _page_of(root)


def _page_of(root: Path) -> str:
    made = build(context_of(read_run(root)))
    return render(made, {figure.name: "<svg></svg>" for figure in made.figures})


def test_invalid_windows_are_told_on_top_and_explained_below(page: PrintedPage) -> None:
    """A person who reads only the top knows that something is wrong."""
    assert "1 of 6 windows is invalid: it supports no claim" in page.classed("flaws")
    (reasons,) = [table for table in page.tables if table.name == "reasons-gathered"]
    assert reasons.rows[0][0][0] == "invalid"
    assert "deadlock detected" in reasons.rows[0][1][0]


def test_the_page_has_the_parts_in_their_order(page: PrintedPage) -> None:
    """From the answer to the method, each reachable from the contents."""
    ids = [a["id"] for tag, a in page.elements if tag in ("header", "section") and "id" in a]
    assert ids == [
        "answer", "compared", "decisive", "certainty", "appendix", "levels", "set-up",
        "throughput", "response", "machine", "storage", "database", "seconds", "bottlenecks",
        "statistics", "validity", "method", "repeat", "environment",
    ]  # fmt: skip
    links = [a["href"] or "" for tag, a in page.elements if tag == "a" and "href" in a]
    inside = [each for each in links if each.startswith("#") and each != "#answer"]
    assert inside == [f"#{each}" for each in ids[1:]]


def test_the_files_of_a_figure_are_where_its_links_lead(
    run: RunDirectory, page: PrintedPage
) -> None:
    """Beside the page; from elsewhere nothing is linked."""
    links = [a["href"] or "" for tag, a in page.elements if tag == "a" and "href" in a]
    files = [each for each in links if not each.startswith("#")]
    assert len(files) == 5 * page.count("figure")
    assert [each for each in files if not (run.page.parent / each).is_file()] == []


def test_the_page_is_self_contained_and_small(html: str, page: PrintedPage) -> None:
    """Nothing is fetched: no links, images or styles from elsewhere; under 3 MB."""
    assert len(html.encode()) < 3_000_000
    assert page.count("link") == 0
    assert page.count("img") == 0
    for _, attributes in page.elements:
        assert not attributes.get("src")
    assert "default-src &#39;none&#39;" in html


def test_only_our_own_scripts_may_run(html: str) -> None:
    """The policy lists the hashes of the scripts that are there, and nothing else may run."""
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"&#39;sha256-{digest}&#39;" in policy[1]
    assert "unsafe-eval" not in policy[1]


def test_equal_results_give_equal_bytes(run: RunDirectory, html: str) -> None:
    """Page and files, made again from the same results."""
    files = {path: path.read_bytes() for path in run.report.rglob("*") if path.is_file()}
    write_report(run.root)
    assert run.page.read_text(encoding="utf-8") == html
    again = {path: path.read_bytes() for path in run.report.rglob("*") if path.is_file()}
    assert again.keys() == files.keys()
    assert [path for path in files if files[path] != again[path]] == []


def test_names_with_markup_stay_texts(tmp_path: Path) -> None:
    """Question, candidates and the server's messages may hold anything; none of it runs."""
    name = "<b onclick=alert(1)>\"'</b>"
    bad = {window_id("plain", 1, 0): {"errors": 1, "error_text": HOSTILE}}
    shape = Shape(question=HOSTILE, candidates=("plain", name), users=(1, 4), changes=bad)
    bad_path = tmp_path / "run"
    # The id of a window becomes a folder; a slash would lead elsewhere.
    shape = Shape(**{**shape.__dict__, "candidates": ("plain", name.replace("/", "⁄"))})
    page = read_page(_undrawn(bad_path, shape))
    assert page.count("b") == 0
    scripts = [a for tag, a in page.elements if tag == "script"]
    assert [a for a in scripts if "type" not in a] == [{}, {}]
    assert not any("onclick" in a for _, a in page.elements)
    assert seen(HOSTILE) in page.classed("<h1>")
    made = build(context_of(read_run(bad_path)))
    drawing = draw.svg(made.figures[0].spec, "x")
    assert "<b " not in drawing


def test_an_unenforced_memory_limit_is_noted_under_every_figure(tmp_path: Path) -> None:
    """The note must not get lost when a figure is copied out of the page."""
    shape = Shape(users=(1, 4), memory_limit_enforced=False, memory_limit_note="no rights")
    build_run(tmp_path, shape)
    made = build(context_of(read_run(tmp_path)))
    assert made.figures
    for figure in made.figures:
        assert "MEMORY LIMIT NOT ENFORCED" in figure.footer
        assert "no rights" not in figure.footer
    page = read_page(_page_of(tmp_path))
    [compared] = [table for table in page.tables if table.name == "compared"]
    assert [row for row in compared.rows if row[0][0] == "its memory" and "no rights" in row[1][0]]


def test_an_interrupted_run_says_what_was_not_run(tmp_path: Path) -> None:
    """Windows that are missing are counted on top and listed below."""
    left_out = frozenset({window_id("disk", 4, 0), window_id("memory", 4, 0)})
    shape = Shape(users=(1, 4), left_out=left_out, end="interrupted", end_because="Ctrl-C")
    page = read_page(_undrawn(tmp_path, shape))
    assert "2 of 4 planned windows were not run." in page.classed("flaws")
    assert "The run was interrupted: Ctrl-C." in page.classed("flaws")
    (missing,) = [table for table in page.tables if table.name == "missing"]
    assert {row[0][0] for row in missing.rows} >= {f"window {each}" for each in left_out}


def test_a_run_with_damaged_pieces_gives_a_page_of_the_rest(tmp_path: Path) -> None:
    """A manifest or table that cannot be read is listed, and nothing else is lost."""
    run = build_run(tmp_path, Shape(users=(1, 4)))
    run.manifest.write_text("{")
    run.study.unlink()
    run.window(window_id("disk", 1, 0)).table("seconds").write_bytes(b"not parquet")
    page = read_page(_page_of(tmp_path))
    assert "The manifest could not be read" in page.classed("flaws")
    (missing,) = [table for table in page.tables if table.name == "missing"]
    named = " ".join(row[0][0] for row in missing.rows)
    for piece in ("manifest.json", "study.yaml", "seconds.parquet"):
        assert piece in named
    assert str(tmp_path) not in named


def test_rows_that_are_too_many_to_print_are_said_to_be_where_they_are(tmp_path: Path) -> None:
    """Tables of the page and data of figures lie in folders of their own."""
    build_run(tmp_path, Shape(users=(1,), duration_s=3, series=False))
    made = build(context_of(read_run(tmp_path)))
    laws = made.tables["identities"]
    many = replace(laws, frame=pl.concat([laws.frame] * 201))
    made.tables["identities"] = many
    page = read_page(render(made, dict.fromkeys((each.name for each in made.figures), "")))
    told = " ".join(page.classed("<details>").split())
    rows = f"These {many.frame.height:,} rows are too many to print"
    assert f"{rows}; they are in report/tables/identities.csv" in told


def test_a_report_that_cannot_be_written_says_where_and_what_to_do(tmp_path: Path) -> None:
    """A file in the place of the folder, as an example of a place that refuses."""
    run = build_run(tmp_path, Shape(users=(1,), duration_s=3, series=False))
    run.report.write_text("in the way")
    with pytest.raises(InfrastructureError, match="the report cannot be written") as caught:
        write_report(tmp_path)
    assert str(run.report) in caught.value.where


def test_numbers_stay_with_their_units_and_quoted_files_stay_as_they_are(tmp_path: Path) -> None:
    """The sentences have no-break spaces; a study that is copied from the page has none."""
    page = _undrawn(tmp_path, Shape(users=(4,), repeat=4, duration_s=2, series=False))
    space = "\N{NO-BREAK SPACE}"
    assert f"(conservative 95{space}% intervals, 4{space}blocks)" in page
    assert f"Above 5{space}%, no difference is claimed" in page
    assert "  duration: 2 s\n" in page


def test_a_null_study_is_repeated_as_one(tmp_path: Path) -> None:
    """Without the option the same file would be another study."""
    shape = Shape(candidates=("disk", "again"), users=(1,), null=True, duration_s=4, series=False)
    html = _undrawn(tmp_path / "null", shape)
    assert "stithy plan study.yaml --null\nstithy run study.yaml --null</code>" in html
    usual = _undrawn(tmp_path / "usual", replace(shape, null=False))
    assert "stithy run study.yaml</code>" in usual


def test_of_several_candidates_the_page_says_what_choosing_a_pair_costs(tmp_path: Path) -> None:
    """And after how many blocks their orders are balanced; of two it says neither."""
    shape = Shape(candidates=("a", "b", "c"), users=(4,), repeat=4, duration_s=4, series=False)
    html = _undrawn(tmp_path / "three", shape).replace("\N{NO-BREAK SPACE}", " ")
    assert "They were chosen from 3 pairs after the measurement" in html
    assert "over a whole Williams square (6 blocks) each candidate follows" in html
    two = _undrawn(tmp_path / "two", replace(shape, candidates=("a", "b")))
    assert "Bonferroni" not in two
    assert "Williams" not in two
