"""`stithy drive list`: which emulated drives there are."""

from typing import TYPE_CHECKING

from stithy.cli.drive.options import describe_backing, describe_profile, make_found_json
from stithy.cli.talk.options import Json
from stithy.cli.talk.render import UNKNOWN, format_size_text, make_table, say, show, show_json

if TYPE_CHECKING:
    from stithy.drives.program import FoundDrive


def list_drives(*, json: Json = False) -> None:
    """List the emulated drives of this user, including those of runs and killed ones.

    The name of a run's drive begins with the folder of its run. Drives that other programs started
    for themselves are not listed.
    """
    from stithy.drives.program import list_drives

    drives = list_drives()
    if json:
        show_json([make_found_json(drive) for drive in drives])
    elif not drives:
        show("No emulated drive is up.")
    else:
        from stithy.drives.program import KILLED

        header = ["name", "device", "size", "profile", "backing", "mounted at", "of run", "state"]
        show(make_table(header, [_make_row(drive) for drive in drives]))
        if any(drive.problem == KILLED for drive in drives):
            say("`stithy clean` removes what killed programs left")


COMMAND = list_drives


def _make_row(found: "FoundDrive") -> list[str]:
    facts = found.facts
    mounted = ", ".join(str(mount) for mount in found.mounted)
    known = (
        [format_size_text(facts.size_bytes), describe_profile(facts), describe_backing(facts)]
        if facts
        else [UNKNOWN] * 3
    )
    run, state = found.run_id or UNKNOWN, found.problem
    if state is None:
        state = "up" if facts and facts.paced else "up, unpaced"
    return [found.full_name, found.device or UNKNOWN, *known, mounted or UNKNOWN, run, state]
