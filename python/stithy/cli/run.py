"""`stithy run`: from a study file to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.judging import Judged, judge, require_writable
from stithy.cli.render import say, show, show_json
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.run.executor import Outcome


def run(
    study: Path,
    /,
    *,
    out: Path | None = None,
    keep: Annotated[bool, Parameter(negative=())] = False,
    junit: Path | None = None,
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

    Examples:

        stithy run studies/demo.yaml
        stithy run studies/demo.yaml --out results/first --keep
        stithy run ours.yaml --junit thresholds.xml

    Parameters
    ----------
    study
        The study file.
    out
        Directory for the results, missing or empty; default: runs/STUDY-TIME.
    keep
        Leave the database instances running, and print how to reach them; `stithy clean` ends them.
    junit
        File for the study's thresholds as JUnit XML.
    json
        Print one JSON document at the end: results, report, findings, thresholds, instances kept.
    """
    from stithy.cli.display.lines import display
    from stithy.run.executor import execute
    from stithy.run.start import start_run
    from stithy.run.stop import Stop

    require_writable(junit)
    stop = Stop(say)
    with stop.installed():
        with display() as shown:
            outcome = execute(start_run(study, out, stop, shown.show), keep=keep)
        with stop.shield():
            return conclude(outcome, junit, json=json)


COMMAND = run


def conclude(outcome: "Outcome", junit: Path | None, *, json: bool) -> Exit:
    """Write the report of what there is, tell the findings, and choose the exit code."""
    from stithy.report.answer import main_findings
    from stithy.report.page import write_report

    directory = outcome.directory.root
    page: Path | None = None
    found: tuple[str, ...] = ()
    if _measured(directory):
        page, found = write_report(directory).resolve(), main_findings(directory)
    judged = judge(directory, junit)
    _tell_left(outcome)
    if json:
        show_json(_as_json(outcome, page, found, judged))
    else:
        _show(outcome, page, (*found, *judged.lines))
    if outcome.error is not None:
        say(f"error: {outcome.error}")
        return outcome.error.exit
    return judged.exit if judged.any_valid else Exit.INVALID


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
