"""Whether a file holds what was written: each table, and the manifest, carries its own SHA-256.

The digest is that of the file in which its own 64 digits are zeros, so that it can stand inside. A
disk, a copy or an editor that changes anything afterwards is found out, also where what is left can
be read: a number that may be wrong is not printed.
"""

import hashlib

BLANK = "0" * 64
"""What stands in the place of the digest while it is taken, and before."""

PARQUET_KEY = "stithy.sha256"
JSON_KEY = "sha256"

_MARKS = (b"stithy.sha256\x18\x40", b'\n  "sha256": "')
"""What stands before the digest: in the metadata of a Parquet file (Thrift's compact protocol: a
text of 64 bytes), and as a key at the top of an indented JSON document, which no text within such
a document can look like."""


def sealed(content: bytes) -> bytes:
    """The same with its digest. Raises ValueError where there is no place for it."""
    place = _place(content)
    if place is None:
        raise ValueError("there is no place for a digest")
    return content[: place.start] + _digest(content, place) + content[place.stop :]


def is_whole(content: bytes) -> bool | None:
    """Whether the digest is that of the file; None where it has none."""
    place = _place(content)
    return None if place is None else content[place] == _digest(content, place)


def _place(content: bytes) -> slice | None:
    """Where the digest stands: the last such place, for behind it nobody's names stand."""
    ends = [at + len(mark) for mark in _MARKS if (at := content.rfind(mark)) >= 0]
    return slice(max(ends), max(ends) + len(BLANK)) if ends else None


def _digest(content: bytes, place: slice) -> bytes:
    view = memoryview(content)
    found = hashlib.sha256(view[: place.start])
    found.update(BLANK.encode())
    found.update(view[place.stop :])
    return found.hexdigest().encode()
