"""Names that are made of texts: of files, ids, labels. Texts that differ have names that differ.

A name is the text itself, where that can name a file and be told from all others; else what can be
read of it, with a short hash. Where all names of a kind are known, numbers tell them apart.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from itertools import chain, count

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
