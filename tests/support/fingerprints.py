"""A file of a report as one line: its SHA-256, its name, and what a reviewer wants to know of it.

Two machines compute the last digits of a logarithm differently, so numbers are taken with nine
digits. Bytes are taken as they are only of what is drawn: there coordinates are rounded before.
"""

import hashlib
import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from support.pdf_text import read_pdf, tags_of, text_of

DIGITS = 9

_REAL = re.compile(r"-?\d+\.\d+(?:[eE][+-]?\d+)?|-?\d+[eE][+-]?\d+")
LEFT_OUT = (
    (re.compile(r"<style>.*?</style>", re.DOTALL), "<style></style>"),
    (re.compile(r"<svg.*?</svg>", re.DOTALL), "<svg></svg>"),
    (re.compile(r"(<script[^>]*>).*?(</script>)", re.DOTALL), r"\1\2"),
    (re.compile(r'(Content-Security-Policy" content=")[^"]*'), r"\1"),
)
"""What of a page is a file of its own, or comes from elsewhere: fonts, drawings, libraries."""


def rounded(text: str) -> str:
    """The text with every number that has a point or an exponent in nine digits."""
    return _REAL.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text)


def words_of_page(html: str) -> str:
    """A page without what is drawn, set or run; a row of a table is a line.

    Printed numbers stay as they are; those behind them are rounded.
    """
    for pattern, instead in LEFT_OUT:
        html = pattern.sub(instead, html)
    html = re.sub(r"\n(?=<t[dh])|(?<=</t[dh]>)\n(?=</tr>)", "", html)
    html = re.sub(r' data-value="[^"]*"', lambda found: rounded(found[0]), html)
    lines = (line.rstrip() for line in html.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def _of_text(content: bytes) -> tuple[str, str]:
    return content.decode(), ""


def _of_numbers(content: bytes) -> tuple[str, str]:
    return rounded(content.decode()), ""


def _of_page(content: bytes) -> tuple[str, str]:
    """The page with what its own scripts hold, but without the libraries and fonts."""
    html = content.decode()
    for pattern, instead in (LEFT_OUT[0], LEFT_OUT[3]):
        html = pattern.sub(instead, html)
    scripts = sorted(re.findall(r"<script>.*?</script>", html, re.DOTALL), key=len)
    return rounded(html.replace(scripts[-1], "")), f"{html.count('<figure')} figures"


def _of_csv(content: bytes) -> tuple[str, str]:
    frame = pl.read_csv(io.BytesIO(content), infer_schema=False)
    return rounded(content.decode()), f"{frame.height} × {frame.width}"


def _of_parquet(content: bytes) -> tuple[str, str]:
    """Its rows as text, with the type of each column."""
    frame = pl.read_parquet(io.BytesIO(content))
    types = ", ".join(f"{name} {kind}" for name, kind in frame.schema.items())
    return rounded(f"{types}\n{frame.write_csv()}"), f"{frame.height} × {frame.width}"


def _of_pdf(content: bytes) -> tuple[str, str]:
    """What it says and how it is tagged, page by page."""
    tags = "\n".join(f"{kind} {words or ''}" for kind, words in tags_of(content))
    return f"{text_of(content)}\n{tags}", f"{len(read_pdf(content).pages)} pages"


def _of_png(content: bytes) -> tuple[str, str]:
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    return content.hex(), f"{width} × {height} pixels"


KINDS: Mapping[str, Callable[[bytes], tuple[str, str]]] = {
    ".html": _of_page, ".pdf": _of_pdf, ".md": _of_text, ".json": _of_numbers, ".svg": _of_text,
    ".csv": _of_csv, ".parquet": _of_parquet, ".png": _of_png,
}  # fmt: skip
"""By the end of a name: what of the content counts, and what is told beside its digest."""


def fingerprint(path: Path, name: str) -> str:
    """One line of a list of files."""
    content, told = KINDS[path.suffix](path.read_bytes())
    digest = hashlib.sha256(content.encode()).hexdigest()
    return f"{digest}  {name}{f'  ({told})' if told else ''}"
