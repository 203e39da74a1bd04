"""The word or the file that a person may have meant."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from stithy.errors import UserError, reason_of


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word nearest to `word`, None where none is near; case, `-` and `_` are one."""
    plain = {_plain(each): each for each in known}
    found = get_close_matches(_plain(word), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def instead(word: str, known: Sequence[str], quote: str = "`") -> str:
    """What to write instead of a word: the nearest of the known ones, or all of them."""
    guess = closest(word, known)
    return f"did you mean {quote}{guess}{quote}?" if guess else f"one of {', '.join(known)}"


def read_named(path: Path, most_bytes: int, what: str) -> bytes:
    """What a file holds that a person named as a `what`. Raises UserError where it is none."""
    cause: Exception | None = None
    problem, remedy = f"larger than any {what}", f"name a {what}"
    try:
        with path.open("rb") as file:
            if len(content := file.read(most_bytes + 1)) <= most_bytes:
                return content
    except FileNotFoundError as error:
        problem, remedy, cause = "there is no such file", _other_file(path), error
    except IsADirectoryError as error:
        problem, remedy, cause = "this is a directory", f"name the {what} in it", error
    except (OSError, ValueError) as error:
        why = reason_of(error) if isinstance(error, OSError) else "no name of a file"
        problem, remedy, cause = f"cannot be read: {why}", "name a file that can", error
    raise UserError(problem, where=printable(str(path)), remedy=printable(remedy)) from cause


def _other_file(path: Path) -> str:
    """The file beside it that may be meant."""
    try:
        near = closest(path.name, [each.name for each in path.parent.iterdir() if each.is_file()])
    except OSError:
        return "check the directory's name"
    return f"did you mean {path.parent / near}?" if near else "check the name"


def printable(text: str) -> str:
    """The text with a dot for every character that would steer a terminal."""
    return "".join(each if each.isprintable() else "·" for each in text)


def _plain(word: str) -> str:
    return word.lower().replace("-", "_")
