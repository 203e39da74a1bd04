"""Texts that are compared with a file, or written to it with --accept-golden."""

from pathlib import Path


def same(path: Path, text: str, accept: bool) -> None:
    """Fail unless the file holds `text`; write it instead where `accept` says so."""
    if accept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path} is missing: run `make golden` and read the diff"
    assert path.read_text() == text, f"{path} differs: run `make golden` and read the diff"
