"""Letters that are not seen but act: control characters, marks that turn the direction of a text.

On the page, on paper, in Markdown and in a terminal each is told by its number, `[U+202E]`, so that
a text reads as it is, and does nothing.
"""

import unicodedata
from collections.abc import Iterable

_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})
_HARMLESS = frozenset("\n\t\N{SOFT HYPHEN}\N{ZERO WIDTH SPACE}\N{WORD JOINER}")


def is_seen(letter: str) -> bool:
    """Whether a letter shows what it does."""
    return letter in _HARMLESS or unicodedata.category(letter) not in _UNSEEN


def numbered(text: str, letters: Iterable[str]) -> str:
    """The text with each of these letters told by its number."""
    return text.translate({ord(letter): f"[U+{ord(letter):04X}]" for letter in letters})


def seen(text: str) -> str:
    """The text with letters that are not seen told by their numbers."""
    if text.isprintable():
        return text  # as nearly all are
    return numbered(text, {letter for letter in text if not is_seen(letter)})


def shortened(text: str, most: int) -> str:
    """A name of at most so many letters, all of them seen: its beginning and its end are kept."""
    line = " ".join(seen(text).split())
    if len(line) <= most:
        return line
    end = most // 3
    return f"{line[: most - end - 1]}…{line[-end:]}"
