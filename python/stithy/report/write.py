"""The report of a run as files: in the formats that were asked for, and every figure and table.

Reads results and writes; everything between is pure. The same results give the same bytes.
"""

import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from stithy.errors import InfrastructureError, UserError
from stithy.registry import plugins
from stithy.report import draw, standalone
from stithy.report.between import Pair
from stithy.report.context import Context, context_of
from stithy.report.figure import Figure
from stithy.report.page import Page, build
from stithy.report.standalone import Words
from stithy.report.typeset import png
from stithy.results.files import write_durably
from stithy.results.read import read_run
from stithy.suggest import closest

USUAL = ("html",)


def formats_named(text: str) -> tuple[str, ...]:
    """The formats of a list such as `html,pdf`, each once. Raises UserError for unknown ones."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in plugins("format"):
            meant = closest(name, plugins("format"))
            hint = f"did you mean {meant}? " if meant else ""
            raise UserError(
                f"no format is called {name!r}",
                where=f"--format {text}",
                remedy=f"{hint}There are {', '.join(plugins('format'))}",
            )
    return names


def write_report(run_directory: Path, formats: Iterable[str] = USUAL) -> tuple[Path, ...]:
    """Write the report of a run in these formats, and `report/`; returns the reports' paths.

    Raises UserError where `run_directory` holds no run, InfrastructureError where the report cannot
    be written. Missing or damaged pieces of the results are told in the report, not raised.
    """
    return write_report_of(context_of(read_run(run_directory)), formats)


def write_report_of(
    context: Context, formats: Iterable[str] = USUAL, pairs: Sequence[Pair] = ()
) -> tuple[Path, ...]:
    """The same of a run that is read already, held against others in `pairs`.

    Raises as `write_report` does.
    """
    page, where = build(context, pairs), context.run.directory
    drawings = {figure.name: draw.svg(figure.spec, figure.name) for figure in page.figures}
    try:
        _write_files(where.report, page, drawings)
    except OSError as error:
        raise InfrastructureError(
            f"the report cannot be written: {error.strerror or error}",
            where=str(error.filename or where.report),
            remedy="make room there, or make the run directory writable",
        ) from error
    written = []
    for name in formats:
        path = where.report_as(name)
        write_durably(path, plugins("format")[name].make(page, drawings))
        written.append(path)
    return tuple(written)


def _write_files(folder: Path, page: Page, drawings: dict[str, str]) -> None:
    """All figures and tables as files; what an earlier report left there goes away."""
    for name in ("figures", "tables"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    for figure in page.figures:
        figure.table.write(folder / "figures")
        _write_figure(folder / "figures", page, figure, drawings[figure.name])
    for table in (*page.tables.values(), *page.facts):
        table.write(folder / "tables")


def _write_figure(folder: Path, page: Page, figure: Figure, drawing: str) -> None:
    """The figure as SVG, PNG and Vega-Lite, each with all that must be read with it."""
    footer = page.footer(figure)
    words = Words(figure.title, f"{figure.description} {figure.caption}", footer)
    (folder / f"{figure.name}.svg").write_text(standalone.svg(figure.name, drawing, words))
    (folder / f"{figure.name}.png").write_bytes(png(figure.title, drawing, footer))
    document = standalone.vega_lite(draw.themed(figure.spec), drawing, words)
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / f"{figure.name}.vl.json").write_text(text + "\n")
