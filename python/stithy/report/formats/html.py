"""The report as one page for a browser, which needs no network."""

import hashlib
import json
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from stithy.report.blocks import APPENDIX, ROWS_MAX, name_files
from stithy.report.drawing import draw, palette
from stithy.report.formats import ReportFormat
from stithy.report.page import Page
from stithy.report.words.escape import escape_unseen, join_units

HERE = Path(__file__).parents[1]
TEMPLATES = HERE / "template"
FIGURE_FILES = (
    ("SVG", "svg"), ("PNG", "png"), ("Vega-Lite", "vl.json"),
    ("CSV", "csv"), ("Parquet", "parquet"),
)  # fmt: skip
"""Each figure's files beside the page: what they are, and their endings."""


class HtmlFormat(ReportFormat):
    """The page."""

    name = "html"

    def make(self, page: Page, drawings: dict[str, str]) -> bytes:
        return render(page, drawings).encode()


def render(page: Page, drawings: dict[str, str]) -> str:
    """The page as HTML; `drawings` are the figures' SVG by name."""
    script = read_asset("figure.js") + read_asset("page.js")
    library = draw.load_library()
    numbers = {figure.name: number for number, figure in enumerate(page.figures, start=1)}
    return load_template("page.html").render(
        page=page, context=page.context, manifest=page.context.manifest, sections=page.sections,
        appendix=APPENDIX, rows_max=ROWS_MAX, in_files=name_files, numbers=numbers,
        figure_files=FIGURE_FILES,
        drawings={name: Markup(svg) for name, svg in drawings.items()},
        specs={figure.name: _write_json(figure.spec) for figure in page.figures},
        config=_write_json(draw.apply_theme({})["config"]), styles=make_styles("page.css"),
        script=Markup(script), library=Markup(library), policy=_make_policy(library, script),
    )  # fmt: skip


def _write_json(value: Any) -> Markup:
    """JSON that may stand in a script element: no `<`, so no name can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(
        text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    )


def hash_source(text: str) -> str:
    """A script or style as a content security policy allows it."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _make_policy(*scripts: str) -> str:
    """A content security policy: only our own scripts run, and no request leaves the page."""
    allowed = " ".join(map(hash_source, scripts))
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; "
        "img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _show_value(value: Any) -> Any:
    """What an expression of the template prints; markup and what is quoted stay as they are."""
    plain = isinstance(value, str) and not isinstance(value, Markup)
    return join_units(escape_unseen(value)) if plain else value


def make_styles(*names: str) -> Markup:
    """The styles of a page: fonts, assets, and the colours of drawings in the dark."""
    dark = f"@media screen and (prefers-color-scheme: dark){{\n{palette.write_css_rules()}\n}}"
    return Markup("\n".join([_read_fonts() + "".join(map(read_asset, names)), dark]))


def read_asset(name: str) -> str:
    """A style or script of pages."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


def _read_fonts() -> str:
    faces = []
    for file, weight in (("Inter-Regular.woff2", 400), ("Inter-SemiBold.woff2", 600)):
        data = b64encode((draw.FONTS / file).read_bytes()).decode()
        faces.append(
            f"@font-face{{font-family:Inter;font-weight:{weight};font-display:block;"
            f"src:url(data:font/woff2;base64,{data}) format('woff2')}}"
        )
    return "\n".join(faces) + "\n"


@cache
def load_template(name: str) -> jinja2.Template:
    """A template of a page, which escapes what it is given."""
    sources = {path.name: join_units(path.read_text("utf-8")) for path in TEMPLATES.iterdir()}
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(sources),
        autoescape=True,
        finalize=_show_value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


PLUGINS = (HtmlFormat(),)
