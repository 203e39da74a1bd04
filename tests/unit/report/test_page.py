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
from stithy.report.words.letters import seen
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.html_page import PrintedPage, PrintedTable, read_page
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


def _file(run: RunDirectory, table: PrintedTable) -> pl.DataFrame:
    (path,) = run.report.glob(f"*/{table.name}.parquet")
    return pl.read_parquet(path)


def test_every_number_of_the_tables_is_in_the_parquet_file_of_its_table(
    run: RunDirectory, page: PrintedPage
) -> None:
    """Row by row, the number behind a cell is in the same row of the file."""
    checked = 0
    for table in page.tables:
        rows = _file(run, table).rows()
        assert len(rows) == len(table.rows), table.name
        for printed, stored in zip(table.rows, rows, strict=True):
            numbers = {float(v) for v in stored if isinstance(v, int | float)}
            for text, value in printed:
                if value is not None:
                    assert float(value) in numbers, (table.name, text)
                    checked += 1
    assert checked > 500


def test_no_cell_prints_a_number_without_the_number_behind_it(page: PrintedPage) -> None:
    """A cell that looks like a plain number always has its value."""
    number = re.compile(r"^-?[\d,.]+( ?(%|µs|ms|s|min|[KMG]iB|B))?$")
    facts = [table for table in page.tables if not table.name.startswith("facts-")]
    bare = [
        (table.name, text)
        for table in facts
        for row in table.rows
        for text, value in row
        if number.match(text) and value is None
    ]
    assert bare == []


UNITS = {"": 1.0, "%": 0.01, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "MiB": 2.0**20, "GiB": 2.0**30}


def test_every_cell_says_what_its_number_is(page: PrintedPage) -> None:
    """The text, read back with its unit, is the number behind it to within its rounding."""
    pattern = re.compile(r"^(-?[\d,.]+) ?(%|µs|ms|s|MiB|GiB)?$")
    found = 0
    for table in page.tables:
        for row in table.rows:
            for text, value in row:
                if value is not None and (match := pattern.match(text)):
                    found += 1
                    unit = UNITS[match[2] or ""]
                    shown = float(match[1].replace(",", "")) * unit
                    assert shown == pytest.approx(float(value), rel=0.05, abs=0.51 * unit)
    assert found > 100


def test_the_numbers_of_the_answer_are_those_of_the_windows(
    run: RunDirectory, page: PrintedPage
) -> None:
    """Computed here anew from the Parquet files of the windows."""
    top = pl.read_parquet(run.windows / "*" / "window.parquet").filter(pl.col("users") == 13)
    nopm = dict(zip(top["candidate"], top["nopm"], strict=True))
    answer = page.classed("answer")
    assert f"{nopm['memory'] / nopm['disk']:.1f} times" in answer
    assert f"were {nopm['memory']:,.0f} and {nopm['disk']:,.0f}, " in page.classed("detail")


def test_the_summary_has_nopm_of_both_and_their_ratio_for_each_user_count(
    run: RunDirectory, page: PrintedPage
) -> None:
    """Invalid windows leave a dash, and no ratio is formed with them."""
    windows = pl.read_parquet(run.windows / "*" / "window.parquet")
    nopm = {(r["candidate"], r["users"]): r["nopm"] for r in windows.to_dicts()}
    (summary,) = [table for table in page.tables if table.name == "summary"]
    texts = {row[0][0]: [text for text, _ in row[1:4]] for row in summary.rows}
    assert texts["1"] == ["–", f"{nopm['memory', 1]:,.0f}", "–"]
    for users in (4, 13):
        disk, memory = nopm["disk", users], nopm["memory", users]
        assert texts[str(users)] == [f"{disk:,.0f}", f"{memory:,.0f}", f"{memory / disk:.2f}"]


def test_numbers_of_the_sentences_are_in_the_findings_table(
    run: RunDirectory, page: PrintedPage
) -> None:
    """Each number, as it may be written, comes from a stored one."""
    from stithy.report.words.wording import count, percent, times, took

    stored = pl.read_parquet(run.report / "tables" / "findings.parquet")["value"].to_list()
    written = {"95", "95th", "4"}  # and the blocks that a verdict needs
    for value in stored:
        value = abs(value)
        written |= {count(value), took(value).split()[0], percent(value).split()[0]}
        written |= {times(value), times(1 / value)} if value > 0 else set()
    for text in (page.classed("answer"), page.classed("detail"), page.classed("findings")):
        for number in re.findall(r"\d[\d,.]*(?:th)?", text):
            assert number.rstrip(".,") in written, (number, text)


