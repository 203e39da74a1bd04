"""The page of a report: what its sections say, and itself as HTML that needs nothing else.

Pure: `write` reads the results before and writes afterwards. The same results give the same bytes.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from stithy.registry import plugins
from stithy.report.between import Pair
from stithy.report.blocks import (
    APPENDIX,
    ROWS_MAX,
    Block,
    Picture,
    Section,
    figures,
    grid,
    in_files,
    paragraph,
)
from stithy.report.context import Context, asked_of
from stithy.report.drawing import compose, draw, palette
from stithy.report.figure import Absent, Drawn, Figure, FigureKind
from stithy.report.tables import PageTable
from stithy.report.words.escape import bound, seen

HERE = Path(__file__).parent
TEMPLATES = HERE / "template"
FIGURE_FILES = (
    ("SVG", "svg"), ("PNG", "png"), ("Vega-Lite", "vl.json"),
    ("CSV", "csv"), ("Parquet", "parquet"),
)  # fmt: skip
"""Each figure's files beside the page: what they are, and their endings."""


@dataclass(frozen=True)
class Page:
    """Everything that a report says, whatever the format; `pairs` hold its run against others."""

    context: Context
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
        found = (each for module in _modules("section", self) for each in module.sections(self))
        return tuple(sorted(found, key=lambda each: each.order))

    @cached_property
    def tables(self) -> dict[str, PageTable]:
        """Those of all sections by their names. Raises ValueError where two have the same."""
        found: dict[str, PageTable] = {}
        for _, table in _of_sections("tables", self):
            if found.setdefault(table.name, table) is not table:
                raise ValueError(f"two tables of the report are called {table.name!r}")
        return found

    @cached_property
    def drawn(self) -> tuple[tuple[str, Drawn], ...]:
        """All figures, also absent ones, with their sections. Raises ValueError as `tables`."""
        tables = self.context.tables
        kinds = [kind for kind in plugins(FigureKind).values()
                 if tables.issuperset(kind.needs_tables)]  # fmt: skip
        kinds.sort(key=lambda kind: kind.order)
        found = [(kind.section, drawn) for kind in kinds for drawn in kind.draw(self.context)]
        found += _of_sections("draw", self)
        names = [figure.name for _, figure in found]
        if len({*names}) < len(names):
            raise ValueError(f"two figures of the report have one name: {sorted(names)}")
        claimed = {name: key for key, name in _of_sections("claims", self)}
        return tuple((_place(each, key, claimed), _told(each, self.context)) for key, each in found)

    @cached_property
    def covered(self) -> frozenset[str]:
        """The metrics of activities whose values a section of their own has in its table."""
        return frozenset(metric for _, metric in _of_sections("covers", self))

    def section(
        self, name: str, order: int, title: str, *notes: str, above: Iterable[Block] = ()
    ) -> Iterator[Section]:
        """One of figures, the table of the same name and notes; nothing without a row in it."""
        table = self.tables[name]
        if not table.frame.is_empty():
            shown = (*above, *figures(self.drawn_in(name)), *grid(table))
            yield Section(name, order, title, (*shown, *paragraph(*notes, style="note")))

    def drawn_in(self, key: str) -> tuple[Drawn, ...]:
        """The figures of a section."""
        return tuple(each for place, each in self.drawn if place == key)

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """All that are shown, in their order; by it they are numbered."""
        blocks = (block for section in self.sections for block in section.blocks)
        return tuple(block.figure for block in blocks if isinstance(block, Picture))

    def caption(self, table: PageTable) -> str:
        """What stands above a table, with what must stand beside every number of the run."""
        marked = self.context.label and not table.name.startswith("facts-")
        return f"{table.caption} · {self.context.label}" if marked else table.caption

    def footer(self, figure: Figure) -> str:
        """What must be read with a figure where it stands alone, away from the page."""
        return " · ".join(each for each in (self.context.label, figure.footer) if each)


def _of_sections(what: str, page: Page) -> Iterator[tuple[str, Any]]:
    """What those sections yield that have such a function, each with the section's name."""
    for module in _modules("section", page):
        if (ask := getattr(module, what, None)) is not None:
            yield from ((module.NAME, each) for each in ask(page))


def _modules(family: str, page: Page) -> list[Any]:
    """The modules of a family whose tables the run has."""
    return asked_of(family, page.context.tables)


def _place(drawn: Drawn, key: str, claimed: Mapping[str, str]) -> str:
    """A section may claim a figure of another; why one is absent stays with its family."""
    return claimed.get(drawn.name, key) if isinstance(drawn, Figure) else key


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
        specs={figure.name: _json(figure.spec) for figure in page.figures},
        config=_json(draw.themed({})["config"]),
        styles=Markup(styles),
        script=Markup(script),
        library=Markup(library),
        policy=_policy(library, script),
    )


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
