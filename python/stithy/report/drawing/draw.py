"""A figure's specification drawn as SVG, and as files that stand alone."""

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import vl_convert
from markupsafe import escape

from stithy.environment import find_cache_home
from stithy.report.drawing import palette
from stithy.report.drawing.palette import FONT, make_theme
from stithy.report.words.escape import escape_unseen

FONTS = Path(__file__).parent.parent / "assets" / "fonts"

VEGA_LITE = "6.4"
"""The version of Vega-Lite that draws; the bundle carries the same."""

_CLIP = re.compile(r'(id="|url\(#)(clip\d+)')
_ROLES = re.compile(r' (?:role="graphics-[a-z]+"|aria-roledescription="[^"]*")')


def apply_theme(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification with Stithy's theme."""
    return {**spec, "config": make_theme()}


@cache
def _register_fonts() -> None:
    """Tell vl-convert of the shipped font: texts are measured with it when they are placed."""
    vl_convert.register_font_directory(str(FONTS))


def draw_svg(spec: dict[str, Any], prefix: str) -> str:
    """The drawing as SVG, its ids starting with `prefix`."""
    _register_fonts()
    return normalise(vl_convert.vegalite_to_svg(apply_theme(spec), vl_version=VEGA_LITE), prefix)


@cache
def load_library() -> str:
    """The Vega libraries as one script: about 0.9 MB, a second or two where none is kept."""
    name = f"vega-{version('vl-convert-python')}-{VEGA_LITE}.js"
    return read_cached(find_cache_home, name, _make_bundle)


def _make_bundle() -> str:
    return str(vl_convert.javascript_bundle("window.vegaEmbed=vegaEmbed;", VEGA_LITE))


def normalise(drawing: str, prefix: str) -> str:
    """Return the drawing as a part of a page, its ids beginning with `prefix`.

    vl-convert counts clip paths over all drawings of a process; counted anew, equal specifications
    give equal bytes. Roles of marks go: each would need a text of its own, and the figure has one.
    """
    drawing = _ROLES.sub("", drawing)
    ids: dict[str, str] = {}
    return _CLIP.sub(
        lambda match: match[1] + ids.setdefault(match[2], f"{prefix}-clip{len(ids)}"), drawing
    )


MARGIN, GAP = 14, 12
TITLE_PX, FOOTER_PX = 16, 11
LINE = 1.35
LETTER_EM, WIDE_EM = 0.56, 1.0
"""Own: mean width of Inter's letters, a little more than measured; of East Asian ones and emoji."""

_SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class Words:
    """What stands with a figure: its finding, what it shows, how it was measured."""

    title: str
    description: str
    footer: str


def write_standalone(name: str, drawing: str, words: Words) -> str:
    """The drawing with title above and footer below, both as its text and for a screen reader."""
    width, height = measure_size(drawing)
    title = list(_wrap(words.title, width, TITLE_PX))
    footer = list(_wrap(words.footer, width, FOOTER_PX))
    above = MARGIN + len(title) * TITLE_PX * LINE + GAP
    below = above + height + GAP
    whole = (width + 2 * MARGIN, below + len(footer) * FOOTER_PX * LINE + MARGIN)
    size_said = f'width="{whole[0]:g}" height="{whole[1]:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size_said} '
        f'viewBox="0 0 {whole[0]:g} {whole[1]:g}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{_escape_plain(words.title)}</title>'
        f'<desc id="{name}-desc">{_escape_plain(words.description)}</desc>'
        f'<rect width="100%" height="100%" fill="{palette.PAPER[0]}"/>'
        + _draw_lines(title, MARGIN, TITLE_PX, palette.INK[0], bold=True)
        + drawing.replace("<svg", f'<svg x="{MARGIN}" y="{above:g}"', 1)
        + _draw_lines(footer, below, FOOTER_PX, palette.MUTED[0])
        + "</svg>\n"
    )


def write_vega_lite(spec: dict[str, Any], drawing: str, words: Words) -> dict[str, Any]:
    """The specification with title and description; its subtitle is the footer."""
    width, _ = measure_size(drawing)
    outer: dict[str, Any] = {
        key: spec[key] for key in ("$schema", "config", "datasets", "params") if key in spec
    }
    inner = {key: value for key, value in spec.items() if key not in outer}
    # A chart that has a title of its own keeps it within.
    charts = {"vconcat": [inner]} if "title" in inner else inner
    title = {
        "text": list(_wrap(words.title, width, TITLE_PX)), "fontSize": TITLE_PX,
        "subtitle": list(_wrap(words.footer, width, FOOTER_PX)), "subtitleFontSize": FOOTER_PX,
        "subtitleColor": palette.MUTED[0], "anchor": "start", "frame": "bounds", "offset": GAP,
    }  # fmt: skip
    return {**outer, "title": title, "description": words.description, **charts}


def measure_size(drawing: str) -> tuple[float, float]:
    """Width and height of a drawing, pixels."""
    found = _SIZE.search(drawing)
    return (float(found[1]), float(found[2])) if found else (1.0, 1.0)


def _draw_lines(lines: list[str], top: float, px: int, colour: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    head = f'<text x="{MARGIN}" font-family="{FONT}" font-size="{px}px"{weight} fill="{colour}"'
    return "".join(
        f'{head} y="{top + px + index * px * LINE:g}">{_escape_plain(line)}</text>'
        for index, line in enumerate(lines)
    )


def _escape_plain(text: str) -> str:
    """The text as XML may hold it; what steers and is not seen is reported by its number."""
    return str(escape(escape_unseen(text)))


def _wrap(text: str, width: float, px: int) -> Iterator[str]:
    """The text in lines that fit; a word that is longer than a line has one of its own."""
    line = ""
    for word in text.split(" "):  # not at no-break spaces
        longer = f"{line} {word}" if line else word
        if line and _measure(longer) * px > width:
            yield line
            longer = word
        line = longer
    yield line


def _measure(text: str) -> float:
    """About as wide as a text is, in units of its size."""
    wide = sum(east_asian_width(letter) in "WF" for letter in text)
    return LETTER_EM * (len(text) - wide) + WIDE_EM * wide


WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def read_cached(home: Callable[[], Path], name: str, make: Callable[[], str]) -> str:
    """The text that is kept under `name` in the folder `home`; made, and kept, where none is.

    Where nothing can be kept it is made each time: nobody learns of it.
    """
    try:
        folder = _make_own(home())
    except (OSError, RuntimeError):
        return make()
    with suppress(OSError):
        if (text := _read(folder / name)) is not None:
            return text
    text = make()
    with suppress(OSError):
        _write(folder / name, text.encode())
    return text


def _make_own(folder: Path) -> Path:
    """The folder, made where it is missing. Raises OSError for one that others may write to."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or not _is_own(about):
        raise PermissionError(f"{folder} is somebody else's, or others may write there")
    return folder


def _is_own(about: os.stat_result) -> bool:
    return about.st_uid == os.geteuid() and not about.st_mode & WRITABLE_BY_OTHERS


def _read(path: Path) -> str | None:
    """The text, None for a file that is not as it was written. Raises OSError without one."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        if not _is_own(os.fstat(file.fileno())):
            return None
        shown, _, content = file.read().partition(b"\n")
    return content.decode() if shown == _compute_checksum(content) else None


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: others may read it, or write the same, meanwhile."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(_compute_checksum(content) + b"\n" + content)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink()
        raise


def _compute_checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
