"""`stithy cluster fault`: break a part of a cluster, or fix all of it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

from stithy.cli.drive.options import read_share
from stithy.cli.talk.options import Json, read_seconds
from stithy.cli.talk.render import say, show_json
from stithy.errors import PreconditionError, UserError
from stithy.names import suggest_instead

if TYPE_CHECKING:
    from stithy.cluster.faults import ClusterFault, Packets
    from stithy.run.by_hand import Cluster

STALL, SHARE = "10s", "5%"
DRIVE, HEAL = "drive-hung", "heal"


@Parameter(name="*")
@dataclass(frozen=True)
class BreakOptions:
    """What a fault may be given; None: not given."""

    direction: Literal["both", "in", "out"] | None = None
    """Which packets are dropped: what the host is sent, what it sends, or both; default: both."""
    peer: int | None = None
    """The only other host from which it is cut off; default: all, and the monitor and clients."""
    share: str | None = None
    """Share of the packets that are lost; default: 5%."""
    duration: str | None = None
    """How long a drive hangs, such as 30s; default: 10 s."""


def break_cluster(
    name: str,
    kind: str,
    number: int | None = None,
    /,
    *,
    how: BreakOptions = BreakOptions(),
    json: Json = False,
) -> None:
    """Break an OSD, host or drive of a cluster that a person raised, or fix everything.

    - `osd-killed`: the process of OSD NUMBER dies. Its connections are refused at once.
    - `osd-hung`: OSD NUMBER answers nothing, but keeps its connections.
    - `osd-lost`: OSD NUMBER dies, and its data are gone. `heal` makes it anew, empty.
    - `osd-down`, `osd-out`: OSD NUMBER is marked down or out, as an administrator would.
    - `host-link-down`: host NUMBER is cut off from the network, and goes on.
    - `host-off`: host NUMBER falls silent, its drives lose their power, and with it what no flush
      had followed, as the seed NUMBER decides; then its OSDs die.
    - `host-hung`: all OSDs of host NUMBER answer nothing, but keep their connections.
    - `host-partitioned`: packets of host NUMBER are dropped. Takes --direction and --peer.
    - `host-packet-loss`: a share of them is. Takes --share, --direction and --peer.
    - `drive-hung`: the drive of OSD NUMBER answers nothing for --duration.
    - `heal`: all faults end, all OSDs are started.

    Studies know these faults by the same names. A volume waits while fewer copies serve than its
    min_size, and goes on after `heal`. A host that is cut off is noticed by its silence only, after
    about 25 s.

    Examples:

        stithy cluster fault lab osd-killed 1
        stithy cluster fault lab host-partitioned 2 --direction in
        stithy cluster fault lab heal

    Parameters
    ----------
    name
        The cluster.
    kind
        What happens.
    number
        The OSD, counted from 0, or the host, counted from 1.
    """
    from stithy.run.by_hand import find_cluster

    cluster = find_cluster(name)
    what = _heal(cluster) if kind == HEAL else _break(cluster, kind, number, how)
    if json:
        show_json({"cluster": cluster.name, "kind": kind, "number": number, "did": what})
    else:
        say(f"{cluster.name}: {what}")


COMMAND = break_cluster


def _heal(cluster: "Cluster") -> str:
    from stithy.cluster import faults
    from stithy.wire.drive.jobs import NoFault, PowerOn

    control, drives = cluster.drive_control
    for drive in drives:
        control.set_fault(drive.drive, NoFault())
        with suppress(PreconditionError):  # refused of one in use, which has power
            control.set_fault(drive.drive, PowerOn())
    folder, entry = cluster.alive
    osds = [osd for osd, _ in entry.osds]
    faults.readmit_osds(partial(faults.run_admin_command, folder, entry), osds)
    faults.repair_cluster(folder, entry)
    return "everything is fixed"


def _break(cluster: "Cluster", kind: str, number: int | None, how: BreakOptions) -> str:
    fault = _find_fault(cluster, kind)
    folder, entry = cluster.alive
    of = fault.of if fault else "OSD"
    known = range(1, entry.hosts + 1) if of == "host" else range(len(entry.osds))
    if number is None or number not in known:
        raise UserError(
            f"no {of} is named" if number is None else f"there is no {of} {number}",
            where=f"stithy cluster fault {cluster.name} {kind}",
            remedy=f"give {known.start} to {known.stop - 1}",
        )
    takes = fault.takes if fault else frozenset({"duration"})
    for option, value in vars(how).items():
        if value is not None and option not in takes:
            raise UserError(
                f"{kind!r} does not have this option", where=f"--{option}", remedy="leave it out"
            )
    if fault is None:
        return _hang_drive(cluster, number, read_seconds(how.duration or STALL, "--duration"))
    if fault.strike is None:
        return _cut_host(cluster, number)
    peers = [host for host in known if host != number]
    fault.strike(folder, entry, number, _make_packets(how, fault, peers))
    return f"{kind} {number} is done"


def _find_fault(cluster: "Cluster", kind: str) -> "ClusterFault | None":
    from stithy.cluster.faults import FAULTS

    if kind == DRIVE:
        return None
    if kind not in FAULTS:
        raise UserError(
            f"there is no fault {kind!r}",
            where=f"stithy cluster fault {cluster.name}",
            remedy=suggest_instead(kind, [*FAULTS, DRIVE, HEAL]),
        )
    return FAULTS[kind]


def _make_packets(how: BreakOptions, fault: "ClusterFault", peers: Sequence[int]) -> "Packets":
    from stithy.cluster.faults import Packets

    if how.peer is not None and how.peer not in peers:
        raise UserError(
            f"host {how.peer} is no other host of it", where="--peer",
            remedy=f"give one of {', '.join(map(str, peers))}" if peers else "leave it out",
        )  # fmt: skip
    share = read_share(how.share or SHARE, "--share") if "share" in fault.takes else 1.0
    if not 0 < share <= 1:
        raise UserError(
            f"a share of {how.share} of the packets", where="--share", remedy="such as 5%"
        )
    return Packets(how.direction or "both", how.peer, share)


def _cut_host(cluster: "Cluster", host: int) -> str:
    from stithy.drives.power_cut import CutRule, MountedDrive
    from stithy.storage.power import cut_machines

    control, drives = cluster.drive_control
    mounted = [(drive.device, MountedDrive(control, drive.drive, drive.device, Path(), ""))
               for drive in drives]  # fmt: skip
    cuts = cut_machines([cluster.alive], mounted, CutRule(host), None, host=host)
    return (
        f"host {host} has no power: of the writes that no flush had followed its drives kept "
        f"{sum(cut.kept for cut in cuts):,}, tore {sum(cut.torn for cut in cuts):,} and lost "
        f"{sum(cut.lost for cut in cuts):,}"
    )


def _hang_drive(cluster: "Cluster", osd: int, duration_s: float) -> str:
    from stithy.cluster.layout import list_devices
    from stithy.wire.drive.jobs import StallFault

    folder, _ = cluster.alive
    control, drives = cluster.drive_control
    device = list_devices(folder, osd)[0]
    drive = next(drive.drive for drive in drives if drive.device == device)
    control.set_fault(drive, StallFault(duration_s=duration_s))
    return f"the drive {drive} of osd.{osd} hangs for {duration_s:g} s"
