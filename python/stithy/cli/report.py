"""`stithy report`: make the report of a run again, from its results alone."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from stithy.cli.judging import judge, require_writable
from stithy.cli.render import show, show_json
from stithy.exits import Exit


def report(
    directory: Path,
    /,
    *,
    open_page: Annotated[bool, Parameter(name="--open", negative=())] = False,
    junit: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> Exit:
    """Write the report of a run: `report.html`, and every figure and table beside it.

    Works from the results alone and needs no database; run it as often as you like. A run that was
    interrupted gives a report of what there is. It does not run or change any measurement.
    Thresholds of the study are judged again, with the exit codes of `stithy run`: 99 where one was
    not met, 5 where one cannot be judged.

    Examples:

        stithy report runs/demo-20261121T001627Z
        stithy report runs/demo-20261121T001627Z --open

    Parameters
    ----------
    directory
        The directory that `stithy run` wrote.
    open_page
        Show the page in the web browser.
    junit
        File for the study's thresholds as JUnit XML.
    json
        Print the page's path, the main findings and the thresholds as JSON.
    """
    from stithy.report.answer import main_findings
    from stithy.report.page import write_report

    require_writable(junit)
    page = write_report(directory)
    found = main_findings(directory)
    judged = judge(directory, junit)
    if json:
        told = {"report": str(page.resolve()), "findings": list(found)}
        show_json({**told, "thresholds": judged.values})
    else:
        for sentence in (*found, *judged.lines):
            show(sentence)
        show(f"Report: {page.resolve()}")
    if open_page:
        _open(page)
    return judged.exit


def _open(page: Path) -> None:
    # The person's own browser, and no process of ours: nothing waits for it or depends on it.
    import webbrowser

    webbrowser.open(page.resolve().as_uri())


COMMAND = report
