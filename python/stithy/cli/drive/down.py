"""`stithy drive down`: take emulated drives down."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.talk.options import Json
from stithy.cli.talk.render import say, show_json
from stithy.errors import Exit, PreconditionError, StithyError, UserError

if TYPE_CHECKING:
    from stithy.drives.program import FoundDrive


def take_drives_down(
    name: str | None = None,
    /,
    *,
    all_of_them: Annotated[bool, Parameter(name="--all")] = False,
    json: Json = False,
) -> Exit:
    """Stop an emulated drive, or all drives that a person started. Data in memory are lost.

    A file system that `stithy drive up --mount` mounted is unmounted first. A drive that somebody
    else mounted, or that a program has open, is kept. A drive of a run is kept, too: it ends with
    its run, or with `stithy clean`. A backing file is kept. The command also removes what a killed
    drive left.

    Examples:

        stithy drive down generic-nvme
        stithy drive down --all

    Parameters
    ----------
    name
        The drive, by its name in `stithy drive list`.
    all_of_them
        Stop all drives except those of runs.
    """
    from stithy.drives.program import find_drive, list_drives

    if (name is None) == (not all_of_them):
        remedy = "give the name of a drive, or --all"
        raise UserError("no drive is named", where="stithy drive down", remedy=remedy)
    chosen = (
        [find_drive(name)]
        if name
        else [all_drive for all_drive in list_drives() if not all_drive.run_id]
    )
    failures = [failure for drive in chosen if (failure := _take_one_down(drive)) is not None]
    if json:
        gone = [each.name for each in chosen if each.name not in {name for name, _ in failures}]
        show_json({"down": gone, "left": {name: str(error) for name, error in failures}})
    elif not chosen:
        say("No emulated drive is up.")
    return failures[0][1].exit if failures else Exit.OK


COMMAND = take_drives_down


def _take_one_down(found: "FoundDrive") -> tuple[str, StithyError] | None:
    """Take one down and say so; its name and why not, where it could not be."""
    from stithy.drives.program import remove

    try:
        if found.run_id is not None:
            raise PreconditionError(
                f"it belongs to the run {found.run_id}",
                where=found.full_name,
                remedy="end the run; `stithy clean` removes what it left",
            )
        _refuse_mounted(found)
        _refuse_opened(found)
        remove(found.folder)
    except StithyError as error:
        say(f"error: {error}")
        return found.name, error
    say(f"{found.name} is down")
    return None


def _refuse_mounted(found: "FoundDrive") -> None:
    """Only what `up` mounted is unmounted; what somebody else mounted is named."""
    from stithy.drives.control import read_entry

    entry = read_entry(found.folder)
    own = {mount.point for mount in entry.mounts} if entry else set()
    if foreign := [str(mount) for mount in found.mounted if mount not in own]:
        raise PreconditionError(
            f"it is mounted at {', '.join(foreign)}",
            where=found.full_name,
            remedy=f"unmount it first: umount {quote(str(foreign[0]))}",
        )


def _refuse_opened(found: "FoundDrive") -> None:
    """A program that has the device itself open; of a killed drive it may be another's by now."""
    from stithy.drives.program import find
    from stithy.hosts.processes import find_openers, name_users, read_device_number

    own = find(found.folder)
    if own is None or found.device is None:
        return
    number = read_device_number(Path(found.device))
    if users := find_openers({number} - {""}, lambda pid: pid == own.pid):
        raise PreconditionError(
            f"{found.device} is open in {name_users(users)}",
            where=found.full_name,
            remedy="end what has it open first",
        )
