"""Sets reports and figures with Typst: tagged PDF (PDF/UA-1) and PNG, one font, the same bytes.

The sources `assets/*.typ` never change. All that is set comes to it as one JSON text, so no
name, question or message of a server can ever be Typst's markup or code. Letters that no font has,
and those that steer and are not seen, are set by their number: `[U+1F600]`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import typst

from stithy.report.drawing.draw import FONTS, measure_size
from stithy.report.words.escape import change_texts, is_seen, replace_letters

ASSETS = Path(__file__).parent / "assets"
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
            name: {"svg": drawings[name], **_measure(drawings[name])} for name in pictured
        },
    }
    return _compile((ASSETS / "report.typ").read_bytes(), _dump_json(document), made_at_s)


def make_png(title: str, drawing: str, footer: str) -> bytes:
    """A figure as an image of twice the size of its drawing, with what must be read beside it."""
    figure = {"title": title, "svg": drawing, "footer": footer, **_measure(drawing)}
    image = _make_compiler().compile(
        (ASSETS / "figure.typ").read_bytes(),
        format="png",
        ppi=PIXELS_PER_INCH,
        sys_inputs={"report": _dump_json(figure)},
    )
    assert isinstance(image, bytes)  # its page is as high as the figure
    _forget_figure()
    return image


def _measure(drawing: str) -> dict[str, float]:
    width, height = measure_size(drawing)
    return {"width": width, "height_to_width": height / width}


def _dump_json(value: Any) -> str:
    return json.dumps(change_texts(value, escape_unprintable), ensure_ascii=False)


def escape_unprintable(text: str) -> str:
    """The text with what cannot be seen in print reported by its number."""
    return replace_letters(text, {letter for letter in {*text} if not _can_be_seen(letter)})


@cache
def _can_be_seen(letter: str) -> bool:
    return is_seen(letter) and (letter.isascii() or _is_in_a_font(letter))


def _is_in_a_font(letter: str) -> bool:
    """Whether Typst finds a font that has the letter: under this standard it refuses if not."""
    try:
        _compile(_PROBE, letter, 0)
    except typst.TypstError:
        return False
    return True


def _forget_figure() -> None:
    """Let go what Typst remembers of a figure: of dozens it would be hundreds of megabytes.

    It keeps what the last ten documents needed; these take a millisecond each.
    """
    for _ in range(REMEMBERED + 1):
        _make_compiler().compile(_NOTHING, format="png")


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
