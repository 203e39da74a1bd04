"""The report in Markdown: every row of a table by that of the report's own, every line by rules."""

import re
from collections.abc import Callable
from typing import Any

from recompute.files import Files, Row
from recompute.printed import is_shown_as, shown
from recompute.tables import both_questions

Say = Callable[[str, str, Row], None]
Compare = Callable[[list[str], bool], None]


def walk(files: Files, text: str, say: Say, compare: Compare) -> None:
    """Hand on each line and heading, and each row of a table with whether the report's tables,
    which are recomputed themselves, have it.
    """
    study = (files.root / "study.yaml").read_text().rstrip()
    before, _, after = text.partition("<details>")
    quoted, _, rest = after.partition("</details>")
    if quoted and study not in quoted:
        say("study", "999 of the study file are others than it has", {})
    first, other = both_questions(files)
    is_head = True
    for line in (before + rest).splitlines():
        plain = re.sub(r"\\(?!\|)(.)", r"\1", line)
        cells = re.split(r" ?(?<!\\)\| ?", plain)[1:-1] if line.startswith("|") else []
        if not cells:
            say("line", plain, other if line.startswith("- ") else first)
        elif is_head:
            for heading in cells:
                say("heading", heading, {})
        elif set(line) - set("|-: "):
            compare(cells, any(_is_row(cells, row) for row in files.told_rows))
        is_head = not cells


NUMBER = re.compile(r"[<+−]? ?\d.*")


def _is_row(cells: list[str], row: list[Any]) -> bool:
    """Whether this row has all texts of the cells, and what begins with a number in its order.

    Words that it has not are those for what is missing, or for yes and no.
    """
    values = iter(row)
    texts = {each.replace("`", "") for each in row if isinstance(each, str)}
    plain = [each.replace("`", "") for each in cells if not NUMBER.match(each)]
    words = [each for each in plain if each not in texts and any(map(str.isalpha, each))]
    return (
        len(words) <= sum(each is None or isinstance(each, bool) for each in row)
        and (not words or len(words) < len(plain))
        and not any(shown(" | ".join(words)))
        and all(any(_is_cell(x, each) for each in values) for x in cells if NUMBER.match(x))
    )


def _is_cell(cell: str, value: Any) -> bool:
    """Whether a cell shows this number, or is a text with more than a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return is_shown_as(cell, value)
    return bool(value == cell and next(shown(cell)).end < len(cell))