def test_numbers_of_the_titles_are_in_the_files(run: RunDirectory, page: PrintedPage) -> None:
    """In the figure's own data, or as the ratio kept with the title."""
    from stithy.report.words.wording import count, percent, times, took

    titles = pl.read_parquet(run.report / "tables" / "titles.parquet").to_dicts()
    assert len(titles) == page.count("figure")
    for row in titles:
        data = pl.read_parquet(run.report / "figures" / f"{row['figure']}.parquet")
        stored = [row["ratio"]] if row["ratio"] else []
        for column in data.get_columns():
            if column.dtype.is_numeric():
                stored += column.drop_nulls().to_list()
        written = {
            say(value).split()[0] for value in stored for say in (count, percent, times, took)
        }
        written |= {"95th", "95", "5"} | {str(users) for users in (1, 4, 13)}
        for number in re.findall(r"\d[\d,.]*(?:th)?", row["title"]):
            assert number.rstrip(".,") in written, (row["title"], number)


def test_every_figure_has_title_words_and_data(run: RunDirectory, page: PrintedPage) -> None:
    """In the page and as files, so that it can be read, heard and used elsewhere."""
    figures = page.count("figure")
    assert figures >= 15
    assert page.count("figcaption") == figures
    described = [a for tag, a in page.elements if tag == "div" and a.get("role") == "img"]
    assert len(described) == figures
    assert all(attributes["aria-label"] for attributes in described)
    for ending in ("svg", "png", "vl.json", "parquet", "csv"):
        assert len(list((run.report / "figures").glob(f"*.{ending}"))) == figures
    for title in page.texts["<h3>"]:
        assert title.strip() or title.isspace()


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
        "answer", "compared", "throughput", "response", "limits", "machine", "storage", "database",
        "seconds", "certainty", "validity", "method", "repeat", "environment",
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


def test_the_sentence_on_where_the_workload_comes_from_is_there(html: str) -> None:
    """No report may be taken for a result of the specification's owner."""
    assert "is not a TPC benchmark" in " ".join(html.split())
    assert "not comparable with published TPC results" in " ".join(html.split())


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


def test_a_run_without_series_says_which_figures_it_cannot_show(tmp_path: Path) -> None:
    """The reasons stand where the figures would."""
    page = read_page(_undrawn(tmp_path, Shape(users=(1, 4), series=False)))
    absent = page.classed("absent").replace("`", "")
    assert "CPU states; no valid window has samples of cpu" in absent
    assert page.count("figure") >= 6


def test_a_candidate_without_any_window_is_told(tmp_path: Path) -> None:
    """It stays in the tables with dashes, and the answer says that there is no comparison."""
    gone = frozenset(window_id("memory", users, 0) for users in (1, 4))
    page = read_page(_undrawn(tmp_path, Shape(users=(1, 4), left_out=gone)))
    assert "memory has no window" in page.classed("answer")
    assert "NOPM memory" in page.classed("summary")


def test_a_run_that_was_stopped_before_its_first_window_gives_a_page(tmp_path: Path) -> None:
    """There is nothing to show, and the page says so."""
    every = frozenset(window_id(name, 1, 0) for name in ("disk", "memory"))
    page = read_page(_undrawn(tmp_path, Shape(users=(1,), left_out=every)))
    assert "This run gives no answer: the run has no window yet." in page.classed("answer")
    assert page.count("figure") == 0


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
    assert f"over 5{space}% no difference is claimed" in page
    assert "  duration: 2 s\n" in page


def test_several_blocks_give_intervals(tmp_path: Path) -> None:
    """With repeats the summary has the bounds of the ratio."""
    page = read_page(_undrawn(tmp_path, Shape(users=(1, 4), repeat=3)))
    assert "(not tested, 3 blocks)" in page.classed("answer")
    assert "(plain 95 % t intervals, 3 blocks)" in page.classed("detail")
    (summary,) = [table for table in page.tables if table.name == "summary"]
    assert len(summary.rows[0]) == 1 + 2 + 3 + 2


def test_many_candidates_and_levels_fit(tmp_path: Path) -> None:
    """Six candidates are drawn and compared with the first."""
    names = tuple(f"candidate-{n}" for n in range(6))
    page = read_page(_undrawn(tmp_path, Shape(candidates=names, users=(1, 2), duration_s=3)))
    (summary,) = [table for table in page.tables if table.name == "summary"]
    assert len(summary.rows[0]) == 1 + 6 + 5 + 6


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
    assert "they were chosen among 3 pairs after all were measured" in html
    assert "over a whole Williams square (6 blocks) each follows each other equally often" in html
    two = _undrawn(tmp_path / "two", replace(shape, candidates=("a", "b")))
    assert "Bonferroni" not in two
    assert "Williams" not in two
