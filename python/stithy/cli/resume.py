"""`stithy resume`: go on with a run that was cut off."""

from contextlib import ExitStack

from stithy.cli.talk.options import (
    Junit,
    Keep,
    Metrics,
    NoWait,
    Page,
    RunFolder,
    Scheduler,
    Tls,
    require_writable,
)
from stithy.cli.talk.render import say
from stithy.errors import Exit


def resume(
    directory: RunFolder,
    /,
    *,
    force: bool = False,
    no_wait: NoWait = False,
    keep: Keep = False,
    junit: Junit = None,
    metrics: Metrics = None,
    page: Page = None,
    scheduler: Scheduler = None,
    tls: Tls = None,
    json: bool = False,
) -> Exit:
    """Continue a run that was killed, interrupted or failed, and write its report.

    The run may have ended by Ctrl-C, a kill, a reboot or a full disk. The resumed run measures the
    same windows as an uninterrupted run:

    - It removes what the run left, as `stithy clean` does.
    - It uses the master copy of the database again if the copy is unchanged. Otherwise it loads the
      database again, from the same seed.
    - It keeps every window that was measured to its end, valid or not.
    - It measures the missing windows, and the one that was cut off, as planned. A block with an
      invalid window is measured a second time, as in every run.
    - It asks for agents at the scheduler where they were, unless `--scheduler` names another.

    It also continues what `stithy run --sensitivity` asked for. The report says when the run was
    resumed.

    The command refuses a run that is still active, and a run that ended well. It also refuses if
    the study, an I/O profile or trace of your own, a candidate's storage, the kernel, the CPUs, the
    memory or a program version has changed.

    Examples:

        stithy resume runs/demo-20261121T001627Z

    Parameters
    ----------
    force
        Continue although the machine or the study has changed. The original study is used, and the
        report says what changed.
    json
        Print one JSON document at the end: results, report, findings, thresholds, instances kept.
    """
    from stithy.cli.talk.conclude import conclude, is_ended_before_corners, refuse_kept, run_corners
    from stithy.cli.talk.display import display, show_to_all
    from stithy.cli.talk.page import watch_run
    from stithy.report.sections.certainty import describe_status
    from stithy.results.layout import RunDirectory
    from stithy.run.agents import make_finder, recall_site
    from stithy.run.deciders import make_deciders
    from stithy.run.equip import Tools
    from stithy.run.executor import execute
    from stithy.run.resume import resume_run
    from stithy.run.session import Stop

    require_writable(junit)
    refuse_kept(keep=keep, sensitivity=RunDirectory(directory).sensitivity.is_dir())
    if scheduler is None:
        scheduler, known_tls = recall_site(directory)
        tls = tls or known_tls
    stop, tools = Stop(say), Tools(waits=not no_wait, agents=make_finder(scheduler, tls))
    with stop.install_signals(), watch_run(metrics, page) as watch:
        asked = make_deciders(describe_status)
        with display() as shown, ExitStack() as held:
            tell = show_to_all(shown, watch)
            if (outcome := is_ended_before_corners(directory, held)) is None:
                resumed = resume_run(
                    directory, stop, tell, force=force, tools=tools, deciders=asked
                )
                context = held.enter_context(resumed)
                outcome = execute(context, asked, keep=keep)
            outcome = run_corners(outcome, stop, tell, tools=tools, force=force)
        with stop.shield():
            return conclude(outcome, junit, json=json, tell=watch)


COMMAND = resume
