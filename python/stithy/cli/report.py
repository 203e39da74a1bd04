"""`stithy report`: make the report of a run again, from its results alone."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.compare import read_quantity
from stithy.cli.talk.options import Junit, RunFolder, require_writable
from stithy.cli.talk.render import say, show, show_json
from stithy.errors import Exit, PreconditionError, UserError

if TYPE_CHECKING:
    from stithy.report.between import Pair
    from stithy.report.context import Context


def report(
    directory: RunFolder,
    /,
    *,
    formats: Annotated[str, Parameter(name="--format")] = "html",
    compare: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    metric: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    open_page: Annotated[bool, Parameter(name="--open")] = False,
    junit: Junit = None,
    json: bool = False,
) -> Exit:
    """Write the report of a run, with all its figures and tables.

    Reads the results only, needs no database, and can be repeated at any time. The report of an
    interrupted run shows its partial results. Measurements are neither made nor changed. The
    study's thresholds are evaluated again: the exit code is 99 if one was not met, and 5 if one
    cannot be judged.

    Examples:

        stithy report runs/demo-20261121T001627Z
        stithy report runs/demo-20261121T001627Z --open
        stithy report runs/demo-20261121T001627Z --format html,pdf,md
        stithy report runs/after --compare runs/before --ignore kernel

    Parameters
    ----------
    formats
        The formats, separated by commas. `html`: the page. `pdf`: for print, tagged for screen
        readers. `md`: Markdown for a pull request or ticket. `json`: for programs. All have every
        section. Each file is named `report.FORMAT`.
    compare
        Add a section that compares this run with earlier runs, by the rules of `stithy compare`. A
        change is this run relative to the earlier one. Without this option the report has no such
        section.
    metric
        With `--compare`: a metric to compare instead of throughput, p95 and p99, as in
        `stithy compare`. Repeatable.
    ignore
        With `--compare`: a fact that may differ, as in `stithy compare`. Repeatable.
    open_page
        Open the first of the files in a web browser. Without a browser the report is still written,
        and a message says so.
    json
        Print the paths, the main findings, what weakens them, and the thresholds as JSON.
    """
    from stithy.cli.talk.conclude import judge
    from stithy.report.context import make_context
    from stithy.report.sections.answer import describe_main_findings, list_cautions
    from stithy.report.write import parse_formats, write_report_of
    from stithy.results.files import read_run

    wanted = parse_formats(formats)
    require_writable(junit)
    context = make_context(read_run(directory))
    pairs = _compare_with_others(context, compare, ignore, metric)
    written = [path.resolve() for path in write_report_of(context, wanted, pairs)]
    found, weak = describe_main_findings(context), list_cautions(context)
    judged = judge(context, junit)
    if json:
        files = {name: str(path) for name, path in zip(wanted, written, strict=True)}
        shown = {"report": str(written[0]), "files": files, "findings": list(found)}
        show_json({**shown, "cautions": list(weak), "thresholds": judged.values})
    else:
        marked = (f"Caution: {sentence}" for sentence in weak)
        for sentence in (*found, *marked, *judged.lines):
            show(sentence)
        for path in written:
            show(f"Report: {path}")
    if open_page and not read_opened(written[0]):
        say(f"not opened, because no graphical web browser was found: {written[0]}")
    return judged.exit


def _compare_with_others(
    context: "Context", others: Sequence[Path], ignore: Sequence[str], metric: Sequence[str]
) -> "tuple[Pair, ...]":
    from stithy.report.between import pair_runs
    from stithy.report.context import make_context
    from stithy.results.files import read_run

    if not others:
        if ignore or metric:
            where = "--ignore" if ignore else "--metric"
            remedy = "name a run: `--compare DIR`"
            raise UserError("this option needs --compare", where=where, remedy=remedy)
        return ()
    asked = tuple(read_quantity(name) for name in metric)
    befores = [make_context(read_run(other)) for other in others]
    return pair_runs(context, befores, ignore, asked, earlier=True)


IN_TERMINAL = frozenset({"www-browser", "links", "elinks", "lynx", "w3m"})
"""Browsers that would take the terminal over, which nobody has asked for."""

PATIENCE_S = 5.0
"""How long a program of the desktop may take to fail; one that runs on by then has opened it."""


def read_opened(page: Path, patience_s: float = PATIENCE_S) -> bool:
    """Whether a browser with windows took the page.

    It is not waited for, but for a program in BROWSER that Python does not know: its exit code
    tells whether it opened.
    """
    import webbrowser

    with suppress(webbrowser.Error, PreconditionError):
        browser = webbrowser.get()
        if Path(getattr(browser, "name", "")).name in IN_TERMINAL:
            return False
        address = page.resolve().as_uri()
        if isinstance(browser, webbrowser.BackgroundBrowser):
            from stithy.hosts.runner import Command, LocalRunner, wait_for_end

            # Python takes such a program for failed once it has ended, as xdg-open does as soon
            # as it has handed the address over; and it lets the program write into our output.
            words = [browser.name, *(arg.replace("%s", address) for arg in browser.args)]
            started = LocalRunner().start(Command(words, detached=True))
            return wait_for_end(started, patience_s) in {0, None}
        return browser.open(address)
    return False


COMMAND = report
