"""A report and its exports as files: complete, true, safe, self-contained, never half written."""

import base64
import csv
import hashlib
import io
import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from unittest.mock import Mock
from xml.etree import ElementTree

import polars as pl
import pytest

from stithy.cli.app import run as stithy
from stithy.errors import InfrastructureError, UserError
from stithy.metrics import Quantity
from stithy.registry import plugins
from stithy.report.between import pair_runs
from stithy.report.context import Context
from stithy.report.drawing import draw
from stithy.report.drawing.draw import make_pdf
from stithy.report.exports import ExportFormat
from stithy.report.exports.openmetrics import make_metric_family
from stithy.report.formats import ReportFormat
from stithy.report.formats.html import render
from stithy.report.junit import SUITE, write_junit
from stithy.report.page import Page
from stithy.report.sections.answer import answer, describe_main_findings, judge_all
from stithy.report.words.escape import escape_unseen
from stithy.report.write import parse_formats
from stithy.results.manifest import LimitFacts
from stithy.workloads.order_entry import HAMMERDB
from support.drawn import context_built
from support.html_page import read_page
from support.openmetrics import read
from support.pdf_text import read_pdf, text_of
from support.reported import NOTHING_DRAWN, write_report
from support.sample_run import START_S, Shape, build_run, window_id
from support.sample_thresholds import thresholds

SHORT = Shape(users=(1, 4), duration_s=3, series=False)
CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def html(context: Context) -> str:
    """The page of a run without the time that drawing takes; a space is a space."""
    page = Page(context)
    made = render(page, {figure.name: "<svg></svg>" for figure in page.figures})
    return made.replace("\N{NO-BREAK SPACE}", " ")


