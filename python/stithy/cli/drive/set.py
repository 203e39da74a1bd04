"""`stithy drive set`: change how an emulated drive waits, while it runs."""

from typing import Literal

from stithy.cli.drive.shown import drive_json
from stithy.cli.talk.cells import time_text
from stithy.cli.talk.options import Json, read_seconds
from stithy.cli.talk.render import say, show_json
from stithy.errors import UserError


def set_drive(
    name: str,
    /,
    *,
    paced: Literal["on", "off"] | None = None,
    transport: str | None = None,
    spin: str | None = None,
    json: Json = False,
) -> None:
    """Change how a drive waits, from its next request on; what is not given stays.

    The profile, the size and what the drive holds do not change.

    Examples:

        stithy drive set data --paced off
        stithy drive set data --spin 50us

    Parameters
    ----------
    name
        The drive, by the name that `stithy drive list` shows.
    paced
        off: requests take no time and the drive does not age, for loading data; on: they take the
        profile's time again.
    transport
        The time that a request is under way to the drive and back, by which answers are given
        earlier, such as 12us.
    spin
        How long before an answer is due sleeping becomes spinning: more exact, for more CPU.
    """
    from stithy.drives.found import drive_named

    if paced is None and transport is None and spin is None:
        raise UserError(
            "nothing is to be changed",
            where="stithy drive set",
            remedy="give --paced, --transport or --spin",
        )
    found = drive_named(name)
    found.control.set(
        found.name,
        paced=None if paced is None else paced == "on",
        transport_s=None if transport is None else read_seconds(transport, "--transport"),
        spin_s=None if spin is None else read_seconds(spin, "--spin"),
    )
    facts = next(each for each in found.control.list() if each.drive == found.name)
    if json:
        show_json(drive_json(facts))
        return
    say(
        f"{found.name}: {'paced' if facts.paced else 'unpaced, requests take no time'}, transport "
        f"{time_text(facts.transport_s)}, spins {time_text(facts.spin_s)}"
    )


COMMAND = set_drive
