"""`stithy report`: make the report of a run again, from its results alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.compare import quantity_asked
from stithy.cli.running.judging import judge, require_writable
from stithy.cli.talk.render import say, show, show_json
from stithy.errors import UserError
from stithy.exits import Exit

if TYPE_CHECKING:
    from stithy.report.between import Pair
    from stithy.report.context import Context


def report(
    directory: Path,
    /,
    *,
    formats: Annotated[str, Parameter(name="--format")] = "html",
    compare: Annotated[tuple[Path, ...], Parameter(negative=(), consume_multiple=True)] = (),
    metric: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    ignore: Annotated[tuple[str, ...], Parameter(negative=())] = (),
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
        stithy report runs/after --compare runs/before --ignore kernel

    Parameters
    ----------
    directory
        The directory that `stithy run` wrote.
    formats
        What is written, separated by commas: `html`, the page; `pdf`, for print, tagged for screen
        readers; `md`, a short summary for a pull request or a ticket; `json`, the answer for
        programs. Each is a file `report.FORMAT`.
    compare
        Earlier runs, with which this one is compared in a section of its own, under the rules of
        `stithy compare`: a change is that of this run to the earlier one. Without them the next
        report has no such section.
    metric
        What is compared then instead of NOPM, p95 and p99, as of `stithy compare`.
    ignore
        A fact that may differ then, as of `stithy compare`.
    open_page
        Show the first of them in the web browser. Where there is none it says so, and the report
        is written all the same.
    junit
        File for the study's thresholds as JUnit XML.
    json
        Print the paths, the main findings and the thresholds as JSON.
    """
    from stithy.report.context import context_of
    from stithy.report.parts.answer import main_findings
    from stithy.report.write import formats_named, write_report_of
    from stithy.results.read import read_run

    wanted = formats_named(formats)
    require_writable(junit)
    context = context_of(read_run(directory))
    pairs = _pairs(context, compare, ignore, metric)
    written = [path.resolve() for path in write_report_of(context, wanted, pairs)]
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


def _pairs(
    context: "Context", others: Sequence[Path], ignore: Sequence[str], metric: Sequence[str]
) -> "tuple[Pair, ...]":
    """This run against each of the others, under the rules of `stithy compare`."""
    from stithy.report.between import USUAL, pairs
    from stithy.report.context import context_of
    from stithy.results.read import read_run

    if not others:
        if ignore or metric:
            where = "--ignore" if ignore else "--metric"
            remedy = "name a run: `--compare DIR`"
            raise UserError("nothing is compared", where=where, remedy=remedy)
        return ()
    asked = tuple(quantity_asked(each) for each in metric) or USUAL
    befores = [context_of(read_run(each)) for each in others]
    return pairs(context, befores, ignore, asked, earlier=True)


def _open(page: Path) -> None:
    from stithy.cli.talk.browser import opened

    if not opened(page):
        say(f"not opened, as no web browser here opens windows: {page}")


COMMAND = report
