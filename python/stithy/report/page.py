"""The page of a report: what stands on it, and itself as HTML that needs nothing else.

Pure: `write` reads the results before and writes afterwards. The same results give the same bytes.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from stithy.analysis.answers.comparisons import pairs_of
from stithy.analysis.answers.findings import MAIN, findings
from stithy.analysis.validity.work import commit_rule
from stithy.plan.order import williams
from stithy.registry import plugins
from stithy.report.between import Pair
from stithy.report.context import Context
from stithy.report.drawing import compose, draw, palette
from stithy.report.drawing.compact import slim
from stithy.report.figure import SECTIONS, Absent, Drawn, Figure
from stithy.report.parts import (
    answer,
    bottlenecks,
    candidates,
    certainty,
    compared,
    machine,
    other_runs,
    page_tables,
    proof,
    searches,
    transactions,
    validity,
)
from stithy.report.tables import PageTable
from stithy.report.words import loads
from stithy.report.words.escape import bound, seen
from stithy.report.words.loads import provenance

HERE = Path(__file__).parent
TEMPLATES = HERE / "template"
FIGURE_FILES = (
    ("SVG", "svg"), ("PNG", "png"), ("Vega-Lite", "vl.json"),
    ("CSV", "csv"), ("Parquet", "parquet"),
)  # fmt: skip
"""Each figure's files beside the page: what they are, and their endings."""


@dataclass(frozen=True)
class Section:
    """One section of figures: its anchor, heading and what is drawn in it."""

    key: str
    heading: str
    drawn: tuple[Drawn, ...]

    @property
    def footer(self) -> str | None:
        """What must be read with all its figures, where that is the same; it then stands once."""
        footers = {each.footer for each in self.drawn if isinstance(each, Figure)}
        return footers.pop() if len(footers) == 1 else None


Sections = tuple[Section, ...]

FACTS_MOST = 24
"""Own: a longer table of facts is folded, and stands at the end, after all results."""

DECISIVE = "decisive"
"""The section of the figures that bear the answer, beside the comparisons on top."""

MAIN_SECTIONS = ("answer", DECISIVE, "runs", "certainty")
"""What a report has before its appendix."""


@dataclass(frozen=True)
class Page:
    """Everything that the template prints."""

    context: Context
    answer: answer.Answer
    sections: Sections
    tables: dict[str, PageTable]
    facts: tuple[PageTable, ...]
    pairs: tuple[Pair, ...] = ()

    @property
    def said_of_runs(self) -> tuple[str, ...]:
        """What is said of other runs, a paragraph each."""
        return other_runs.words(self.pairs) if self.pairs else ()

    @property
    def tables_of_runs(self) -> tuple[str, ...]:
        """The names of the tables that hold this run against others."""
        return tuple(each.name for each in other_runs.tables(self.pairs))

    @property
    def main(self) -> Mapping[str, Section]:
        """The sections of figures before the appendix, by key."""
        return {each.key: each for each in self.sections if each.key in MAIN_SECTIONS}

    @property
    def appendix(self) -> Sections:
        """The sections of figures in the appendix, but for the baseline checks of the machine."""
        return tuple(each for each in self.sections if each.key not in (*MAIN_SECTIONS, "canaries"))

    @property
    def canaries(self) -> Drawn | None:
        """What is drawn of the baseline checks; None where nothing is."""
        drawn = (each for s in self.sections if s.key == "canaries" for each in s.drawn)
        return next(drawn, None)

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the page."""
        return [each for s in self.sections for each in s.drawn if isinstance(each, Figure)]

    def footer(self, figure: Figure) -> str:
        """What must be read with a figure where it stands alone, away from the page."""
        return " · ".join(each for each in (self.context.label, figure.footer) if each)


def build(context: Context, pairs: Sequence[Pair] = ()) -> Page:
    """The page's content from a run's evidence; `pairs` hold it against other runs."""
    sections = _sections(context)
    if pairs:
        of_runs = tuple(_told(each, context) for each in other_runs.drawn(pairs))
        runs = Section("runs", "Compared with other runs", of_runs)
        sections = _in_order((*sections, runs))
    found = findings(context.evidence, context.limited)
    absent = [
        (f"figure: {each.would_show}", each.because)
        for section in sections
        for each in section.drawn
        if isinstance(each, Absent)
    ]
    told = candidates.table(context)
    figures = [each for s in sections for each in s.drawn if isinstance(each, Figure)]
    tables = (
        page_tables.titles(figures), told, candidates.devices(context, told),
        transactions.types_table(context), page_tables.summary(context),
        page_tables.windows(context), compared.compared_table(context), searches.table(context),
        *certainty.verdict_tables(context), certainty.order_table(context),
        machine.canary_table(context),
        transactions.work_table(context), bottlenecks.stalls_table(context),
        validity.reasons_table(context), validity.gathered_table(context),
        page_tables.driver(context),
        page_tables.proof(context), page_tables.laws(context), page_tables.conditions(context),
        page_tables.broken_conditions(context), page_tables.restores(context),
        loads.table(context.run.drives, context.run.window["window_id"].to_list()),
        proof.counted(context), proof.written(context), proof.gone(context),
        page_tables.missing(absent, context), answer.findings_table(found),
        answer.thresholds_table(answer.judged(context)), bottlenecks.bottleneck_windows(context),
        bottlenecks.bottleneck_levels(context), *other_runs.tables(pairs),
    )  # fmt: skip
    return Page(
        context,
        answer.answer(context, found[:MAIN]),
        sections,
        {table.name: table for table in tables},
        tuple(compared.facts_tables(context.manifest)) if context.manifest else (),
        tuple(pairs),
    )


def render(page: Page, drawings: dict[str, str]) -> str:
    """The page as HTML; `drawings` are the figures' SVG by name."""
    styles = _fonts() + _asset("page.css") + "\n@media screen and (prefers-color-scheme: dark){\n"
    styles += palette.css_rules() + "\n}"
    script = _asset("figure.js") + _asset("page.js")
    library = draw.library()
    numbers = {figure.name: number for number, figure in enumerate(page.figures, start=1)}
    return _template().render(
        page=page,
        context=page.context,
        manifest=page.context.manifest,
        load=page.context.load,
        tables=page.tables,
        numbers=numbers,
        figure_files=FIGURE_FILES,
        drawings={name: Markup(svg) for name, svg in drawings.items()},
        specs={figure.name: _json(slim(figure.spec)) for figure in page.figures},
        config=_json(draw.themed({})["config"]),
        styles=Markup(styles),
        script=Markup(script),
        library=Markup(library),
        policy=_policy(library, script),
        provenance=provenance(page.context.manifest),
        moment=compared.moment,
        facts_most=FACTS_MOST,
        guide=compared.guide_words(page.context),
        words=page_tables.WORDS,
        types_note=transactions.TYPES_NOTE,
        work_note=transactions.work_note(page.tables["work"]),
        commit_rule=commit_rule(),
        **certainty.verdict_rule(page.context),
        asked=certainty.question_sentence(page.context),
        candidates_note=candidates.note(page.context, page.tables["candidates"]),
        searched=searches.asked(page.context),
        lost=validity.lost_pattern(page.context),
        order=certainty.order_sentence(page.context),
        short=loads.short_windows(page.context.load),
        loop=loads.paragraph(page.context.load),
        specified=" ".join(proof.specified_sentences(page.context)),
        headroom=machine.headroom_sentence(page.context),
        machine=machine.machine_sentence(page.context),
        canary_floors=machine.floors(),
        pairs=pairs_of(page.context.evidence),
        square=len(williams(max(1, len(page.context.evidence.candidates)))),
        ledgers_proven=proof.ledgers_proven(page.context),
        emulated=loads.profiles(page.context.manifest),
    )


