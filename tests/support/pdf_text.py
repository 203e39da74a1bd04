"""What a PDF says, page after page, as a program reads it that reads aloud or searches."""

import io
import re
from functools import cache
from typing import Any

from pypdf import PdfReader


def read_pdf(content: bytes) -> PdfReader:
    """The PDF, opened."""
    return PdfReader(io.BytesIO(content))


@cache
def text_of(content: bytes) -> str:
    """All texts, a line each; a blank line between pages."""
    pages = (page.extract_text() for page in read_pdf(content).pages)
    return "\n\n".join("\n".join(_lines(page)) for page in pages) + "\n"


def _lines(page: str) -> list[str]:
    plain = page.replace("\N{NO-BREAK SPACE}", " ").replace("\N{ZERO WIDTH SPACE}", "")
    plain = re.sub(r"(?: \.){3,}", " …", plain)  # however many dots fit
    return [line for line in (" ".join(each.split()) for each in plain.splitlines()) if line]


def pages_of(content: bytes) -> list[str]:
    """What stands on each page, in one line without the spaces that lines and columns break."""
    return ["".join(page.split()) for page in text_of(content).split("\n\n")]


def outline_of(content: bytes) -> list[tuple[int, str, int]]:
    """The bookmarks as level, title and number of the page, in their order; all from 1."""
    reader = read_pdf(content)
    found: list[tuple[int, str, int]] = []

    def walk(entries: Any, level: int) -> None:
        for each in entries:
            if isinstance(each, list):
                walk(each, level + 1)
            else:
                page = reader.get_destination_page_number(each)
                assert page is not None
                found.append((level, " ".join(str(each.title).split()), page + 1))

    walk(reader.outline, 1)
    return found


def elements_of(content: bytes) -> list[Any]:
    """Every element of the structure as it lies in the file, in reading order."""
    found: list[Any] = []

    def walk(node: Any) -> None:
        node = node.get_object()
        if isinstance(node, list):
            for each in node:
                walk(each)
        elif isinstance(node, dict):
            if "/S" in node:
                found.append(node)
            if "/K" in node:
                walk(node["/K"])

    walk(read_pdf(content).root_object["/StructTreeRoot"])
    return found


def contents_of(content: bytes) -> list[tuple[str, int]]:
    """What the contents list, as title and number of the page, in their order."""
    sheets = [sheet.splitlines() for sheet in text_of(content).split("\n\n")]
    first = next(number for number, lines in enumerate(sheets) if "Contents" in lines)
    found: list[tuple[str, int]] = []
    begun: list[str] = []
    for lines in sheets[first:]:
        if not any(_ENTRY.search(line) for line in lines):
            break
        for line in lines:
            begun.append(line)
            if line in ("Contents", "Figures") or _FOOTER.search(line):
                begun = []
            elif ends := _ENTRY.search(line):
                found.append((_ENTRY.sub("", " ".join(begun)), int(ends[1])))
                begun = []
    return found


_ENTRY = re.compile(r" … (\d+)$")
_FOOTER = re.compile(r"\b\d+ of \d+$")
