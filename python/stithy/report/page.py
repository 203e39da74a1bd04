"""The page of a report: what stands on it, and itself as HTML that needs nothing else.

Pure: `write` reads the results before and writes afterwards. The same results give the same bytes.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from stithy.analysis.answers.comparisons import pairs_of
from stithy.analysis.answers.findings import MAIN, findings
from stithy.analysis.validity.proof import commit_rule
from stithy.plan.order import williams
from stithy.registry import plugins
from stithy.report.between import Pair
from stithy.report.context import Context
from stithy.report.drawing import draw, many, palette
from stithy.report.drawing.slim import slim
from stithy.report.figure import SECTIONS, Absent, Drawn, Figure
from stithy.report.parts import (
    answer,
    by_type,
    canaries,
    candidates,
    compared,
    facts,
    guide,
    head_room,
    ledgers,
    limit_tables,
    looks,
    lost,
    orders,
    other_runs,
    page_tables,
    reasons,
    searches,
    specified,
    thresholds,
    verdicts,
    work,
)
from stithy.report.tables import PageTable
from stithy.report.words import drives, driving
from stithy.report.words.binding import bound
from stithy.report.words.letters import seen
from stithy.report.words.provenance import provenance
from stithy.report.words.wording import listing

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


Sections = tuple[Section, ...]

FACTS_MOST = 24
"""Own: a longer table of facts is folded, and stands at the end, after all results."""

CERTAINTY = "certainty"
"""The section of figures that stand between the tables of verdicts, after all results."""


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
    def facts_early(self) -> tuple[PageTable, ...]:
        """The short tables of facts on what was compared, which stand before the results."""
        return tuple(each for each in self.facts if _is_early(each))

    @property
    def facts_late(self) -> tuple[PageTable, ...]:
        """All other tables of facts, which stand at the end."""
        return tuple(each for each in self.facts if not _is_early(each))

    @property
    def facts_moved(self) -> str:
        """Where the long ones on what was compared stand; empty where there are none."""
        moved = [f"“{e.caption}”" for e in self.facts_late if e.name in compared.GLANCE]
        if not moved:
            return ""
        return f"All facts of {listing(moved)} stand at the end, under Environment."

    @property
    def results(self) -> Sections:
        """The sections between the answer and how sure it is."""
        return tuple(each for each in self.sections if each.key not in ("answer", CERTAINTY))

    @property
    def certainty(self) -> Mapping[str, Drawn]:
        """What is drawn of how sure the answer is, by name."""
        return {each.name: each for s in self.sections if s.key == CERTAINTY for each in s.drawn}

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the page."""
        return [each for s in self.sections for each in s.drawn if isinstance(each, Figure)]

    def footer(self, figure: Figure) -> str:
        """What must be read with a figure where it stands alone, away from the page."""
        return " · ".join(each for each in (self.context.label, figure.footer) if each)


def _is_early(table: PageTable) -> bool:
    return table.name in compared.GLANCE and table.frame.height <= FACTS_MOST


def build(context: Context, pairs: Sequence[Pair] = ()) -> Page:
    """The page's content from a run's evidence; `pairs` hold it against other runs."""
    sections = _sections(context)
    if pairs:
        of_runs = tuple(_told(each, context) for each in other_runs.drawn(pairs))
        sections = _before_certainty(sections, of_runs)
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
        by_type.table(context), page_tables.summary(context),
        page_tables.windows(context), compared.table(context), searches.table(context),
        *verdicts.tables(context), orders.table(context), canaries.table(context),
        work.table(context),
        reasons.reasons(context), reasons.gathered(context), page_tables.driver(context),
        page_tables.proof(context), page_tables.laws(context), page_tables.conditions(context),
        page_tables.broken_conditions(context), page_tables.restores(context),
        drives.table(context.run.drives, context.run.window["window_id"].to_list()),
        ledgers.counted(context), ledgers.written(context), ledgers.gone(context),
        page_tables.missing(absent, context), answer.table(found),
        thresholds.table(thresholds.judged(context)), limit_tables.windows(context),
        limit_tables.levels(context), *other_runs.tables(pairs),
    )  # fmt: skip
    return Page(
        context,
        answer.answer(context, found[:MAIN]),
        sections,
        {table.name: table for table in tables},
        tuple(facts.tables(context.manifest)) if context.manifest else (),
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
        moment=facts.moment,
        facts_most=FACTS_MOST,
        guide=guide.words(page.context),
        words=page_tables.WORDS,
        types_note=by_type.NOTE,
        work_note=work.note(page.tables["work"]),
        commit_rule=commit_rule(),
        **verdicts.rule(page.context),
        asked=looks.asked(page.context),
        candidates_note=candidates.note(page.context, page.tables["candidates"]),
        searched=searches.asked(page.context),
        lost=lost.pattern(page.context),
        order=orders.sentence(page.context),
        short=driving.short_windows(page.context.load),
        loop=driving.paragraph(page.context.load),
        specified=" ".join(specified.sentences(page.context)),
        head_room=head_room.sentence(page.context),
        machine=canaries.sentence(page.context),
        canary_floors=canaries.floors(),
        pairs=pairs_of(page.context.evidence),
        square=len(williams(max(1, len(page.context.evidence.candidates)))),
        ledgers_proven=ledgers.proven(page.context),
        emulated=drives.profiles(page.context.manifest),
    )


def _sections(context: Context) -> Sections:
    families = sorted(plugins("figure").values(), key=lambda module: module.ORDER)
    drawn: dict[str, list[Drawn]] = {key: [] for key in SECTIONS}
    for family in families:
        drawn[family.SECTION] += [_told(each, context) for each in family.draw(context)]
    return tuple(
        Section(key, heading, tuple(drawn[key])) for key, heading in SECTIONS.items() if drawn[key]
    )


def _before_certainty(sections: Sections, drawn: tuple[Drawn, ...]) -> Sections:
    """With the section of other runs after all results: figures are numbered as they stand."""
    results = (each for each in sections if each.key != CERTAINTY)
    certainty = (each for each in sections if each.key == CERTAINTY)
    return (*results, Section("runs", "Compared with other runs", drawn), *certainty)


def _told(drawn: Drawn, context: Context) -> Drawn:
    """A figure that shows ranges says so in its caption; candidates are named as in all figures."""
    if isinstance(drawn, Absent):
        return drawn
    drawn = drawn.with_names(context.names_drawn)
    if drawn.spec.get("usermeta") != many.MARK:
        return drawn
    return replace(drawn, caption=f"{drawn.caption} {many.CAPTION.format(name=drawn.name)}")


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
