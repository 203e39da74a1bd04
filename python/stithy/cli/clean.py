"""`stithy clean`: remove whatever earlier runs and drives left."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.talk.render import say, show, show_json
from stithy.errors import UserError
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.run.cleanup.handlers import Cleaned, DriveCleaned


def clean(
    directory: Path | None = None,
    /,
    *,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> Exit:
    """Remove what a killed run left behind, or what `stithy run --keep` left running.

    Ends the servers of these runs. Removes their databases, directories, mounts, emulated drives,
    sockets and memory groups. Stithy records each of these before it creates it, and removes
    nothing that it did not record. Also removes what killed emulated drives left.

    Keeps all results, runs that are still active, and drives that a person started. Works from any
    directory. Each user can clean only their own runs.

    Examples:

        stithy clean
        stithy clean runs/demo-20261121T001627Z

    Parameters
    ----------
    directory
        Clean only the run with these results; default: all runs and drives of this user.
    json
        Print what was done as JSON.
    """
    from stithy.run.cleanup.handlers import clean as clean_runs
    from stithy.run.cleanup.handlers import clean_drives

    cleaned = clean_runs(directory)
    if directory is not None and not cleaned and not directory.exists():
        raise UserError(
            "there is no such directory, and no known run had its results there",
            where=str(directory),
            remedy="name a directory that `stithy run` wrote; without a name all runs are cleaned",
        )
    # After the runs, whose own drives are gone by now.
    drives = clean_drives() if directory is None else []
    if json:
        show_json([*map(_as_json, cleaned), *map(_drive_as_json, drives)])
    elif not cleaned and not drives:
        show("Nothing to clean.")
    else:
        _show(cleaned)
        _show_drives(drives)
    left = [*(each.left for each in cleaned), *(each.left for each in drives)]
    return Exit.INFRASTRUCTURE if any(left) else Exit.OK


COMMAND = clean


def _show(cleaned: Sequence["Cleaned"]) -> None:
    for each in cleaned:
        if each.running:
            show(f"{each.run.directory}: the run is still active, nothing removed")
            continue
        show(f"{each.run.directory}: removed everything that the run left")
        for left in each.left:
            facts = ", ".join(f"{name} {value}" for name, value in left.resource.facts.items())
            say(f"not removed: {left.resource.kind} ({facts}): {left.reason}")


def _show_drives(drives: Sequence["DriveCleaned"]) -> None:
    for each in drives:
        names = ", ".join(each.drives)
        if each.left is None:
            show(f"drive {names}: removed everything that it left")
        else:
            say(f"not removed: drive {names}: {each.left}")


def _drive_as_json(cleaned: "DriveCleaned") -> dict[str, object]:
    return {
        "drives": list(cleaned.drives),
        "directory": str(cleaned.folder),
        "left": cleaned.left,
    }


def _as_json(cleaned: "Cleaned") -> dict[str, object]:
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
