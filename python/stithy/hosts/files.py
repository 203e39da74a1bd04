"""Small files: those of the kernel read as far as they are there, private ones written durably."""

import os
from pathlib import Path


def text_of(path: Path) -> str:
    """The content of a file, stripped; empty where there is none, or this user may not see it."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def write_private(path: Path, text: str) -> None:
    """Write a file that only its user may read; it is whole on disk when this returns."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
