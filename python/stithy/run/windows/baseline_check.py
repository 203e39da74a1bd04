"""The baseline check before each block: fixed work that has nothing to do with any candidate.

It begins once the machine is quiet. Whoever does not end within a whole wait is not waited for
again: from then on a look decides, until one finds the machine quiet. So a program that goes on
costs a run one wait, not one a block. What the check tells of the machine is judged by `analysis`,
over all blocks. A check that failed ends no run.
"""

from stithy.errors import Interrupted, StithyError
from stithy.hosts.activity import WATCHED_S
from stithy.hosts.checks.load import describe_busy_cpus, describe_busy_devices
from stithy.hosts.processes import pids_of_run
from stithy.plan.cost import QUIET_S
from stithy.plan.steps import Step
from stithy.results import tables
from stithy.results.tables import Row
from stithy.run.context import Context
from stithy.run.events import MachineBusy
from stithy.run.windows.surroundings import run_pids
from stithy.units import format_duration
from stithy.wire.hammer import NOWHERE, Watch, Work

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
        watch = Watch(context.session.directory.baseline_output, stop=context.session.stop.asked)
        summary = context.hammer(NOWHERE).baseline(work, watch=watch)
        row |= {
            "one_rounds_per_s": summary.one_rounds_per_s,
            "all_rounds_per_s": summary.all_rounds_per_s,
            "threads": summary.threads,
            "missing_because": summary.reads_missing_because,
        }
        if summary.reads is not None:
            row["reads"] = summary.reads.count
            for name in ("mean_s", "p50_s", "p99_s", "max_s"):
                row[f"read_{name}"] = getattr(summary.reads, name)
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
    pids = run_pids(context) | {*pids_of_run(session.run_id)}
    waited_s = quiet_s = 0.0
    met: str | None = None
    while quiet_s < QUIET_S and waited_s < patience_s:
        session.stop.check()
        activity = context.host.activity(pids)
        busy = "; ".join(filter(None, (describe_busy_cpus(activity), describe_busy_devices(activity))))
        if busy and (met is None or waited_s % 10 == 0):
            session.tell(MachineBusy(busy, waited_s, patience_s))
        quiet_s = 0.0 if busy else quiet_s + WATCHED_S
        met = busy or met
        waited_s += WATCHED_S
    progress.outwaited = met is not None and quiet_s < QUIET_S
    return {"waited_s": waited_s, "busy_because": met if progress.outwaited else None}
