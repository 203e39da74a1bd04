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
    formats: Annotated[str, Parameter(name="--format")] = "html",
    open_page: Annotated[bool, Parameter(name="--open", negative=())] = False,
    junit: Path | None = None,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> Exit:
    """Write the report of a run, and every figure and table beside it.

    Works from the results alone and needs no database; run it as often as you like. A run that was
    interrupted gives a report of what there is. It does not run or change any measurement.
    Thresholds of the study are judged again, with the exit codes of `stithy run`: 99 where one was
    not met, 5 where one cannot be judged.

    Examples:

        stithy report runs/demo-20261121T001627Z
        stithy report runs/demo-20261121T001627Z --open
        stithy report runs/demo-20261121T001627Z --format html,pdf,md

    Parameters
    ----------
    directory
        The directory that `stithy run` wrote.
    formats
        What is written, separated by commas: `html`, the page; `pdf`, for print, tagged for screen
        readers; `md`, a short summary for a pull request or a ticket; `json`, the answer for
        programs. Each is a file `report.FORMAT`.
    open_page
        Show the first of them in the web browser.
    junit
        File for the study's thresholds as JUnit XML.
    json
        Print the paths, the main findings and the thresholds as JSON.
    """
    from stithy.report.answer import main_findings
    from stithy.report.context import context_of
    from stithy.report.write import formats_named, write_report_of
    from stithy.results.read import read_run

    wanted = formats_named(formats)
    require_writable(junit)
    context = context_of(read_run(directory))
    written = [path.resolve() for path in write_report_of(context, wanted)]
    found = main_findings(context)
    judged = judge(context, junit)
    if json:
        files = {name: str(path) for name, path in zip(wanted, written, strict=True)}
        told = {"report": str(written[0]), "files": files, "findings": list(found)}
        show_json({**told, "thresholds": judged.values})
    else:
        for sentence in (*found, *judged.lines):
            show(sentence)
        for path in written:
            show(f"Report: {path}")
    if open_page:
        _open(written[0])
    return judged.exit


def _open(page: Path) -> None:
    # The person's own browser, and no process of ours: nothing waits for it or depends on it.
    import webbrowser

    webbrowser.open(page.resolve().as_uri())


COMMAND = report
