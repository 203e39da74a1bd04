"""Texts of elsewhere made safe for a page: unseen letters, spaces that hold, Markdown."""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Every command's talk comes through here: tables would load the whole analysis with them.
    from stithy.report.tables import PageTable

_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_HARMLESS = frozenset("\n\t\N{SOFT HYPHEN}\N{ZERO WIDTH SPACE}\N{WORD JOINER}")


def is_seen(letter: str) -> bool:
    """Whether a letter shows what it does."""
    return letter in _HARMLESS or unicodedata.category(letter) not in _UNSEEN


def replace_letters(text: str, letters: Iterable[str]) -> str:
    """The text with each of these letters reported by its number."""
    return text.translate({ord(letter): f"[U+{ord(letter):04X}]" for letter in letters})


def escape_unseen(text: str) -> str:
    """The text with letters that are not seen reported by their numbers."""
    if text.isprintable():
        return text  # as nearly all are
    return replace_letters(text, {letter for letter in text if not is_seen(letter)})


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """What JSON can hold with every text in it changed so, but for keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: change_texts(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [change_texts(each, change) for each in value]
    return value


def truncate_name(text: str, most: int) -> str:
    """A name of at most so many letters, all of them seen: its beginning and its end are kept."""
    line = " ".join(escape_unseen(text).split())
    if len(line) <= most:
        return line
    end = most // 3
    return f"{line[: most - end - 1]}…{line[-end:]}"


NO_BREAK = "\N{NO-BREAK SPACE}"

_UNIT = r"(?:(?:%|[µm]?s|min|h|[KMGT]iB|[kMGT]?B)(?:/s|/min)?|users?|blocks?|windows?)(?![\w}])"
_BEFORE_UNIT = re.compile(rf"(?<=\d) (?={_UNIT})")
"""Also of a template's source, in which `%}` ends a statement and is no percent sign."""

_WITHIN_DURATION = re.compile(rf"(?<=\d{NO_BREAK}h) (?=\d+{NO_BREAK}min)")
_WITHIN_MINUTES = re.compile(rf"(?<=\d{NO_BREAK}min) (?=\d+{NO_BREAK}s)")


def join_units(text: str) -> str:
    """The text with no-break spaces: in `95 %`, `2 min 5 s`, `4 blocks`, before each ` · `."""
    text = _BEFORE_UNIT.sub(NO_BREAK, text).replace(" · ", f"{NO_BREAK}· ")
    return _WITHIN_MINUTES.sub(NO_BREAK, _WITHIN_DURATION.sub(NO_BREAK, text))


_ACTING = re.compile(r"[\\`*_\[\]<>|~&$!]")
_LINE_START = re.compile(r"^(?=(?:[-+=]+|#{1,6}|\d{1,9}[.)])(?: |$))")
_LINK = re.compile(r"(?<=[a-zA-Z])(?=://)|(?<=www)(?=\.)", re.IGNORECASE)
_REFERENCE = re.compile(r"(?<=[@#])(?=\w)")
_JOINER = "\N{WORD JOINER}"


def escape_markdown(text: str) -> str:
    """The text on one line, as it reads in Markdown wherever it stands in a line."""
    line = _ACTING.sub(lambda match: f"\\{match[0]}", _join_line(text))
    return _LINE_START.sub(_JOINER, _break_links(line))


def quote_html(text: str) -> str:
    """The text on one line, as it reads within an element of HTML in Markdown."""
    return html.escape(_break_links(_join_line(text)))


def _join_line(text: str) -> str:
    return " ".join(escape_unseen(text.replace(_JOINER, "")).split())


def _break_links(line: str) -> str:
    return _REFERENCE.sub(_JOINER, _LINK.sub(_JOINER, line))


def write_bullets(texts: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {escape_markdown(text)}" for text in texts)


def write_table(each: "PageTable") -> str:
    """A table as it is printed; numbers stand to the right."""
    heads = [escape_markdown(show.heading) for show in each.columns]
    rows = each.cells()
    numeric = [bool(rows) and rows[0][i].kind == "number" for i in range(len(heads))]
    lines = [heads, ["---:" if right else "---" for right in numeric]]
    lines += [[escape_markdown(cell.text) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_code(text: str) -> str:
    """Lines as they are; the fence is longer than any within."""
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{escape_unseen(text.rstrip())}\n{fence}"