def files(root: Path) -> dict[Path, bytes]:
    """All that lies there."""
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def exported(context: Context, name: str) -> str:
    """The whole document of an export."""
    return "".join(plugins(ExportFormat)[name].export(context).pieces)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A usual run with its report: two candidates, two levels, one invalid window."""
    root = tmp_path_factory.mktemp("report") / "run"
    broken = {window_id("disk", 1, 0): {"errors": 2, "error_text": "deadlock detected"}}
    build_run(root, replace(SHORT, changes=broken))
    assert write_report(root, ("html", "pdf")) == (root / "report.html", root / "report.pdf")
    return root


def test_the_page_is_whole_self_contained_and_runs_its_own_scripts_alone(written: Path) -> None:
    """Nothing is fetched, each part is in the contents, each link of a figure leads to a file."""
    text = (written / "report.html").read_text(encoding="utf-8")
    page = read_page(text)
    ids = [a["id"] for tag, a in page.elements if tag in ("header", "section") and "id" in a]
    links = [a["href"] or "" for tag, a in page.elements if tag == "a" and "href" in a]
    inside = [link for link in links if link.startswith("#") and link != "#answer"]
    assert inside == [f"#{each}" for each in ids[1:]]
    assert (ids[0], len(ids)) == ("answer", 19)
    outside = [each for each in links if not each.startswith("#")]
    assert len(outside) == 5 * page.count("figure")
    assert [each for each in outside if not (written / each).is_file()] == []
    assert len(text.encode()) < 3_000_000
    assert page.count("link") + page.count("img") == 0
    assert not [a for _, a in page.elements if a.get("src")]
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    assert len(digests) == 2
    assert all(
        f"&#39;sha256-{base64.b64encode(digest).decode()}&#39;" in policy for digest in digests
    )
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe-eval" not in policy


def test_a_figure_that_is_cut_out_says_what_the_report_says_of_it(written: Path) -> None:
    """Title, description and footer are inside its drawing and its specification."""
    for figure in Page(context_built(written)).figures:
        stem = written / "report" / "figures" / figure.name
        spec = json.loads(Path(f"{stem}.vl.json").read_text())
        inside = [*spec["title"]["text"], *spec["title"]["subtitle"], spec["description"]]
        drawn = ElementTree.parse(f"{stem}.svg").getroot().itertext()
        for texts in (inside, drawn):
            letters = "".join("".join(texts).split())
            for words in (figure.title, figure.description, figure.footer):
                assert "".join(words.split()) in letters, figure.name


def test_equal_results_give_equal_bytes_also_of_two_who_write_at_once(written: Path) -> None:
    """Page, drawings, images and tables, made again one after the other; nothing is left over."""
    before = files(written)
    assert any(path.suffix == ".png" for path in before)
    with ThreadPoolExecutor(2) as both:
        made = [both.submit(write_report, written) for _ in range(2)]
    assert [each.result() for each in made] == [(written / "report.html",)] * 2
    again = files(written)
    assert again.keys() == before.keys()
    assert [path for path in before if before[path] != again[path]] == []


def test_a_report_that_is_not_finished_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up, a person who stops it, or a file in the place of the folder."""
    build_run(tmp_path, replace(SHORT, users=(1,)))
    (tmp_path / "report").write_text("in the way")
    with pytest.raises(InfrastructureError) as caught:
        write_report(tmp_path, ("md",))
    assert str(tmp_path / "report") in caught.value.where
    assert (tmp_path / "report").read_text() == "in the way"
    (tmp_path / "report").unlink()
    assert write_report(tmp_path, ("md",)) == (tmp_path / "report.md",)
    assert not (tmp_path / "report.html").exists()
    before = files(tmp_path)
    for failure, expected in (
        (OSError(28, "No space left on device"), InfrastructureError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ):
        monkeypatch.setattr("stithy.report.write.make_png", Mock(side_effect=failure))
        with pytest.raises(expected):
            write_report(tmp_path, ("md",))
        assert files(tmp_path) == before


@pytest.mark.parametrize(("text", "meant"), [("pdff", "pdf"), ("html,mdd", "md")])
def test_an_unknown_format_is_refused_with_what_there_is(text: str, meant: str) -> None:
    """And with the one that may be meant; one named twice is made once."""
    with pytest.raises(UserError, match="no format is called") as caught:
        parse_formats(text)
    assert caught.value.where == f"--format {text}"
    assert f"did you mean {meant}? There are html, json, md, pdf" in caught.value.remedy
    assert parse_formats("md, html,md") == ("md", "html")


def test_what_must_stand_beside_every_number_stands_beside_every_number(tmp_path: Path) -> None:
    """A profile that is not specified, a memory limit that is not held, a drive that is none."""
    shape = replace(SHORT, options={"profile": "hammerdb"}, memory_limit_enforced=False,
                    drives={"disk": 0.02}, null=True,
                    thresholds=thresholds("disk.nopm_at_1 > 1"))  # fmt: skip
    context = context_built(tmp_path / "run", shape)
    page, text = Page(context), html(context)
    label = str(context.label)
    assert label.startswith(f"{HAMMERDB}; ")
    assert f'<p class="label">{label}</p>' in text
    tables = [table for table in read_page(text).tables if not table.name.startswith("facts-")]
    assert text.count(f"· {label}</caption>") == len(tables) > 5
    for said in ("MEMORY LIMIT NOT ENFORCED", "EMULATED"):
        assert all(said in figure.footer for figure in page.figures)
    assert describe_main_findings(context)[0] == f"{label}."
    assert "disk (sample-ssd at scale 1/8) is an emulated drive" in " ".join(
        answer(context).support
    )
    assert "Assumed are write and flush; its other numbers name their source." in text
    assert "EMULATED drives: disk = " in write_junit(context, judge_all(context)).decode()
    tpm = read(exported(context, "openmetrics"))["stithy_window_transactions_per_minute"]
    notes = {labels["candidate"]: labels["note"] for labels, _, _ in tpm.samples}
    assert "EMULATED drive" in notes["disk"]
    assert "EMULATED" not in notes["memory"]
    assert "stithy run study.yaml --null</code>" in text
    plain = html(context_built(tmp_path / "plain", SHORT))
    assert "stithy run study.yaml</code>" in plain
    assert HAMMERDB not in plain


def test_a_run_with_damaged_pieces_gives_a_page_of_the_rest(tmp_path: Path) -> None:
    """What cannot be read, or was not run, is listed; of too many rows it says where they are."""
    late = {window_id("disk", 1, 0): {"lateness_mean_s": 0.02}}
    left_out = frozenset({window_id("disk", 4, 0)})
    run = build_run(tmp_path, replace(SHORT, left_out=left_out, changes=late))
    page = Page(context_built(tmp_path))
    because = dict(page.tables["missing"].frame.select("what", "because").iter_rows())
    assert because["values of disk at 1 user"] == "no window of disk is valid (1 of 1: driver late)"
    laws = page.tables["identities"]
    page.tables["identities"] = replace(laws, frame=pl.concat([laws.frame] * 201))
    shown = read_page(render(page, dict.fromkeys((figure.name for figure in page.figures), "")))
    text = " ".join(shown.classed("<details>").split())
    many = f"These {201 * laws.frame.height:,} rows are too many to print. They are in"
    assert f"{many} report/tables/identities.csv" in text
    rows = [row[0][0] for table in shown.tables if table.name == "missing" for row in table.rows]
    assert "window w-disk-u4-b0" in rows
    run.manifest.write_text("{")
    run.study.unlink()
    run.window(window_id("disk", 1, 0)).table("seconds").write_bytes(b"not parquet")
    context = context_built(tmp_path)
    found = read_page(html(context))
    assert "The manifest could not be read" in found.classed("flaws")
    [missing] = [table for table in found.tables if table.name == "missing"]
    named = " ".join(row[0][0] for row in missing.rows)
    assert all(name in named for name in ("manifest.json", "study.yaml", "seconds.parquet"))
    assert str(tmp_path) not in named
    md = plugins(ReportFormat)["md"].make(Page(context), {}).decode()
    assert "# Report of a run whose question is not known\n" in md
    assert "stithy run" not in md


def test_the_pdf_says_what_the_page_says_tagged_and_dated_by_the_run(written: Path) -> None:
    """Its fonts are inside; of a drawing without a size nothing is assumed but a square."""
    content = (written / "report.pdf").read_bytes()
    page, letters = Page(context_built(written)), "".join(text_of(content).split())
    top = answer(page.context)
    said = [top.headline, *top.findings, *top.support, "it is not a TPC benchmark"]
    said += [cell.text for row in page.tables["summary"].cells() for cell in row]
    said += [f"Figure {n} {each.title}" for n, each in enumerate(page.figures, start=1)]
    assert [each for each in said if "".join(each.split()) not in letters] == []
    assert "runswithoutanetwork" not in letters
    reader = read_pdf(content)
    assert reader.metadata is not None
    assert reader.metadata.creation_date == datetime.fromtimestamp(START_S, UTC)
    fonts = re.findall(r"/BaseFont': '/([^']*)'", str([
        font.get_object() for sheet in reader.pages
        for font in sheet["/Resources"].get("/Font", {}).values()  # type: ignore[attr-defined]  # a dictionary
    ]))  # fmt: skip
    assert fonts
    assert not [each for each in fonts if not re.search("Inter|DejaVuSansMono|Libertinus", each)]
    empty = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"></svg>'
    make = plugins(ReportFormat)["pdf"].make
    assert (
        make(page, dict.fromkeys((figure.name for figure in page.figures), empty))[:5] == b"%PDF-"
    )


def test_a_table_wider_than_a_page_is_set_in_parts_with_its_first_column() -> None:
    """No cell is lost, and an interval stays with the value before it."""
    headings = ["Users", *("a", "b", "from", "to (95 %)") * 5]
    cells = ["first", *(f"c{number}" for number in range(20))]
    title = {"kind": "heading", "level": 0, "text": "Which?"}
    wide = {"kind": "grid", "name": "t", "caption": "Wide", "style": "", "headings": headings,
            "numeric": [True] * 21, "rows": [cells]}  # fmt: skip
    lines = text_of(make_pdf([title, wide], {}, 0)).splitlines()
    assert [line for line in lines if line.startswith("Users")] == [
        "Users a b from to (95 %) a b from to (95 %) a",
        "Users b from to (95 %) a b from to (95 %) a", "Users b from to (95 %)",
    ]  # fmt: skip
    parts = [line.split() for line in lines if line.startswith("first")]
    assert [cell for part in parts for cell in part[1:]] == [*cells[1:]]


def test_exports_have_the_numbers_of_valid_windows(tmp_path: Path) -> None:
    """By the grammar of each; means with Student's interval, one window without bounds."""
    shape = replace(SHORT, repeat=4, series=True, changes={"w-disk-u1-b0": {"errors": 5}})
    context = context_built(tmp_path / "four", shape)
    run = context.run
    listed = json.loads(exported(context, "bencher"))["order-entry/candidate=memory/users=4"]
    assert listed.keys() == {"nopm", "tpm", "p50-seconds", "p95-seconds", "error_share"}
    each = run.window.filter(candidate="memory", users=4)["headline_per_min"].to_list()
    half = 3.182446 * stdev(each) / 2
    found = [listed["nopm"][name] for name in ("value", "lower_value", "upper_value")]
    assert found == pytest.approx([fmean(each), fmean(each) - half, fmean(each) + half], rel=1e-6)
    one = json.loads(exported(context_built(tmp_path / "one", SHORT), "bencher"))
    alone = one["order-entry/candidate=memory/users=4"]
    assert {name: [*values] for name, values in alone.items()} == {
        "nopm": ["value"], "tpm": ["value"], "p50-seconds": ["value"], "error_share": ["value"],
    }  # fmt: skip
    lines = exported(context, "go-bench").splitlines()
    grammar = (r"[a-z][^\sA-Z:]*: \S.*|Unit \S+ better=(higher|lower)|"
               r"Benchmark[A-Z]\S* \d+( \d+(\.\d+)?(e-?\d+)? \S+)+|")  # fmt: skip
    assert not [line for line in lines if not re.fullmatch(grammar, line)]
    assert plugins(ExportFormat)["go-bench"].export(context).left_out == 1
    [row] = run.window.filter(window_id="w-memory-u4-b1").to_dicts()
    [whole] = run.transactions.filter(window_id=row["window_id"], transaction="all").to_dicts()
    assert (
        f"BenchmarkOrderEntry/candidate=memory/users=4 {row['transactions']} "
        f"{row['headline_per_min']!r} nopm {row['tpm']!r} tpm "
        f"{whole['response_p50_s']!r} p50-sec/op 0.0 error_share"
    ) in lines
    families = {name: each.samples for name, each in read(exported(context, "openmetrics")).items()}
    tpm = families["stithy_window_transactions_per_minute"]
    assert {labels["window"]: (value, at_s) for labels, value, at_s in tpm} == {
        each["window_id"]: (each["tpm"], round(each["measure_to_s"], 3))
        for each in run.window.to_dicts()
    }
    done = pl.col("committed") + pl.col("rolled_back")
    p50 = families["stithy_second_response_p50_seconds"]
    assert len(p50) == run.seconds_by_type.filter(done >= 200)["response_p50_s"].count() > 0
    assert "stithy_second_response_p95_seconds" not in families
    writes = families["stithy_block_write_latency_seconds"]
    known = run.series.filter(collector="block", metric="write_latency_s")["value"]
    assert len(writes) == known.count()


TEXTS = ("memory.nopm_at_4 >= disk.nopm_at_4", "disk.p95_at_4 <= 5 ms", "disk.nopm_at_1 > 5")


@pytest.mark.parametrize(("metric", "name", "unit"), [
    ("tenant.tpm", "tenant_transactions_per_minute", "per_minute"),
    ("isolation_lost", "isolation_lost_ratio", "ratio"),
    ("backup.p95_ratio", "backup_p95_ratio", "ratio"),
    ("backup.duration_s", "backup_duration_seconds", "seconds"),
    ("fio.p99.9", "fio_p99_9_seconds", "seconds"),
    ("fio.worst_iops", "fio_worst_requests_per_second", "per_second"),
    ("backup.commits", "backup_commits", ""),
])  # fmt: skip
def test_a_metric_of_an_activity_is_exported_with_its_unit(
    metric: str, name: str, unit: str
) -> None:
    """Also where its own name does not say it."""
    each = make_metric_family(Quantity(metric))
    assert (each.name, each.unit) == (f"stithy_{name}", unit)


def test_junit_has_the_shape_that_ci_systems_read(tmp_path: Path) -> None:
    """By Jenkins' and Surefire's schemas: one outcome a case, counts that fit, times as numbers."""
    shape = replace(SHORT, thresholds=thresholds(*TEXTS), changes={"w-disk-u1-b0": {"errors": 9}},
                    question='Is <b> "faster" & cheaper\uffff\x01 than ]]>?')  # fmt: skip
    context = context_built(tmp_path, shape)
    [suite] = ElementTree.fromstring(write_junit(context, judge_all(context)))
    assert (suite.tag, suite.get("name"), suite[0].tag) == ("testsuite", SUITE, "properties")
    assert suite.get("timestamp") == "2027-01-15T08:00:00"
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == [*"3110"]
    assert float(suite.get("time", "")) > 0
    cases = suite[1:]
    named = [(case.tag, case.get("name"), case.get("classname")) for case in cases]
    assert named == [("testcase", text, SUITE) for text in TEXTS]
    assert [case[0].tag for case in cases] == ["system-out", "failure", "error"]
    [failure], [error] = cases[1], cases[2]
    assert (failure.get("type"), error.get("type")) == ("threshold", "no-evidence")
    assert re.fullmatch(r"not met: .* ms and 5 ms", failure.get("message", ""))
    assert re.match(r"disk.p95_at_4 = 0\.0\d{3,} s\n5 ms = 0.005 s", failure.text or "")
    listed = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert listed["question"] == 'Is <b> "faster" & cheaper[U+FFFF][U+0001] than ]]>?'
    assert str(listed["window.w-disk-u1-b0"]).startswith("invalid: Unexpected errors: 9")
    assert listed["window.w-memory-u4-b0"] == "valid"


PLANTED = "document.body.dataset.planted=1"
NAMES = (
    f"<img src=x onerror={PLANTED}>", f"⁄script><script>{PLANTED}<⁄script>", "a\"b'c`d",
    "{{ 7 * 7 }}{% raw %}", '#panic() $x$ *b* #{1+1} @ref <label> #read("⁄etc⁄hostname") ⁄* \\',
    "datum.value || alert(1)", "%s%n{0}%(name)s\\", "=cmd|' !A1", "שלום\N{RIGHT-TO-LEFT OVERRIDE}",
    "a\N{ZERO WIDTH SPACE}b\N{ZERO WIDTH NO-BREAK SPACE}", "😀\N{ZERO WIDTH JOINER}👩", "x" * 100,
    "first\nsecond\r\tthird", "\x1b[31mred\x1b]0;title\x07\x9b2J", "a b", "a=b", "ab-2",
)  # fmt: skip
"""Of a candidate's name there is a folder, which cannot have a slash or a NUL."""
MESSAGE = " ".join([*NAMES, "\x00\x7f\ufffe</script></style>-->", f"<script>{PLANTED}</script>"])


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A run of candidates with such names, and the same in whatever else a person writes."""
    bad = {window_id(NAMES[0], 1, 0): {"errors": 1, "error_text": MESSAGE}}
    shape = Shape(question=MESSAGE, candidates=NAMES, users=(1, 4), duration_s=3, changes=bad,
                  end="failed", end_because=MESSAGE, thresholds=thresholds("disk.nopm_at_4 >= 1"),
                  limit=LimitFacts(percentile="p50", transaction="all", limit_s=1))  # fmt: skip
    return context_built(tmp_path_factory.mktemp("hostile") / "run", shape)


def _is_harmless(page: Page) -> None:
    """No element and no script is of a name; no attribute is an event's."""
    html = render(page, dict.fromkeys((figure.name for figure in page.figures), ""))
    found = read_page(html)
    data = re.findall(r"<script type=[^>]*>(.*?)</script>", html, re.DOTALL)
    assert len(data) > len(page.figures)
    assert "<" not in "".join(data)
    assert [a for tag, a in found.elements if tag == "script" and "type" not in a] == [{}, {}]
    assert not {tag for tag, _ in found.elements} & {"img", "label", "iframe", "object", "b"}
    assert not [a for _, a in found.elements for key in a if key.startswith("on")]
    assert not re.search("javascript:", str(found.elements))
    md = plugins(ReportFormat)["md"].make(page, {}).decode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b\u202e]", md)
    outside = re.sub(r"(?ms)^(`{3,})\n.*?\n\1$|\]\(report/figures/", "", md)
    assert not re.search(r"(?<!\\)<script|(?<!\\)\]\(|@ref", outside)


