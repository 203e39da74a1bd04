"""`--sensitivity`: after a run the corners of its answer are measured, and judged like the run."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from stithy.errors import Interrupted, StithyError, UserError
from stithy.report.context import context_of
from stithy.report.sections.answer.sensitivity import wanted
from stithy.report.sections.certainty import describe_status
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from stithy.results.manifest import End
from stithy.run.deciders import make_deciders
from stithy.run.events import Note, Observer
from stithy.run.executor import RunOutcome, execute
from stithy.run.preparation.equip import Tools
from stithy.run.resuming.history import read_history
from stithy.run.resuming.resume import held as run_held
from stithy.run.resuming.resume import refuse_living
from stithy.run.sensitivity import corner_begun, is_over, prepare_corner
from stithy.run.session import Stop


def refuse_kept(*, keep: bool, sensitivity: bool) -> None:
    """Raise UserError where servers that are kept would disturb the windows that follow."""
    if keep and sensitivity:
        raise UserError(
            "servers that --keep leaves running would disturb the later windows of --sensitivity",
            where="--keep",
            remedy="leave out --keep or --sensitivity",
        )


def with_corners(
    outcome: RunOutcome,
    stop: Stop,
    tell: Observer,
    *,
    tools: Tools | None = None,
    force: bool = False,
) -> RunOutcome:
    """The outcome of a run after its corners were measured, where they were asked for.

    Its error is then that of the first corner that did not come to its end.
    """
    main = outcome.directory
    if outcome.error is not None or not main.sensitivity.is_dir():
        return outcome
    try:
        for against in _prepared(main):
            asked = make_deciders(describe_status)
            tell(Note(f"sensitivity: every assumed number of drives is now worse for {against}"))
            with corner_begun(
                main, against, stop, tell, deciders=asked, tools=tools, force=force
            ) as context:
                found = execute(context, asked)
            outcome = replace(outcome, left=(*outcome.left, *found.left))
            if found.error is not None:
                return replace(outcome, end=found.end, error=found.error, stays=found.stays)
    except StithyError as error:
        end: End = "interrupted" if isinstance(error, Interrupted) else "failed"
        return replace(outcome, end=end, error=error)
    return outcome


def ended_before_its_corners(directory: Path, held: ExitStack) -> RunOutcome | None:
    """A run that ended well and whose corners did not; locked against other sessions of it."""
    main = RunDirectory(directory)
    if not main.sensitivity.is_dir() or not is_over(main):
        return None
    refuse_living(main, read_history(main))
    if not any(_prepared(main)):
        return None
    held.enter_context(run_held(directory))
    return RunOutcome(main, "finished", None, (), {})


def _prepared(main: RunDirectory) -> Iterator[str]:
    """The candidates against which a corner is to be measured still, their studies written."""

    for against, other in wanted(context_of(read_run(main.root))):
        known = main.corners().get(against)
        if known is not None and is_over(known):
            continue
        if known is not None or prepare_corner(main, against, other):
            yield against
