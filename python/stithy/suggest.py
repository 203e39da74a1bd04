"""The word that a person may have meant."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word nearest to `word`, None where none is near; case, `-` and `_` are one."""
    plain = {_plain(each): each for each in known}
    found = get_close_matches(_plain(word), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def instead(word: str, known: Sequence[str], quote: str = "`") -> str:
    """What to write instead of a word: the nearest of the known ones, or all of them."""
    guess = closest(word, known)
    return f"did you mean {quote}{guess}{quote}?" if guess else f"one of {', '.join(known)}"


def other_file(path: Path) -> str:
    """What to do about a file that cannot be read: name the one beside it that may be meant."""
    try:
        near = closest(path.name, [each.name for each in path.parent.iterdir() if each.is_file()])
    except OSError:
        return "check the directory's name"
    return f"did you mean {path.parent / near}?" if near else "name a file that can be read"


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")
