"""What was around a window, and the baseline check before each block: fixed work of the machine.

Who else used the machine, whether the other candidates were quiet.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.drives.program import find
from stithy.errors import Interrupted, StithyError
from stithy.hosts.activity import (
    WATCHED_S,
    ActivityCounters,
    Birth,
    compare_counters,
    count_made_between,
    is_disk,
    list_births,
)
from stithy.hosts.checks import describe_busy_cpus, describe_busy_devices
from stithy.hosts.devices import find_counter_growth, is_partition
from stithy.hosts.processes import find_pids_of_run, find_pids_within
from stithy.plan.cost import QUIET_S
from stithy.plan.steps import Step
from stithy.results import tables
from stithy.results.tables import SURROUNDINGS, Row
from stithy.run.context import Context
from stithy.run.events import MachineBusy
from stithy.units import format_duration
from stithy.wire.hammer import NOWHERE, ProgressWatch, Work

if TYPE_CHECKING:
    from stithy.run.window import MeasuredWindow


@dataclass(frozen=True)
class MachineSnapshot:
    """The machine at a moment: processes of others and devices, and the log's files.

    `log_files` is None where the server has no directory for its log.
    """

    others: ActivityCounters
    log_files: frozenset[Birth] | None = None


def snapshot(context: Context, pids: Iterable[int], log_folder: Path | None) -> MachineSnapshot:
    """The machine now, and the log of a server; `pids` are Stithy's, too, and their children."""
    others = context.host.read_counters(context.session.clock, {*pids, *run_pids(context)})
    return MachineSnapshot(others, list_births(log_folder) if log_folder else None)


def run_pids(context: Context) -> set[int]:
    """This process, and what a run has started that is nobody's child: drives and clusters."""
    folders = {drive.control.parent for drive in context.volumes.drives}
    pids = {identity.pid for folder in folders if (identity := find(folder)) is not None}
    return {os.getpid(), *pids}.union(*map(find_pids_within, context.volumes.clusters))


def make_row(context: Context, measured: "MeasuredWindow") -> Row:
    """The row of SURROUNDINGS of a window with two snapshots."""
    assert measured.snapshots is not None  # asked by the caller
    before, after = measured.snapshots
    others = compare_counters(before.others, after.others)
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
    moved = {}
    for name, device in after.others.devices.items():
        then = before.others.devices[name].bytes if name in before.others.devices else {}
        moved[name] = sum(
            find_counter_growth(then.get(kind, 0), device.bytes[kind]) for kind in ("read", "write")
        )
    here = {name for part in volumes[candidate].parts for name in part.devices}
    elsewhere = sum(moved[name] for name in moved if name not in here and not is_partition(name))
    on_disks = sum(moved.get(name, 0) for name in disks)
    server = {
        name: value
        for activity in measured.activities
        for name, value in activity.surroundings().items()
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
            "log_files_made": count_made_between(before.log_files, after.log_files),
        }
    )


SPIN_S = 0.2
READ_S = 0.25
"""Own: twenty slices of a scheduler's turn, and a thousand reads of a solid-state drive; with the
start of the program a check takes less than a second."""

FILE = "baseline"
FILE_BYTES = 32 * 2**20
"""Own: more than a device answers from the line that it read last, and written at once."""


def check_baseline(context: Context, step: Step) -> str:
    """Measure the machine itself, and write it down; returns it in words. Raises Interrupted."""
    assert step.window is not None  # the plan gives every check the first window of its block
    row: Row = {column.name: None for column in tables.BASELINE.columns}
    row |= wait_until_quiet(context)
    row |= {
        "window_id": step.window.id,
        "point": str(step.window.point),
        "block": step.window.block,
        "attempt": step.window.attempt,
        "at_s": context.session.clock.now_s(),
    }
    try:
        # The run's own directory lies in memory or on the system's disk, on no volume under test.
        work = Work(context.scratch / FILE, FILE_BYTES, SPIN_S, READ_S)
        watch = ProgressWatch(
            context.session.directory.baseline_output, stop=context.session.stop.asked
        )
        summary = context.hammer(NOWHERE).run_baseline(work, watch=watch)
        row |= {
            "one_rounds_per_s": summary.one_rounds_per_s,
            "all_rounds_per_s": summary.all_rounds_per_s,
            "threads": summary.threads,
            "missing_because": summary.reads_missing_because,
        }
        if summary.reads is not None:
            row["reads"] = summary.reads.count
            times = summary.reads.model_dump(include={"mean_s", "p50_s", "p99_s", "max_s"})
            row |= {f"read_{name}": value for name, value in times.items()}
    except Interrupted:
        raise
    except StithyError as error:
        row["missing_because"] = error.text
    context.add_rows(tables.BASELINE, [row])
    waited = ""
    if row["busy_because"]:
        waited = f"not quiet after {format_duration(row['waited_s'])}: {row['busy_because']}; "
    elif row["waited_s"] and row["waited_s"] > QUIET_S:
        waited = f"quiet after {format_duration(row['waited_s'])}; "
    if row["one_rounds_per_s"] is None:
        return f"{waited}not done: {row['missing_because']}"
    read_s = row["read_p50_s"]
    reads = f"reads {format_duration(read_s)}" if read_s else f"no reads: {row['missing_because']}"
    return f"{waited}one CPU {row['one_rounds_per_s']:,.0f} rounds per second, {reads}"


def wait_until_quiet(context: Context) -> Row:
    """Wait until no look of the last `QUIET_S` met other programs; returns columns of BASELINE.

    At most as long as the study says. Raises Interrupted.
    """
    session, progress = context.session, context.state.progress
    most_s = context.file.study.quiet.wait_s
    if not most_s:
        return {}
    patience_s = min(QUIET_S, most_s) if progress.outwaited else most_s
    pids = run_pids(context) | {*find_pids_of_run(session.run_id)}
    waited_s = quiet_s = 0.0
    met: str | None = None
    while quiet_s < QUIET_S and waited_s < patience_s:
        session.stop.check()
        activity = context.host.activity(pids)
        busy = "; ".join(
            filter(None, (describe_busy_cpus(activity), describe_busy_devices(activity)))
        )
        if busy and (met is None or waited_s % 10 == 0):
            session.tell(MachineBusy(busy, waited_s, patience_s))
        quiet_s = 0.0 if busy else quiet_s + WATCHED_S
        met = busy or met
        waited_s += WATCHED_S
    progress.outwaited = met is not None and quiet_s < QUIET_S
    return {"waited_s": waited_s, "busy_because": met if progress.outwaited else None}
