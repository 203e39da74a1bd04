"""A figure's specification drawn as SVG and as files; reports and figures set with Typst.

Typst makes tagged PDF (PDF/UA-1) and PNG, with one font and the same bytes from the same input. Its
sources in `assets/` never change. All that is set comes to it as one JSON text, so no name,
question or message of a server can ever be Typst's markup or code. Letters that no font has, and
those that steer and are not seen, are set by their number: `[U+1F600]`.
"""

import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unicodedata import east_asian_width

import typst
import vl_convert
from markupsafe import escape

from stithy.environment import find_cache_home
from stithy.report.drawing import palette
from stithy.report.drawing.palette import FONT, make_theme
from stithy.report.words.escape import change_texts, escape_unseen, is_seen, replace_letters

ASSETS = Path(__file__).parents[1] / "assets"
FONTS = ASSETS / "fonts"

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
        wide = sum(east_asian_width(letter) in "WF" for letter in longer)
        if line and (LETTER_EM * (len(longer) - wide) + WIDE_EM * wide) * px > width:
            yield line
            longer = word
        line = longer
    yield line


WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def read_cached(home: Callable[[], Path], name: str, make: Callable[[], str]) -> str:
    """The text that is kept under `name` in the folder `home`; made, and kept, where none is.

    Where nothing can be kept it is made each time: nobody learns of it.
    """
    try:
        folder = home()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or not _is_own(about):
            raise PermissionError(f"{folder} is somebody else's, or others may write there")
    except (OSError, RuntimeError):
        return make()
    with suppress(OSError):
        if (text := _read(folder / name)) is not None:
            return text
    text = make()
    with suppress(OSError):
        _write(folder / name, text.encode())
    return text


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


STANDARD: Any = "ua-1"
PIXELS_PER_INCH = 2 * 96
"""Of a figure's image: twice what a drawing has, by the definition of a CSS pixel."""

REMEMBERED = 10
"""After so many other documents typst-py lets Typst forget what it knows of one."""

_NOTHING = b"#set page(width: 1pt, height: 1pt, margin: 0pt)"
_PROBE = b'#set document(title: "t")\n#set text(font: "Inter")\n#sys.inputs.report'

Blocks = Sequence[Mapping[str, Any]]
"""What is set, as `assets/report.typ` reads it; `formats/pdf.py` makes it of a report."""


def make_pdf(blocks: Blocks, drawings: Mapping[str, str], made_at_s: float | None) -> bytes:
    """The report as PDF; `drawings` are the figures' SVG by name, `made_at_s` its Unix time."""
    headings = (block for block in blocks if block["kind"] == "heading")
    pictured = [each["name"] for each in blocks if each["kind"] == "picture"]
    document = {
        "title": next(heading["text"] for heading in headings if heading["level"] == 0),
        "blocks": blocks,
        "drawings": {
            name: {"svg": drawings[name], **_measure_drawing(drawings[name])} for name in pictured
        },
    }
    return _compile((ASSETS / "report.typ").read_bytes(), _dump_json(document), made_at_s)


def make_png(title: str, drawing: str, footer: str) -> bytes:
    """A figure as an image of twice the size of its drawing, with what must be read beside it."""
    figure = {"title": title, "svg": drawing, "footer": footer, **_measure_drawing(drawing)}
    image = _make_compiler().compile(
        (ASSETS / "figure.typ").read_bytes(),
        format="png",
        ppi=PIXELS_PER_INCH,
        sys_inputs={"report": _dump_json(figure)},
    )
    assert isinstance(image, bytes)  # its page is as high as the figure
    # Typst keeps what the last ten documents needed: of dozens of figures hundreds of megabytes.
    for _ in range(REMEMBERED + 1):
        _make_compiler().compile(_NOTHING, format="png")
    return image


def _measure_drawing(drawing: str) -> dict[str, float]:
    width, height = measure_size(drawing)
    return {"width": width, "height_to_width": height / width}


def _dump_json(value: Any) -> str:
    return json.dumps(change_texts(value, escape_unprintable), ensure_ascii=False)


def escape_unprintable(text: str) -> str:
    """The text with what cannot be seen in print reported by its number."""
    return replace_letters(text, {letter for letter in {*text} if not _can_be_seen(letter)})


@cache
def _can_be_seen(letter: str) -> bool:
    """Whether Typst finds a font that has the letter: under this standard it refuses if not."""
    if not is_seen(letter) or letter.isascii():
        return is_seen(letter)
    try:
        _compile(_PROBE, letter, 0)
    except typst.TypstError:
        return False
    return True


@cache
def _make_compiler() -> typst.Compiler:
    """With the shipped font and those within Typst; none of the system's, so pages are the same."""
    fonts = typst.Fonts(include_system_fonts=False, font_paths=[str(FONTS)])
    return typst.Compiler(root=ASSETS, font_paths=fonts, ignore_system_fonts=True)


def _compile(source: bytes, report: str, made_at_s: float | None) -> bytes:
    made = _make_compiler().compile(
        source,
        format="pdf",
        sys_inputs={"report": report},
        pdf_standards=[STANDARD],
        timestamp=int(made_at_s or 0),
    )
    assert isinstance(made, bytes)  # one PDF is one file
    return made
