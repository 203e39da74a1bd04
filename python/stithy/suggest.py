"""The word that a person may have meant."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word nearest to `word`, None where none is near; case, `-` and `_` are one."""
    plain = {_plain(each): each for each in known}
    found = get_close_matches(_plain(word), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def instead(word: str, known: Sequence[str], quote: str = "`") -> str:
    """What to write instead of a word: the nearest of the known ones, or all of them."""
    guess = closest(word, known)
    return f"did you mean {quote}{guess}{quote}?" if guess else f"one of {', '.join(known)}"


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")