def test_names_and_messages_of_any_kind_stay_texts_in_page_and_drawings(hostile: Context) -> None:
    """Nothing of them runs or ends a document; whoever looks closely sees each letter."""
    page = Page(hostile)
    _is_harmless(page)
    assert json.loads(plugins(ReportFormat)["json"].make(page, {}))["candidates"] == [*NAMES]
    for figure in page.figures:
        tree = ElementTree.fromstring(draw.draw_svg(figure.spec, figure.name))
        assert not [one.tag for one in tree.iter() if one.tag.endswith(("script", "img", "}b"))]
    ElementTree.fromstring(write_junit(hostile, judge_all(hostile)))
    # What is drawn was looked at above, and takes long to read from a PDF.
    drawings = dict.fromkeys((each.name for each in page.figures), NOTHING_DRAWN)
    letters = "".join(text_of(plugins(ReportFormat)["pdf"].make(page, drawings)).split())
    for name in (NAMES[4], escape_unseen(NAMES[13]), escape_unseen("\x00\x7f\ufffe")):
        assert "".join(name.split())[:20] in letters


def test_exports_keep_each_name_in_its_place(hostile: Context) -> None:
    """CSV has no formula, metrics a line each, a name of a benchmark stays one word of its own."""
    rows = list(csv.reader(io.StringIO(exported(hostile, "csv"), newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert not [cell for row in rows for cell in row if re.match(r"[=+@\t\r]|-\D", cell)]
    listed = {row[rows[0].index("valid")]: row[rows[0].index("invalid_because")] for row in rows}
    assert (listed["true"], listed["false"][:17]) == ("", "Unexpected errors")
    families = read(exported(hostile, "openmetrics")).values()
    found = {labels["candidate"] for family in families for labels, _, _ in family.samples}
    assert found == {name.replace("\r", "[U+000D]") for name in NAMES}
    names = [*json.loads(exported(hostile, "bencher"))]
    assert all(any(f"candidate={name}/" in each for each in names) for name in NAMES)
    lines = re.findall(r"^Benchmark.*$", exported(hostile, "go-bench"), re.MULTILINE)
    assert all(re.match(r"Benchmark\S+/candidate=\S+/users=[14] \d+ ", line) for line in lines)
    assert len({line.split()[0] for line in lines}) == 2 * len(NAMES) - 1
    assert any("candidate=a%20b/" in line for line in lines)


def test_nothing_of_a_name_steers_a_terminal_or_a_report_beside_another(
    hostile: Context, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What commands show has no control character but line ends and tabs; folders are texts too."""
    root = hostile.run.directory.root
    other = tmp_path / NAMES[13] / NAMES[0]
    shutil.copytree(root, other)
    assert stithy(["compare", str(root), str(other)]) in (0, 5)
    stithy(["export", str(root), "--to", "nothing\x1b[31m"])
    shown = "".join(capsys.readouterr())
    assert shown
    assert not re.search(CONTROL, shown)
    page = Page(hostile, pair_runs(hostile, [context_built(other)]))
    _is_harmless(page)
    [listed] = [figure for figure in page.figures if figure.name == "runs-1"]
    ElementTree.fromstring(draw.draw_svg(listed.spec, "runs-1"))
    runs = json.loads(plugins(ReportFormat)["json"].make(page, {}))["sections"]["runs"]
    assert runs["facts"]["pairs"][0]["other"] == NAMES[0]
