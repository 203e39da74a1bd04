"""`stithy cluster fault`: break a part of a cluster, or fix all of it."""

from typing import TYPE_CHECKING, Literal

from stithy.cli.talk.options import Json, read_seconds
from stithy.cli.talk.render import say, show_json
from stithy.errors import UserError

if TYPE_CHECKING:
    from stithy.run.by_hand import Cluster

STALL = "10s"


def break_cluster(
    name: str,
    kind: Literal["kill-osd", "hang-osd", "cut-host", "power-off-host", "stall-drive", "heal"],
    number: int | None = None,
    /,
    *,
    duration: str | None = None,
    json: Json = False,
) -> None:
    """Break an OSD, host or drive of a cluster that a person raised, or fix everything.

    - `kill-osd`: the process of OSD NUMBER dies. Its connections are refused at once.
    - `hang-osd`: OSD NUMBER answers nothing, but keeps its connections.
    - `cut-host`: host NUMBER is cut off from the network, and goes on.
    - `power-off-host`: host NUMBER falls silent, then its OSDs die.
    - `stall-drive`: the drive of OSD NUMBER answers nothing for --duration; default: 10 s.
    - `heal`: all hosts are plugged in, all OSDs started, all faults of drives ended.

    A volume waits while fewer copies serve than its min_size, and goes on after `heal`. A host that
    is cut off is noticed by its silence only, after about 25 s.

    Examples:

        stithy cluster fault lab kill-osd 1
        stithy cluster fault lab cut-host 2
        stithy cluster fault lab heal

    Parameters
    ----------
    name
        The cluster.
    kind
        What happens.
    number
        The OSD, counted from 0, or the host, counted from 1.
    duration
        How long a drive stalls, such as 30s.
    """
    from stithy.run.by_hand import find_cluster

    cluster = find_cluster(name)
    if kind == "heal":
        from stithy.cluster import daemons as faults
        from stithy.wire.drive.jobs import NoFault

        control, drives = cluster.drive_control
        for drive in drives:
            control.set_fault(drive.drive, NoFault())
        faults.repair_cluster(*cluster.alive)
        what = "everything is fixed"
    else:
        what = _break(cluster, kind, number, duration)
    if json:
        show_json({"cluster": cluster.name, "kind": kind, "number": number, "did": what})
    else:
        say(f"{cluster.name}: {what}")


COMMAND = break_cluster


def _break(cluster: "Cluster", kind: str, number: int | None, duration: str | None) -> str:
    from stithy.cluster import daemons as faults

    folder, entry = cluster.alive
    of_host = kind in faults.OF_HOSTS
    known = range(1, entry.hosts + 1) if of_host else range(len(entry.osds))
    what = "host" if of_host else "OSD"
    if number is None or number not in known:
        raise UserError(
            f"no {what} is named" if number is None else f"there is no {what} {number}",
            where=f"stithy cluster fault {cluster.name} {kind}",
            remedy=f"give {known.start} to {known.stop - 1}",
        )
    if duration is not None and kind != "stall-drive":
        raise UserError(
            f"{kind!r} does not have this option", where="--duration", remedy="leave it out"
        )
    if kind == "stall-drive":
        return _read_stall(cluster, number, read_seconds(duration or STALL, "--duration"))
    {**faults.OF_HOSTS, **faults.OF_OSDS}[kind](folder, entry, number)
    return f"{kind} {number} is done"


def _read_stall(cluster: "Cluster", osd: int, duration_s: float) -> str:
    from stithy.cluster.layout import get_drive
    from stithy.wire.drive.jobs import StallFault

    folder, _ = cluster.alive
    control, drives = cluster.drive_control
    device = get_drive(folder, osd)
    drive = next(drive.drive for drive in drives if drive.device == device)
    control.set_fault(drive, StallFault(duration_s=duration_s))
    return f"the drive {drive} of osd.{osd} stalls for {duration_s:g} s"
