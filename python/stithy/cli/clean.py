"""`stithy clean`: remove whatever earlier runs left."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.render import say, show, show_json
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.run.clean import Cleaned


def clean(
    directory: Path | None = None,
    /,
    *,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> Exit:
    """Remove what a killed run left behind, or what `stithy run --keep` kept.

    Ends their servers and removes their databases, directories, sockets and memory groups: all that
    Stithy wrote down before it made it, and only that. It removes no results, and leaves alone what
    still runs. Works from anywhere; runs of other users are theirs to clean.

    Examples:

        stithy clean
        stithy clean runs/demo-20261121T001627Z

    Parameters
    ----------
    directory
        Clean only the run with these results; default: all of this user's runs.
    json
        Print what was done as JSON.
    """
    from stithy.run.clean import clean as clean_runs

    cleaned = clean_runs(directory)
    if json:
        show_json([_as_json(each) for each in cleaned])
    else:
        _show(cleaned)
    return Exit.INFRASTRUCTURE if any(each.left for each in cleaned) else Exit.OK


COMMAND = clean


def _show(cleaned: Sequence["Cleaned"]) -> None:
    if not cleaned:
        show("Nothing to clean.")
    for each in cleaned:
        if each.running:
            show(f"{each.run.directory}: goes on, left alone")
            continue
        show(f"{each.run.directory}: removed all that was left")
        for left in each.left:
            facts = ", ".join(f"{name} {value}" for name, value in left.making.facts.items())
            say(f"not removed: {left.making.kind} ({facts}): {left.reason}")


def _as_json(cleaned: "Cleaned") -> dict[str, object]:
    return {
        "run_id": cleaned.run.run_id,
        "directory": str(cleaned.run.directory),
        "running": cleaned.running,
        "removed": cleaned.removed,
        "left": [
            {"kind": left.making.kind, "facts": dict(left.making.facts), "reason": left.reason}
            for left in cleaned.left
        ],
    }
