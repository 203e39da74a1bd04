"""The end of `stithy run` and `stithy resume`: report, thresholds, what is left, exit code."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from statistics import median, stdev

import polars as pl

from stithy.analysis.decision import Outcome as Met
from stithy.analysis.decision import is_answered
from stithy.analysis.findings import answer_question
from stithy.analysis.instruments import ANSWERS_MIN
from stithy.analysis.statistics import BLOCKS_LEAST
from stithy.cli.talk.render import format_left, say, show, show_json
from stithy.errors import (
    Exit,
    InfrastructureError,
    Interrupted,
    InvalidMeasurement,
    StithyError,
    UserError,
)
from stithy.report.context import Context, make_context
from stithy.report.junit import write_junit
from stithy.report.sections.answer import describe_main_findings, list_cautions, write_lines
from stithy.report.sections.answer import judge_all as judgements_of
from stithy.report.sections.answer.sensitivity import list_wanted
from stithy.report.sections.certainty import describe_status
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory, write_durably
from stithy.results.manifest import End
from stithy.run.deciders import make_deciders
from stithy.run.equip import Tools
from stithy.run.events import Note, Observer, RunEnded
from stithy.run.executor import RunOutcome, execute
from stithy.run.forecast import keep_added_s, keep_noise
from stithy.run.history import read_history
from stithy.run.resume import hold_run as run_held
from stithy.run.resume import refuse_living
from stithy.run.session import Stop
from stithy.run.start import begin_corner, is_over, prepare_corner
from stithy.storage.space import measure_files
from stithy.units import format_size

UNKNOWN = (
    "Whether thresholds were met is not known: the manifest, which holds them, cannot be read."
)


@dataclass(frozen=True)
class JudgedRun:
    """The thresholds of a run: as lines for people, as values for programs, as an exit code.

    `answered`: whether the measurement supports what it was made for.
    """

    lines: tuple[str, ...]
    values: list[dict[str, object]]
    exit: Exit
    answered: bool


def conclude(
    outcome: RunOutcome,
    junit: Path | None,
    *,
    json: bool,
    first: Callable[[Context], str] | None = None,
    tell: Observer = lambda event: None,
) -> Exit:
    """Write the report of what there is, tell the findings, and choose the exit code.

    `first`: what a person is shown before the findings. `tell` hears that the run is over.
    """
    # Drawing is heavy: it is loaded once there is something to draw.
    from stithy.report.write import find_formats, write_report_of

    directory = outcome.directory.root
    context = make_context(read_run(directory.resolve()))
    page: Path | None = None
    found: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    if any((directory / "windows").glob("*/window.parquet")):
        say("writing the report")
        page, *_ = write_report_of(context, find_formats(outcome.directory))
        found, weak = describe_main_findings(context), list_cautions(context)
        save_noise(context)
        save_drives(context)
    judged = judge(context, junit)
    marked = tuple(f"Caution: {sentence}" for sentence in weak)
    said = (*found, *marked, *(line.strip() for line in judged.lines if line))
    tell(RunEnded(outcome.end, str(outcome.error) if outcome.error else None, page, said))
    for left in outcome.left:
        say(f"{format_left(left)}: run `stithy clean` later")
    if json:
        words = context.manifest.profile_words if context.manifest else {}
        also = {"cautions": list(weak), "profile_words": words}
        show_json(
            {
                "schema_version": 1,
                "directory": str(outcome.directory.root.resolve()),
                "end": outcome.end,
                "error": str(outcome.error) if outcome.error else None,
                "report": str(page) if page else None,
                "findings": list(found),
                "thresholds": judged.values,
                "kept": dict(outcome.kept),
            }
            | also
        )
    else:
        ahead = (first(context), "") if first and page else ()
        _show(outcome, page, (*ahead, *found, *marked, *judged.lines))
    if outcome.error is not None:
        say(f"error: {outcome.error}")
        if outcome.error.resumable:
            say(f"to continue the run: stithy resume {quote(str(directory))}")
        if outcome.stays:
            size = format_size(sum(measure_files(path)[1] for path in outcome.stays))
            kept = f"kept for that, so that nothing is loaded twice: {size} in "
            removal = f"stithy clean {quote(str(directory))}"
            say(f"{kept}{', '.join(map(str, outcome.stays))}; {removal} removes it")
        return outcome.error.exit
    return judged.exit if judged.answered else Exit.INVALID


def save_noise(context: Context) -> None:
    """Remember how much the blocks of the question varied, for the plans of later studies.

    Plans are worked out for ratios: what is compared as a difference is not among them.
    """
    answer = answer_question(context.evidence)
    if answer is None or answer.effect.is_difference:
        return
    if answer.effect.pairs >= BLOCKS_LEAST:
        keep_noise(str(answer.metric), stdev(answer.effect.apart))


def save_drives(context: Context) -> None:
    """Remember by how much emulated drives missed their profiles, for later plans."""

    profiles = {
        (candidate.name, drive.known_as): drive.profile_name
        for candidate in (context.manifest.candidates if context.manifest else ())
        for drive in candidate.drives
    }
    candidates = {window.id: window.candidate for window in context.evidence.windows}
    rows = context.run.drives.filter(
        pl.col("added_mean_s").is_not_null() & (pl.col("answered") >= ANSWERS_MIN)
    ).select("window_id", "role", "operation", "added_mean_s")
    found: dict[str, list[float]] = {}
    for window_id, role, operation, added_s in rows.iter_rows():
        profile = profiles.get((candidates.get(window_id, ""), role))
        if profile is not None:
            found.setdefault(f"{profile} {operation}", []).append(added_s)
    if found:
        keep_added_s({key: median(values) for key, values in found.items()})


def _show(outcome: RunOutcome, page: Path | None, found: tuple[str, ...]) -> None:
    for sentence in found:
        show(sentence)
    for candidate, url in outcome.kept.items():
        show(f"{candidate} is kept running, without a memory limit: {url}")
    if page is None:
        results = outcome.directory.root.resolve()
        show(f"Results: {results} (no report, because no window was measured)")
    else:
        show(f"Report: {page}")


def judge(context: Context, junit: Path | None) -> JudgedRun:
    """Judge the thresholds of a run, and write them as JUnit XML where that is wanted.

    Raises InvalidMeasurement where JUnit XML is wanted of a run without a readable manifest, which
    holds the thresholds; InfrastructureError where it cannot be written.
    """

    answered = is_answered(context.evidence, is_null=context.is_null)
    judgements = judgements_of(context)
    if context.manifest is None:
        if junit is not None:
            problem = "its manifest, which has the thresholds, cannot be read"
            where = str(context.run.directory.root)
            raise InvalidMeasurement(problem, where=where, remedy="run the study again")
        # Nobody may take it for a run whose thresholds were all met.
        return JudgedRun((UNKNOWN,), [], Exit.INVALID, answered)
    if junit is not None:
        try:
            write_durably(junit, write_junit(context, judgements))
        except InfrastructureError as error:
            other = "or name another file: `stithy report --junit` writes it again"
            remedy = f"{error.remedy}, {other}"
            raise InfrastructureError(error.problem, where=error.where, remedy=remedy) from error
    outcomes = {judgement.outcome for judgement in judgements}
    # 99 means that everything was measured as it should be, and something was too slow.
    code = Exit.THRESHOLD if Met.NOT_MET in outcomes else Exit.OK
    code = Exit.INVALID if Met.NOT_JUDGED in outcomes else code
    values: list[dict[str, object]] = [
        {
            "threshold": str(judgement.threshold),
            "outcome": judgement.outcome.value,
            "left": judgement.left,
            "right": judgement.right,
            "unit": judgement.threshold.unit,
            "because": judgement.because,
        }
        for judgement in judgements
    ]
    return JudgedRun(write_lines(judgements), values, code, answered)


def refuse_kept(*, keep: bool, sensitivity: bool) -> None:
    """Raise UserError where servers that are kept would disturb the windows that follow."""
    if keep and sensitivity:
        raise UserError(
            "servers that --keep leaves running would disturb the later windows of --sensitivity",
            where="--keep",
            remedy="leave out --keep or --sensitivity",
        )


def run_corners(
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
        for against in _prepare_corners(main):
            asked = make_deciders(describe_status)
            tell(Note(f"sensitivity: every assumed number of drives is now worse for {against}"))
            with begin_corner(
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


def is_ended_before_corners(directory: Path, held: ExitStack) -> RunOutcome | None:
    """A run that ended well and whose corners did not; locked against other sessions of it."""
    main = RunDirectory(directory)
    if not main.sensitivity.is_dir() or not is_over(main):
        return None
    refuse_living(main, read_history(main))
    if not any(_prepare_corners(main)):
        return None
    held.enter_context(run_held(directory))
    return RunOutcome(main, "finished", None, (), {})


def _prepare_corners(main: RunDirectory) -> Iterator[str]:

    for against, other in list_wanted(make_context(read_run(main.root))):
        known = main.corners().get(against)
        if known is not None and is_over(known):
            continue
        if known is not None or prepare_corner(main, against, other):
            yield against
