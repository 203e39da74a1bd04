"""The report in Markdown: every table by the report's own, and every line."""

import html
import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from recompute.files import Files
from recompute.printed import is_shown_as

Say = Callable[[str, str], None]
Compare = Callable[[list[list[str]], bool], None]
Draw = Callable[[str, str, str], None]

FIGURE = re.compile(r"\*\*Figure \d+: (.*)\*\*\n\n!\[(.*)\]\(report/figures/(.*)\.svg\)\n\n(.*)\n")
FENCED = re.compile(r"^```\n(.*?)\n```$", re.DOTALL | re.MULTILINE)
CELL = re.compile(r" ?(?<!\\)\| ?")


def pieces(text: str) -> list[str]:
    """Its paragraphs, tables and figures: what is understood by itself."""
    found: list[str] = []
    for number, part in enumerate(FIGURE.split(FENCED.sub("", f"{text}\n"))):
        if number % 5 == 0:
            found += part.split("\n\n")
    return [*found, *(match[0] for match in FIGURE.finditer(text))]


def walk(files: Files, text: str, say: Say, compare: Compare, draw: Draw) -> None:
    """Hand on each line and heading, each figure by its name, title and caption, and the rows of
    each table with whether they are those of one of the report's, which are recomputed themselves.
    """
    for quoted in FENCED.findall(text):
        if quoted not in _written(files):
            say("quoted", "999 of a file are others than it has")
    for title, description, name, caption in FIGURE.findall(f"{text}\n"):
        if not description.startswith(title):
            say(name, "999 of a description are others than the title has")
        draw(name, _plain(title), _plain(caption))
    rest = FIGURE.sub("", FENCED.sub("", f"{text}\n"))
    for is_table, lines in groupby(rest.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            heads, _, *rows = ([*map(_plain, CELL.split(line)[1:-1])] for line in lines)
            for heading in heads:
                say("heading", heading)
            compare(rows, any(_is_of(rows, each) for each in files.told_tables))
        else:
            for line in lines:
                say("line", _plain(line))


def read_plain(text: str) -> str:
    """All of it without marks, in one line."""
    return " ".join(_plain(text).split())


def _plain(line: str) -> str:
    return html.unescape(re.sub(r"\\(?!\|)(.)", r"\1", line)).replace("\N{WORD JOINER}", "")


def _written(files: Files) -> set[str]:
    """What a report quotes: the study, the profiles of drives, and the commands."""
    drives = (drive for each in files.manifest["candidates"] for drive in each["drives"])
    texts = [(files.root / "study.yaml").read_text(), *(each["profile"] for each in drives)]
    return {*(each.rstrip() for each in texts), "stithy plan study.yaml\nstithy run study.yaml"}


def _is_of(rows: list[list[str]], table: list[list[Any]]) -> bool:
    """Whether these are the rows of a table, in its order: each column is one of the table's."""
    if len(rows) != len(table):
        return False
    known = [*zip(*table, strict=True)]
    for shown_column in zip(*rows, strict=True):
        found = [at for at, each in enumerate(known) if _is_column(shown_column, each)]
        if not found:
            return False
        del known[found[0]]
    return True


def _is_column(cells: Sequence[str], values: Sequence[Any]) -> bool:
    return all(_is_cell(cell, value) for cell, value in zip(cells, values, strict=True))


def _is_cell(cell: str, value: Any) -> bool:
    """Whether a cell shows this: a number rounded, a text as it is, nothing at all by a dash."""
    if isinstance(value, bool):
        return cell == ("yes" if value else "no")
    if isinstance(value, int | float):
        return is_shown_as(cell, value)
    return cell == ("–" if value is None else " ".join(str(value).split()))