def _sections(context: Context) -> Sections:
    families = sorted(plugins("figure").values(), key=lambda module: module.ORDER)
    drawn: dict[str, list[Drawn]] = {key: [] for key in SECTIONS}
    for family in families:
        drawn[family.SECTION] += [_told(each, context) for each in family.draw(context)]
    names = _decisive(context)
    decisive = [each for part in drawn.values() for each in part if each.name in names]
    decisive = [each for each in decisive if isinstance(each, Figure)]
    headings = {DECISIVE: "What decides it", **SECTIONS}
    parts = {
        key: [each for each in part if not any(each is one for one in decisive)]
        for key, part in drawn.items()
    }
    return _in_order(
        Section(key, headings[key], tuple(part))
        for key, part in {**parts, DECISIVE: decisive}.items()
        if part
    )


def _decisive(context: Context) -> tuple[str, ...]:
    """The figures that bear the answer: what is asked about against users, and what limited it."""
    known = context.evidence.primary.metric.known
    asked = {"window": "nopm-by-users", "transactions": "response-by-users"}
    return asked.get(known.source, "device-latency"), "limits"


def _in_order(sections: Iterable[Section]) -> Sections:
    """As they stand on the page, by which figures are numbered."""
    order = (*MAIN_SECTIONS, *SECTIONS)
    return tuple(sorted(sections, key=lambda each: order.index(each.key)))


def _told(drawn: Drawn, context: Context) -> Drawn:
    """A figure that shows ranges says so in its caption; candidates are named as in all figures."""
    if isinstance(drawn, Absent):
        return drawn
    drawn = drawn.with_names(context.names_drawn)
    if drawn.spec.get("usermeta") != compose.MARK:
        return drawn
    return replace(drawn, caption=f"{drawn.caption} {compose.CAPTION.format(name=drawn.name)}")


def _json(value: Any) -> Markup:
    """JSON that may stand in a script element: no `<`, so no name can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(
        text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def _policy(*scripts: str) -> str:
    """A content security policy: only our own scripts run, and no request leaves the page."""
    allowed = " ".join(
        f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; "
        "img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _bound(value: Any) -> Any:
    """What an expression of the template prints; markup and what is quoted stay as they are."""
    plain = isinstance(value, str) and not isinstance(value, Markup)
    return bound(seen(value)) if plain else value


def _asset(name: str) -> str:
    return (HERE / "assets" / name).read_text(encoding="utf-8")


def _fonts() -> str:
    """The shipped font as CSS, inside the page."""
    faces = []
    for file, weight in (("Inter-Regular.woff2", 400), ("Inter-SemiBold.woff2", 600)):
        data = b64encode((draw.FONTS / file).read_bytes()).decode()
        faces.append(
            f"@font-face{{font-family:Inter;font-weight:{weight};font-display:block;"
            f"src:url(data:font/woff2;base64,{data}) format('woff2')}}"
        )
    return "\n".join(faces) + "\n"


@cache
def _template() -> jinja2.Template:
    sources = {path.name: bound(path.read_text("utf-8")) for path in TEMPLATES.iterdir()}
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(sources),
        autoescape=True,
        finalize=_bound,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")
