"""`stithy clean`: remove whatever earlier runs, drives and clusters left."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.cli.talk.render import format_left, say, show, show_json
from stithy.errors import Exit, UserError

if TYPE_CHECKING:
    from stithy.run.cleaning import Cleaned, OrphanCleaned


def clean(directory: Path | None = None, /, *, json: bool = False) -> Exit:
    """Remove what a killed run left behind, or what `stithy run --keep` left running.

    Ends the servers of these runs. Removes their databases, directories, mounts, emulated drives,
    clusters, sockets and memory groups. Stithy records each of these before it creates it, and
    removes nothing that it did not record. Also removes what killed emulated drives and clusters
    left, even if their run is unknown. Agents of a run end its load; those that are not reached are
    named, and their load ends by itself within 5 s.

    Keeps all results, runs that are still active, and drives and clusters that a person started.
    Works from any directory. Each user can clean only their own runs.

    Examples:

        stithy clean
        stithy clean runs/demo-20261121T001627Z

    Parameters
    ----------
    directory
        Clean only the run with these results; default: everything of this user.
    json
        Print what was done as JSON.
    """
    from stithy.run.cleaning import clean as clean_runs
    from stithy.run.cleaning import clean_orphans

    cleaned = clean_runs(directory)
    if directory is not None and not cleaned and not directory.exists():
        raise UserError(
            "there is no such directory, and no known run had its results there",
            where=str(directory),
            remedy="name a directory that `stithy run` wrote; without a name all runs are cleaned",
        )
    # After the runs, whose own drives and clusters are gone by now.
    orphans = clean_orphans() if directory is None else []
    if json:
        gone = [{"kind": (of := each.orphan).kind, "name": of.name, "directory": str(of.folder),
                 "left": each.left} for each in orphans]  # fmt: skip
        show_json([*map(_make_json, cleaned), *gone])
    elif not cleaned and not orphans:
        show("Nothing to clean.")
    else:
        _show(cleaned, orphans)
    left = [*(cleaned_run.left for cleaned_run in cleaned), *(orphan.left for orphan in orphans)]
    return Exit.INFRASTRUCTURE if any(left) else Exit.OK


COMMAND = clean


def _show(cleaned: Sequence["Cleaned"], orphans: Sequence["OrphanCleaned"]) -> None:
    for cleaned_run in cleaned:
        if cleaned_run.running:
            show(f"{cleaned_run.run.what}: the run is still active, nothing removed")
            continue
        removed = f"everything that {'it' if cleaned_run.run.by_hand else 'the run'} left"
        if count := len(cleaned_run.left):
            things = "thing" if cleaned_run.removed == 1 else "things"
            removed = (
                f"{cleaned_run.removed} {things}, {count} {'is' if count == 1 else 'are'} left"
            )
        show(f"{cleaned_run.run.what}: removed {removed}")
        for left in cleaned_run.left:
            say(format_left(left))
    for orphan in orphans:
        what = f"{orphan.orphan.kind} {orphan.orphan.name}"
        if orphan.left is None:
            show(f"{what}: removed everything that it left")
        else:
            say(f"not removed: {what}: {orphan.left}")


def _make_json(cleaned: "Cleaned") -> dict[str, object]:
    return {
        "run_id": cleaned.run.run_id,
        "directory": str(cleaned.run.directory),
        "running": cleaned.running,
        "removed": cleaned.removed,
        "left": [
            {"kind": left.resource.kind, "facts": dict(left.resource.facts), "reason": left.reason}
            for left in cleaned.left
        ],
    }
