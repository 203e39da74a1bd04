"""The mark by which Stithy knows a directory as its own: whose run it was, and whether that lives.

A directory without a readable mark is the user's, whatever it looks like.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stithy.hosts.processes import Identity, identity_from, is_alive

MARK = ".stithy.json"
VERSION = 1
"""1: run, made_directory, owner, kept."""


@dataclass(frozen=True)
class Mark:
    """Which run a directory belongs to.

    `made_directory`: Stithy made the directory, so it also removes it. `owner` is the process that
    runs, None once the run ended and its instances were kept.
    """

    run_id: str
    made_directory: bool
    owner: Identity | None

    @property
    def in_use(self) -> bool:
        """Whether the run goes on, or was kept until `stithy clean`."""
        return self.owner is None or is_alive(self.owner)


def read_mark(directory: Path) -> Mark | None:
    """The mark of a directory; None where there is none that this version can read."""
    try:
        fields = json.loads((directory / MARK).read_text())
        return _mark(fields) if fields["stithy_mark"] == VERSION else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_mark(directory: Path, mark: Mark) -> None:
    """Put the mark into the directory, replacing an older one in one move."""
    fields = {
        "stithy_mark": VERSION,
        "run_id": mark.run_id,
        "made_directory": mark.made_directory,
        "owner": mark.owner.facts() if mark.owner else None,
    }
    fresh = directory / f"{MARK}.new"
    fresh.write_text(json.dumps(fields, indent=2) + "\n")
    fresh.replace(directory / MARK)


def remove_mark(directory: Path, run_id: str) -> None:
    """Take the mark away if it is this run's. Idempotent."""
    mark = read_mark(directory)
    if mark is not None and mark.run_id == run_id:
        (directory / MARK).unlink(missing_ok=True)
        (directory / f"{MARK}.new").unlink(missing_ok=True)


def _mark(fields: Mapping[str, object]) -> Mark:
    owner = fields["owner"]
    return Mark(
        run_id=str(fields["run_id"]),
        made_directory=fields["made_directory"] is True,
        owner=identity_from(owner) if isinstance(owner, Mapping) else None,
    )
