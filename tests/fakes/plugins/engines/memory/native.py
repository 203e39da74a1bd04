"""Its own restore: rows that it keeps in a file beside their own."""

import json
from pathlib import Path

from stithy.secrets import Secret

from .endpoint import RUNNING


def empty(url: Secret) -> None:
    """No rows."""
    RUNNING[url.reveal()].rows.clear()


def keep(url: Secret, name: str) -> None:
    """Write them down."""
    _file(url, name).write_text(json.dumps(RUNNING[url.reveal()].rows))


def restore(url: Secret, name: str, log_bytes: int) -> None:
    """Read them again."""
    del log_bytes  # it has no log
    rows = RUNNING[url.reveal()].rows
    rows.clear()
    rows.update(json.loads(_file(url, name).read_text()))


def _file(url: Secret, name: str) -> Path:
    return Path(url.reveal().removeprefix("memory://")) / f"{name}.json"
