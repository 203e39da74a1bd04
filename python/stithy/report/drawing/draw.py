"""From a Vega-Lite specification to an SVG that can stand in a page: small, unique ids, same bytes.

vl-convert draws inside this process, without a browser. Its bundle of the Vega libraries is what
makes the page's figures interactive; it is kept, as bundling takes longer than drawing a figure.
"""

import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert

from stithy.environment import cache_home
from stithy.report.drawing.compact import compact
from stithy.report.drawing.kept import kept
from stithy.report.drawing.theme import config

FONTS = Path(__file__).parent.parent / "assets" / "fonts"

VEGA_LITE = "6.4"
"""The version of Vega-Lite that draws; the bundle carries the same."""

_EMPTY = re.compile(
    r'<path class="(?:background|foreground)"[^>]*d="(?:M0,0h0v0h0Z)?"[^>]*/>'
    r'|<path class="(?:background|foreground)" aria-hidden="true" d="[^"]*"'
    r'(?: pointer-events="none")?'
    r'(?: display="none"| opacity="1")*/>'
)
_GEOMETRY = re.compile(r' (d|transform|x|y|x1|y1|x2|y2|width|height|r)="([^"]*)"')
_LONG = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?")
_NOISE = re.compile(
    r' (?:opacity="1"|pointer-events="none"|aria-hidden="true"|class="[^"]*"'
    r'|role="graphics-[a-z]+"|aria-roledescription="[^"]*"|stroke-dasharray="1,0")'
)
_RECTANGLES = re.compile(r'(?:<path d="M[\d.,-]+h[\d.-]+v[\d.-]+h[\d.-]+Z" fill="(#\w+)"/>)+')
_ONE_COLOUR = re.compile(r'(?:<path d="[^"]*" fill="(#\w+)"/>)(?:<path d="[^"]*" fill="\1"/>)+')
_PATH = re.compile(r' d="([^"]*)"')


def themed(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification with Stithy's theme."""
    return {**spec, "config": config()}


@cache
def _register_fonts() -> None:
    """Tell vl-convert of the shipped font: texts are measured with it when they are placed."""
    vl_convert.register_font_directory(str(FONTS))


def svg(spec: dict[str, Any], prefix: str) -> str:
    """The drawing as SVG, its ids starting with `prefix`."""
    _register_fonts()
    return tidy(vl_convert.vegalite_to_svg(themed(spec), vl_version=VEGA_LITE), prefix)


@cache
def library() -> str:
    """The Vega libraries as one script: about 0.9 MB, a second or two where none is kept."""
    return kept(cache_home, f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js", _bundle)


def _bundle() -> str:
    return str(vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;", VEGA_LITE))


def tidy(drawing: str, prefix: str) -> str:
    """The same drawing in fewer bytes: no empty paths, short numbers, ids counted from 0.

    vl-convert counts its clip paths over all drawings of a process; counted anew, equal
    specifications give equal bytes.
    """
    drawing = _EMPTY.sub("", drawing)
    drawing = _GEOMETRY.sub(lambda match: f' {match[1]}="{_rounded(match[2])}"', drawing)
    known: dict[str, str] = {}
    drawing = re.sub(
        r'(id="|url\(#)(clip\d+)',
        lambda match: match[1] + known.setdefault(match[2], f"{prefix}-clip{len(known)}"),
        drawing,
    )
    drawing = _NOISE.sub("", drawing)
    drawing = _RECTANGLES.sub(lambda match: _ONE_COLOUR.sub(_joined, match[0]), drawing)
    return compact(drawing)


def _joined(match: re.Match[str]) -> str:
    """Neighbouring rectangles of one colour as one path: a heat map has thousands."""
    return f'<path d="{"".join(_PATH.findall(match[0]))}" fill="{match[1]}"/>'


def _rounded(numbers: str) -> str:
    return _LONG.sub(lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), numbers)
