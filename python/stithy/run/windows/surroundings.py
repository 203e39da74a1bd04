"""What was around a window: who else used the machine, whether the other candidates were quiet.

Two snapshots, just before the users' work and just after it, which `analysis` judges.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.drives.program import find
from stithy.hosts.activity import (
    ActivityCounters,
    Birth,
    between,
    births,
    is_disk,
    made_between,
)
from stithy.hosts.devices import counter_growth, is_partition
from stithy.hosts.processes import pids_within
from stithy.results.tables import SURROUNDINGS, Row
from stithy.run.context import Context

if TYPE_CHECKING:
    from stithy.run.windows.window import MeasuredWindow


@dataclass(frozen=True)
class Snapshot:
    """The machine at a moment: processes of others and devices, and the log's files.

    `log_files` is None where the server has no directory for its log.
    """

    others: ActivityCounters
    log_files: frozenset[Birth] | None = None


def snapshot(context: Context, pids: Iterable[int], log_folder: Path | None) -> Snapshot:
    """The machine now, and the log of a server; `pids` are Stithy's, too, and their children."""
    others = context.host.counters(context.session.clock, {*pids, *run_pids(context)})
    return Snapshot(others, births(log_folder) if log_folder else None)


def run_pids(context: Context) -> set[int]:
    """This process, and what a run has started that is nobody's child: drives and clusters."""
    folders = {drive.control.parent for drive in context.volumes.drives}
    pids = {identity.pid for folder in folders if (identity := find(folder)) is not None}
    return {os.getpid(), *pids}.union(*map(pids_within, context.volumes.clusters))


def row(context: Context, measured: "MeasuredWindow") -> Row:
    """The row of SURROUNDINGS of a window with two snapshots."""
    assert measured.snapshots is not None  # asked by the caller
    before, after = measured.snapshots
    others = between(before.others, after.others)
    volumes, candidate = context.volumes.made, measured.window.candidate
    # Whole disks of the machine under the volume; none under what lies in memory.
    disks = {name for part in volumes[candidate].parts for name in part.devices if is_disk(name)}
    # The devices that are another candidate's alone, each with its owner: a disk under a directory
    # is everybody's. Of each volume the topmost: what is below it does the same again.
    idle = {
        Path(drive.device).name: name
        for name, volume in volumes.items()
        for drive in volume.drives
        if name != candidate
    }
    moved = {name: _moved(before, after, name) for name in after.others.devices}
    here = {name for part in volumes[candidate].parts for name in part.devices}
    elsewhere = sum(moved[name] for name in moved if name not in here and not is_partition(name))
    on_disks = sum(moved.get(name, 0) for name in disks)
    server = {
        name: value for each in measured.activities for name, value in each.surroundings().items()
    }
    return (
        dict.fromkeys(column.name for column in SURROUNDINGS.columns)
        | server
        | {
            "window_id": measured.window.id,
            "span_s": others.span_s,
            "cpus": len(context.host.cpus),
            "others_cpu_s": others.cpu_s,
            "others_bytes": others.moved_bytes,
            # What they did elsewhere they did not do here; what they wrote may still be in memory.
            "others_here_bytes": min(max(0, others.moved_bytes - elsewhere), on_disks),
            "others_names": ", ".join(others.names) or None,
            "disks_bytes": on_disks if disks else None,
            "idle_bytes": sum(moved.get(name, 0) for name in idle) if idle else None,
            "idle_names": ", ".join(sorted({idle[name] for name in idle if moved.get(name)}))
            or None,
            "log_files_made": made_between(before.log_files, after.log_files),
        }
    )


def _moved(before: Snapshot, after: Snapshot, name: str) -> int:
    """Bytes that a device read and wrote between both; one made meanwhile did all of them."""
    now, known = after.others.devices[name].bytes, before.others.devices
    then = known[name].bytes if name in known else {}
    return sum(counter_growth(then.get(kind, 0), now[kind]) for kind in ("read", "write"))
