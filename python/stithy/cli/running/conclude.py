"""The end of `stithy run` and `stithy resume`: the report, what is left, and the exit code."""

from pathlib import Path
from statistics import median, stdev
from typing import TYPE_CHECKING

from stithy.cli.running.judging import Judged, judge
from stithy.cli.talk.render import say, show, show_json
from stithy.errors import InvalidMeasurement
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.report.context import Context
    from stithy.run.executor import Outcome


def conclude(outcome: "Outcome", junit: Path | None, *, json: bool) -> Exit:
    """Write the report of what there is, tell the findings, and choose the exit code."""
    from stithy.report.context import context_of
    from stithy.report.parts.answer import main_findings
    from stithy.report.write import formats_there, write_report_of
    from stithy.results.read import read_run

    directory = outcome.directory.root
    context = context_of(read_run(directory.resolve()))
    page: Path | None = None
    found: tuple[str, ...] = ()
    if _measured(directory):
        say("writing the report")
        page, *_ = write_report_of(context, formats_there(outcome.directory))
        found = main_findings(context)
        remember_noise(context)
        remember_drives(context)
    judged = judge(context, junit)
    _tell_left(outcome)
    if json:
        show_json(_as_json(outcome, page, found, judged))
    else:
        _show(outcome, page, (*found, *judged.lines))
    if outcome.error is not None:
        say(f"error: {outcome.error}")
        if not isinstance(outcome.error, InvalidMeasurement):  # which the rest would be, too
            say(f"to go on with what is left: stithy resume {directory}")
        return outcome.error.exit
    return judged.exit if judged.answered else Exit.INVALID


def remember_noise(context: "Context") -> None:
    """Remember how much the blocks of the question varied, for the plans of later studies."""
    from stithy.analysis.answers.findings import question
    from stithy.analysis.verdict.boundaries import BLOCKS_LEAST
    from stithy.run.before.earlier import keep_noise

    answer = question(context.evidence)
    if answer is not None and answer.effect.pairs >= BLOCKS_LEAST:
        keep_noise(str(answer.metric), stdev(answer.effect.logs))


def remember_drives(context: "Context") -> None:
    """Remember by how much emulated drives missed their profiles, for later plans."""
    import polars as pl

    from stithy.analysis.validity.drives import ANSWERS_MIN
    from stithy.run.before.earlier import keep_added_s

    profiles = {
        (each.name, drive.role): drive.profile_name
        for each in (context.manifest.candidates if context.manifest else ())
        for drive in each.drives
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


def _measured(directory: Path) -> bool:
    """Whether any window was begun: without one there is nothing to report."""
    return any((directory / "windows").glob("*/window.parquet"))


def _tell_left(outcome: "Outcome") -> None:
    for left in outcome.left:
        facts = ", ".join(f"{name} {value}" for name, value in left.making.facts.items())
        say(f"not removed: {left.making.kind} ({facts}): {left.reason}: run `stithy clean` later")


def _show(outcome: "Outcome", page: Path | None, found: tuple[str, ...]) -> None:
    for sentence in found:
        show(sentence)
    for candidate, url in outcome.kept.items():
        show(f"{candidate} is kept running: {url}")
    if page is None:
        show(f"Results: {outcome.directory.root.resolve()} (no window was measured, so no report)")
    else:
        show(f"Report: {page}")


def _as_json(
    outcome: "Outcome", page: Path | None, found: tuple[str, ...], judged: Judged
) -> dict[str, object]:
    return {
        "schema_version": 1,
        "directory": str(outcome.directory.root.resolve()),
        "end": outcome.end,
        "error": str(outcome.error) if outcome.error else None,
        "report": str(page) if page else None,
        "findings": list(found),
        "thresholds": judged.values,
        "kept": dict(outcome.kept),
    }
