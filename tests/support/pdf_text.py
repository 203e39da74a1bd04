"""What a PDF says, page after page, as a program reads it that reads aloud or searches."""

import io
import re
from typing import Any

from pypdf import PdfReader


def read_pdf(content: bytes) -> PdfReader:
    """The PDF, opened."""
    return PdfReader(io.BytesIO(content))


def text_of(content: bytes) -> str:
    """All texts, a line each; a blank line between pages."""
    pages = (page.extract_text() for page in read_pdf(content).pages)
    return "\n\n".join("\n".join(_lines(page)) for page in pages) + "\n"


def _lines(page: str) -> list[str]:
    plain = page.replace("\N{NO-BREAK SPACE}", " ").replace("\N{ZERO WIDTH SPACE}", "")
    plain = re.sub(r"(?: \.){3,}", " …", plain)  # however many dots fit
    return [line for line in (" ".join(each.split()) for each in plain.splitlines()) if line]


def tags_of(content: bytes) -> list[tuple[str, str | None]]:
    """Every element of the structure as its kind and alternative text, in reading order."""
    root: Any = read_pdf(content).root_object["/StructTreeRoot"]
    found: list[tuple[str, str | None]] = []
    _walk(root, found)
    return found


def _walk(node: Any, found: list[tuple[str, str | None]]) -> None:
    node = node.get_object()
    if isinstance(node, list):
        for each in node:
            _walk(each, found)
    elif isinstance(node, dict):
        if "/S" in node:
            found.append((str(node["/S"]).removeprefix("/"), node.get("/Alt")))
        if "/K" in node:
            _walk(node["/K"], found)
