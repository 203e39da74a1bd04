"""Texts as Markdown: escaped, so that a name, whatever it holds, stays the letters it is.

GitHub's dialect, whose tables most places read. A word joiner keeps `@name` and `#1` from becoming
a message to a person or a link to an issue, which a backslash does not.
"""

import re
from collections.abc import Iterable

from stithy.report.tables import PageTable
from stithy.report.words.letters import seen

_ACTING = re.compile(r"[\\`*_\[\]<>|~&$!]")
_LINE_START = re.compile(r"^(?=(?:[-+=]+|#{1,6}|\d{1,9}[.)])(?: |$))")
_LINK = re.compile(r"(?<=[a-zA-Z])(?=://)|(?<=www)(?=\.)", re.IGNORECASE)
_REFERENCE = re.compile(r"(?<=[@#])(?=\w)")
_JOINER = "\N{WORD JOINER}"


def escaped(text: str) -> str:
    """The text on one line, as it reads in Markdown wherever it stands in a line."""
    line = " ".join(seen(text.replace(_JOINER, "")).split())
    line = _ACTING.sub(lambda match: f"\\{match[0]}", line)
    line = _REFERENCE.sub(_JOINER, _LINK.sub(_JOINER, line))
    return _LINE_START.sub(_JOINER, line)


def bullets(texts: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {escaped(text)}" for text in texts)


def table(each: PageTable) -> str:
    """A table as it is printed; numbers stand to the right."""
    heads = [escaped(show.heading) for show in each.columns]
    rows = each.cells()
    numeric = [bool(rows) and rows[0][i].kind == "number" for i in range(len(heads))]
    lines = [heads, ["---:" if right else "---" for right in numeric]]
    lines += [[escaped(cell.text) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str) -> str:
    """Lines as they are; the fence is longer than any within."""
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{seen(text.rstrip())}\n{fence}"
