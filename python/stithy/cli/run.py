"""`stithy run`: from a study file to a report."""

from pathlib import Path

from stithy.cli.talk.options import (
    Junit,
    Keep,
    Metrics,
    NoWait,
    Page,
    Scheduler,
    Tls,
    require_writable,
)
from stithy.cli.talk.render import say
from stithy.errors import Exit


def run(
    study: Path,
    /,
    *,
    out: Path | None = None,
    keep: Keep = False,
    null: bool = False,
    sensitivity: bool = False,
    no_wait: NoWait = False,
    junit: Junit = None,
    metrics: Metrics = None,
    page: Page = None,
    scheduler: Scheduler = None,
    tls: Tls = None,
    json: bool = False,
) -> Exit:
    """Run a study: create the candidates, load the database, measure, and write the report.

    Before anything starts, the command checks the study, the directories and their free space, the
    server programs and their settings. At the end it removes everything that it created, and keeps
    the results. Nothing is installed. It uses a directory only if it is empty or Stithy's own.

    Ctrl-C stops the run cleanly, and the report shows the partial results. A second Ctrl-C stops at
    once, and still cleans up.

    Blocks at the level of the primary question are measured until the question is decided. If no
    block answers it, the exit code is 5. A block with an invalid window is measured a second time,
    at every level; the report shows both attempts.

    If the study has thresholds, each is shown with the values of both sides. The exit code is 99 if
    one was not met, and 5 if one cannot be judged because a window that it needs is invalid.

    Examples:

        stithy run studies/demo.yaml
        stithy run studies/demo.yaml --out results/first --keep
        stithy run studies/demo.yaml --null
        stithy run studies/demo.yaml --sensitivity
        stithy run ours.yaml --junit thresholds.xml

    Parameters
    ----------
    study
        The study file.
    out
        Directory for the results, missing or empty; default: runs/STUDY-TIME.
    null
        Measure the study's first candidate against an identical copy of it, each on its own volume.
        The answer must be "equivalent" or "undecided". A difference is an error of the instrument,
        and the exit code is then 5.
    sensitivity
        Measure the primary question again after it is answered, with other drive profiles. Every
        assumed number is then 25 % worse for the better candidate, and 25 % better for the other.
        If no candidate is better, both directions are measured. The report says whether the verdict
        changes. Only for emulated drives whose profiles have assumed numbers.
    json
        Print one JSON document at the end: results, report, findings, thresholds, instances kept.
    """
    from stithy.cli.talk.conclude import conclude, refuse_kept, run_corners
    from stithy.cli.talk.display import display, show_to_all
    from stithy.cli.talk.page import watch_run
    from stithy.report.sections.certainty import describe_status
    from stithy.run.agents import make_finder
    from stithy.run.deciders import make_deciders
    from stithy.run.equip import Tools
    from stithy.run.executor import execute
    from stithy.run.session import Stop
    from stithy.run.start import start_run

    require_writable(junit)
    refuse_kept(keep=keep, sensitivity=sensitivity)
    stop, tools = Stop(say), Tools(waits=not no_wait, agents=make_finder(scheduler, tls))
    with stop.install_signals(), watch_run(metrics, page) as watch:
        with display() as shown:
            tell = show_to_all(shown, watch)
            context = start_run(study, out, stop, tell, tools, null=null, sensitivity=sensitivity)
            outcome = execute(context, make_deciders(describe_status), keep=keep)
            outcome = run_corners(outcome, stop, tell, tools=tools)
        with stop.shield():
            return conclude(outcome, junit, json=json, tell=watch)


COMMAND = run
