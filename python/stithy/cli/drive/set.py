"""`stithy drive set`: change how an emulated drive waits, while it runs."""

from typing import Literal

from stithy.cli.drive.options import DriveName, make_drive_json
from stithy.cli.talk.options import Json, read_seconds
from stithy.cli.talk.render import format_time_text, say, show_json
from stithy.errors import UserError


def set_drive(
    name: DriveName,
    /,
    *,
    paced: Literal["on", "off"] | None = None,
    transport: str | None = None,
    spin: str | None = None,
    json: Json = False,
) -> None:
    """Change the timing of a running drive. Options that are not given keep their value.

    The change applies from the next request on. The profile, the size and the data do not change.

    Examples:

        stithy drive set data --paced off
        stithy drive set data --spin 50us

    Parameters
    ----------
    paced
        off: requests take no time and the drive does not age, which is useful to load data. on:
        requests take the time of the profile again.
    transport
        Transport latency: the time that a request takes to the drive and back through the kernel,
        such as 12us. The drive answers earlier by this time.
    spin
        Time before an answer is due in which the thread spins instead of sleeping. A longer time is
        more exact, and takes more CPU.
    """
    from stithy.drives.program import find_drive

    if paced is None and transport is None and spin is None:
        remedy = "give --paced, --transport or --spin"
        raise UserError("no option is given", where="stithy drive set", remedy=remedy)
    found = find_drive(name)
    found.control.set(
        found.name,
        paced=None if paced is None else paced == "on",
        transport_s=None if transport is None else read_seconds(transport, "--transport"),
        spin_s=None if spin is None else read_seconds(spin, "--spin"),
    )
    facts = next(counters for counters in found.control.list() if counters.drive == found.name)
    if json:
        show_json(make_drive_json(facts))
        return
    say(
        f"{found.name}: {'paced' if facts.paced else 'unpaced, requests take no time'}, transport "
        f"{format_time_text(facts.transport_s)}, spins {format_time_text(facts.spin_s)}"
    )


COMMAND = set_drive
