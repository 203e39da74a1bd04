"""Is the machine quiet? Before each block a run waits until other programs have calmed down.

Whoever does not end within a whole wait is not waited for again: from then on a look decides, until
one finds the machine quiet. So a program that goes on costs a run one wait, not one a block.
"""

from stithy.hosts.activity import WATCHED_S
from stithy.hosts.checks.load import busy_cpus, busy_devices
from stithy.hosts.processes import pids_of_run
from stithy.plan.cost import QUIET_S
from stithy.results.tables import Row
from stithy.run.context import Context
from stithy.run.events import MachineBusy
from stithy.run.windows.surroundings import run_pids

REPORTED_EVERY_S = 10.0


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
        busy = "; ".join(filter(None, (busy_cpus(activity), busy_devices(activity))))
        if busy and (met is None or waited_s % REPORTED_EVERY_S == 0):
            session.tell(MachineBusy(busy, waited_s, patience_s))
        quiet_s = 0.0 if busy else quiet_s + WATCHED_S
        met = busy or met
        waited_s += WATCHED_S
    progress.outwaited = met is not None and quiet_s < QUIET_S
    return {"waited_s": waited_s, "busy_because": met if progress.outwaited else None}
