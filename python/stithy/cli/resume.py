"""`stithy resume`: go on with a run that was cut off."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from stithy.cli.running.judging import require_writable
from stithy.cli.talk.render import say
from stithy.exits import Exit


def resume(
    directory: Path,
    /,
    *,
    force: Annotated[bool, Parameter(negative=())] = False,
    keep: Annotated[bool, Parameter(negative=())] = False,
    junit: Path | None = None,
    metrics: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> Exit:
    """Go on with a run that was killed, interrupted or failed, and write its report.

    Whatever ended it (Ctrl-C, a kill, a reboot, a full disk), the run ends with the same windows as
    if nothing had happened. First what it left is removed, as `stithy clean` does; only a master
    copy that is still there, and is proven to be as it was made, is used on. Otherwise the database
    is loaded again, from the same seed. Windows that were measured are kept; the one that was cut
    off, and those that are missing, are measured as planned. The report says when the run was
    resumed. A window that came to its end is kept, valid or not; the block of an invalid one is
    measured once more, as in any run.

    Refused for a run that still goes on, for one that ended well, and where its study, what its
    candidates lie on, the kernel, the CPUs, the memory or a program's version are not as they were.

    Examples:

        stithy resume runs/demo-20261121T001627Z

    Parameters
    ----------
    directory
        The directory that `stithy run` wrote.
    force
        Go on although machine or study have changed; the study stays the one that was begun, and
        the report says what changed.
    keep
        Leave the database instances running, and print how to reach them; `stithy clean` ends them.
    junit
        File for the study's thresholds as JUnit XML.
    metrics
        Address on loopback, such as 127.0.0.1:9464, at which the run tells where it stands until it
        ends, at /metrics, for Prometheus.
    json
        Print one JSON document at the end: results, report, findings, thresholds, instances kept.
    """
    from stithy.cli.running.advisers import advisers
    from stithy.cli.running.conclude import conclude
    from stithy.cli.running.display import display
    from stithy.cli.running.looking import look
    from stithy.cli.running.numbers import told_live
    from stithy.run.executor import execute
    from stithy.run.resuming.resume import resumed_run
    from stithy.run.stop import Stop

    require_writable(junit)
    stop = Stop(say)
    with stop.installed():
        asked = advisers()
        with (
            display() as shown,
            told_live(metrics, shown.show) as tell,
            resumed_run(directory, stop, tell, force=force, advisers=asked) as context,
        ):
            outcome = execute(context, keep=keep, judge=look, advisers=asked)
        with stop.shield():
            return conclude(outcome, junit, json=json)


COMMAND = resume
