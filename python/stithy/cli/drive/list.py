"""`stithy drive list`: which emulated drives there are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stithy.cli.drive.shown import backing_text, found_json, profile_text
from stithy.cli.talk.cells import UNKNOWN, size_text
from stithy.cli.talk.options import Json
from stithy.cli.talk.render import say, show, show_json, table

if TYPE_CHECKING:
    from stithy.drives.found import Found


def list_drives(*, json: Json = False) -> None:
    """List the emulated drives of this user, also those of runs and those that were killed.

    A drive of a run is named with the folder of its run before it. Drives that other programs
    brought up for themselves are not known here.
    """
    from stithy.drives.found import all_drives

    drives = all_drives()
    if json:
        show_json([found_json(each) for each in drives])
    elif not drives:
        show("No emulated drive is up.")
    else:
        show(_table(drives))
        _tell_killed(drives)


COMMAND = list_drives


def _table(drives: Sequence["Found"]) -> str:
    header = ["name", "device", "size", "profile", "backing", "mounted at", "of run", "state"]
    return table(header, [_row(each) for each in drives])


def _row(found: "Found") -> list[str]:
    facts = found.facts
    mounted = ", ".join(str(each) for each in found.mounted)
    known = (
        [size_text(facts.size_bytes), profile_text(facts), backing_text(facts)]
        if facts
        else [UNKNOWN] * 3
    )
    run = found.run_id or UNKNOWN
    return [
        found.full_name,
        found.device or UNKNOWN,
        *known,
        mounted or UNKNOWN,
        run,
        _state(found),
    ]


def _state(found: "Found") -> str:
    if found.problem is not None:
        return found.problem
    return "up" if found.facts and found.facts.paced else "up, unpaced"


def _tell_killed(drives: Sequence["Found"]) -> None:
    from stithy.drives.found import KILLED

    if any(each.problem == KILLED for each in drives):
        say("`stithy clean` removes what killed programs left")
