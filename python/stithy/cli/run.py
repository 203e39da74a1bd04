"""`stithy run`: from a study file to a report."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from stithy.cli.running.judging import require_writable
from stithy.cli.talk.render import say
from stithy.exits import Exit


def run(
    study: Path,
    /,
    *,
    out: Path | None = None,
    keep: Annotated[bool, Parameter(negative=())] = False,
    null: Annotated[bool, Parameter(negative=())] = False,
    junit: Path | None = None,
    metrics: str | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> Exit:
    """Run a study: make the candidates, load the database, measure, and write the report.

    Everything that can be checked is checked before anything starts: the study, the candidates'
    directories and their space, the server programs and their settings. Afterwards everything that
    was made is removed again; results stay. Ctrl-C stops the run cleanly: the report then tells
    what there is. A second Ctrl-C ends at once, and still cleans up. Nothing is installed,
    and no directory is touched that is neither empty nor Stithy's own. Where the study has
    thresholds, each is told with the values of both sides; the exit code is 99 where one was not
    met, and 5 where one cannot be judged because no window that it needs is valid.

    Blocks at the level of the study's primary question go on until it is decided, and no longer.
    If no block answers it, the exit code is 5. A block with an invalid window is measured once
    more, at any level; the report shows both.

    Examples:

        stithy run studies/demo.yaml
        stithy run studies/demo.yaml --out results/first --keep
        stithy run studies/demo.yaml --null
        stithy run ours.yaml --junit thresholds.xml

    Parameters
    ----------
    study
        The study file.
    out
        Directory for the results, missing or empty; default: runs/STUDY-TIME.
    keep
        Leave the database instances running, and print how to reach them; `stithy clean` ends them.
    null
        Measure the study's first candidate against its like, each on a volume of its own. The
        answer must be "equivalent" or "undecided"; a difference is the instrument's own, and the
        exit code is then 5.
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
    from stithy.run.start import start_run
    from stithy.run.stop import Stop

    require_writable(junit)
    stop = Stop(say)
    with stop.installed():
        with display() as shown, told_live(metrics, shown.show) as tell:
            context = start_run(study, out, stop, tell, null=null)
            outcome = execute(context, keep=keep, judge=look, advisers=advisers())
        with stop.shield():
            return conclude(outcome, junit, json=json)


COMMAND = run
