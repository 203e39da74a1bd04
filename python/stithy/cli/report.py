"""`stithy report`: make the report of a run again, from its results alone."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from stithy.cli.render import show, show_json
from stithy.exits import Exit


def report(
    directory: Path,
    /,
    *,
    open_page: Annotated[bool, Parameter(name="--open", negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
) -> Exit:
    """Write the report of a run: `report.html`, and every figure and table beside it.

    Works from the results alone and needs no database; run it as often as you like. A run that was
    interrupted gives a report of what there is. It does not run or change any measurement.

    Examples:

        stithy report runs/demo-20261121T001627Z
        stithy report runs/demo-20261121T001627Z --open

    Parameters
    ----------
    directory
        The directory that `stithy run` wrote.
    open_page
        Show the page in the web browser.
    json
        Print the page's path and the main findings as JSON.
    """
    from stithy.report.answer import main_findings
    from stithy.report.page import write_report

    page = write_report(directory)
    found = main_findings(directory)
    if json:
        show_json({"report": str(page.resolve()), "findings": list(found)})
    else:
        for sentence in found:
            show(sentence)
        show(f"Report: {page.resolve()}")
    if open_page:
        _open(page)
    return Exit.OK


def _open(page: Path) -> None:
    # The person's own browser, and no process of ours: nothing waits for it or depends on it.
    import webbrowser

    webbrowser.open(page.resolve().as_uri())


COMMAND = report
