"""Names that are made of texts: of files, ids, labels. Texts that differ have names that differ.

A name is the text itself, where that can name a file and be told from all others; else what can be
read of it, with a short hash. Where all names of a kind are known, numbers tell them apart.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from itertools import chain, count
from pathlib import Path

from stithy.errors import UserError, give_reason

LENGTH_MAX = 100
"""Of what can be read in a name: with all that is joined to it, it stays the name of a file."""

_HASHED = re.compile(r"(?:.*-)?x[0-9a-f]{8}")
_NAME = re.compile(r"[a-z0-9]([a-z0-9.+_-]{0,98}[a-z0-9+])?")


def name_text(text: str) -> str:
    """Name a text by lower-case letters, digits and `.+_-`: also where case is ignored, its own."""
    return text if is_name(text) else hash_name(text, text)


def is_name(text: str) -> bool:
    """Whether a text can be a name as it is; what ends as a hash does is none."""
    return _NAME.fullmatch(text) is not None and _HASHED.fullmatch(text) is None


def hash_name(readable: str, text: str) -> str:
    """Add the hash of the text that is named to what can be read of it."""
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{make_plain(readable)}-x{digest}".lstrip("-")


def make_plain(text: str, length_max: int = LENGTH_MAX) -> str:
    """Reduce a text to lower-case letters, digits and hyphens, which several may share."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:length_max].strip("-")


def find_free(name: str, taken: Collection[str]) -> str:
    """Choose the name, or the first of `name-2`, `name-3` and on that is not taken."""
    every = chain((name,), (f"{name}-{number}" for number in count(2)))
    return next(free for free in every if free not in taken)


def tell_apart(texts: Iterable[str], nameless: str = "job") -> list[str]:
    """Give each text its plain name, or `nameless`; with a number where that is taken."""
    names: list[str] = []
    for text in texts:
        names.append(find_free(make_plain(text) or nameless, names))
    return names


def find_closest(word: str, known: Iterable[str]) -> str | None:
    """The known word nearest to `word`, None where none is near; case, `-` and `_` are one."""
    plain = {_make_plain(each): each for each in known}
    found = get_close_matches(_make_plain(word), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def suggest_instead(word: str, known: Sequence[str], quote: str = "`") -> str:
    """What to write instead of a word: the nearest of the known ones, or all of them."""
    guess = find_closest(word, known)
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
        problem, remedy, cause = "there is no such file", _suggest_file(path), error
    except IsADirectoryError as error:
        problem, remedy, cause = "this is a directory", f"name the {what} in it", error
    except (OSError, ValueError) as error:
        why = give_reason(error) if isinstance(error, OSError) else "no name of a file"
        problem, remedy, cause = f"cannot be read: {why}", "name a file that can", error
    raise UserError(
        problem, where=make_printable(str(path)), remedy=make_printable(remedy)
    ) from cause


def _suggest_file(path: Path) -> str:
    try:
        near = find_closest(
            path.name, [each.name for each in path.parent.iterdir() if each.is_file()]
        )
    except OSError:
        return "check the directory's name"
    return f"did you mean {path.parent / near}?" if near else "check the name"


def make_printable(text: str) -> str:
    """The text with a dot for every character that would steer a terminal."""
    return "".join(each if each.isprintable() else "·" for each in text)


def _make_plain(word: str) -> str:
    return word.lower().replace("-", "_")
