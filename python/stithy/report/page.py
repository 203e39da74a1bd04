"""The page of a report: what stands on it, and itself as HTML that needs nothing else.

Pure: `write` reads the results before and writes afterwards. The same results give the same bytes.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from stithy.analysis.answers.findings import MAIN, Finding, findings
from stithy.registry import plugins
from stithy.report.between import Pair
from stithy.report.blocks import APPENDIX, ROWS_MAX, Section, in_files
from stithy.report.context import Context
from stithy.report.drawing import compose, draw, palette
from stithy.report.drawing.compact import slim
from stithy.report.figure import SECTIONS, Absent, Drawn, Figure, FigureGroup
from stithy.report.parts import answer, candidates, compared, other_runs, page_tables
from stithy.report.tables import PageTable
from stithy.report.words.escape import bound, seen

HERE = Path(__file__).parent
TEMPLATES = HERE / "template"
FIGURE_FILES = (
    ("SVG", "svg"), ("PNG", "png"), ("Vega-Lite", "vl.json"),
    ("CSV", "csv"), ("Parquet", "parquet"),
)  # fmt: skip
"""Each figure's files beside the page: what they are, and their endings."""


DECISIVE = "decisive"
"""The group of the figures that bear the answer, beside the comparisons on top."""

MAIN_GROUPS = ("answer", "factors", DECISIVE, "runs", "certainty")
"""What stands before the appendix."""

APART = frozenset({"answer", "factors", "certainty", "baselines"})
"""Groups that stand in a section which says more than figures do."""


@dataclass(frozen=True)
class Page:
    """Everything that a report says, whatever the format."""

    context: Context
    answer: answer.Answer
    groups: tuple[FigureGroup, ...]
    tables: dict[str, PageTable]
    facts: tuple[PageTable, ...]
    pairs: tuple[Pair, ...] = ()

    @property
    def question(self) -> str:
        """The title of the report."""
        manifest = self.context.manifest
        return manifest.question if manifest else "Report of a run whose question is not known"

    @property
    def closing(self) -> str:
        """The last sentence."""
        manifest = self.context.manifest
        version = f" {manifest.stithy_version}" if manifest else ""
        return f"Written by Stithy{version} from the results in the same directory."

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All sections that have something to say, in their order."""
        found = (each for module in plugins("section").values() for each in module.sections(self))
        return tuple(sorted(found, key=lambda each: each.order))

    def caption(self, table: PageTable) -> str:
        """What stands above a table, with what must stand beside every number of the run."""
        marked = self.context.label and not table.name.startswith("facts-")
        return f"{table.caption} · {self.context.label}" if marked else table.caption

    def group(self, key: str) -> FigureGroup | None:
        """The figures of this subject, None where there are none."""
        return next((each for each in self.groups if each.key == key), None)

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the page."""
        return [each for g in self.groups for each in g.drawn if isinstance(each, Figure)]

    def footer(self, figure: Figure) -> str:
        """What must be read with a figure where it stands alone, away from the page."""
        return " · ".join(each for each in (self.context.label, figure.footer) if each)


def build(context: Context, pairs: Sequence[Pair] = ()) -> Page:
    """The page's content from a run's evidence; `pairs` compare it with other runs."""
    groups = _groups(context)
    if pairs:
        of_runs = tuple(_told(each, context) for each in other_runs.drawn(pairs))
        groups = _in_order((*groups, FigureGroup("runs", "Compared with other runs", of_runs)))
    found = findings(context.evidence, context.limited)
    return Page(
        context,
        answer.answer(context, found[:MAIN]),
        groups,
        {each.name: each for each in _tables(context, groups, found, pairs)},
        tuple(compared.facts_tables(context.manifest)) if context.manifest else (),
        tuple(pairs),
    )


def _tables(
    context: Context,
    groups: Sequence[FigureGroup],
    found: Sequence[Finding],
    pairs: Sequence[Pair],
) -> Iterator[PageTable]:
    """Those of the sections, and those that are made of more than the run's evidence."""
    for module in plugins("section").values():
        yield from getattr(module, "tables", _no_tables)(context)
    drawn = [each for group in groups for each in group.drawn]
    yield page_tables.titles([each for each in drawn if isinstance(each, Figure)])
    absent = [each for each in drawn if isinstance(each, Absent)]
    missing = [(f"figure: {each.would_show}", each.because) for each in absent]
    yield page_tables.missing(missing, context)
    table = candidates.table(context)
    yield table
    yield candidates.devices(context, table)
    yield answer.findings_table(found)
    yield from other_runs.tables(pairs)


def _no_tables(context: Context) -> tuple[PageTable, ...]:
    del context  # a section of words alone
    return ()


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
        sections=page.sections,
        appendix=APPENDIX,
        rows_max=ROWS_MAX,
        in_files=in_files,
        numbers=numbers,
        figure_files=FIGURE_FILES,
        drawings={name: Markup(svg) for name, svg in drawings.items()},
        specs={figure.name: _json(slim(figure.spec)) for figure in page.figures},
        config=_json(draw.themed({})["config"]),
        styles=Markup(styles),
        script=Markup(script),
        library=Markup(library),
        policy=_policy(library, script),
    )


def _groups(context: Context) -> tuple[FigureGroup, ...]:
    families = sorted(plugins("figure").values(), key=lambda module: module.ORDER)
    drawn: dict[str, list[Drawn]] = {key: [] for key in SECTIONS}
    for family in families:
        drawn[family.SECTION] += [_told(each, context) for each in family.draw(context)]
    names = _decisive(context)
    decisive = [each for part in drawn.values() for each in part if each.name in names]
    decisive = [each for each in decisive if isinstance(each, Figure)]
    headings = {DECISIVE: "What decides the answer", **SECTIONS}
    parts = {
        key: [each for each in part if not any(each is one for one in decisive)]
        for key, part in drawn.items()
    }
    return _in_order(
        FigureGroup(key, headings[key], tuple(part))
        for key, part in {**parts, DECISIVE: decisive}.items()
        if part
    )


def _decisive(context: Context) -> tuple[str, ...]:
    """The figures that bear the answer: what is asked about against users, and what limited it."""
    known = context.evidence.primary.metric.known
    asked = {"window": "nopm-by-users", "transactions": "response-by-users"}
    return asked.get(known.source, "device-latency"), "limits"


def _in_order(groups: Iterable[FigureGroup]) -> tuple[FigureGroup, ...]:
    """As they stand on the page, by which figures are numbered."""
    order = (*MAIN_GROUPS, *SECTIONS)
    return tuple(sorted(groups, key=lambda each: order.index(each.key)))


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
