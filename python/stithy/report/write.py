"""The report of a run as files: in the formats that were asked for, and every figure and table.

Reads results and writes; everything between is pure. The same results give the same bytes.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stithy.errors import InfrastructureError, UserError, give_reason
from stithy.names import find_closest
from stithy.registry import plugins
from stithy.report.between import Pair
from stithy.report.blocks import Figure
from stithy.report.context import Context
from stithy.report.drawing import draw
from stithy.report.drawing.draw import Words, make_png
from stithy.report.formats import ReportFormat
from stithy.report.page import Page
from stithy.report.words.escape import join_units
from stithy.results.layout import RunDirectory, lock_alone, replace_folder, write_durably

USUAL = ("html",)
FOLDERS = ("figures", "tables")


def parse_formats(text: str) -> tuple[str, ...]:
    """The formats of a list such as `html,pdf`, each once. Raises UserError for unknown ones."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in plugins(ReportFormat):
            meant = find_closest(name, plugins(ReportFormat))
            hint = f"did you mean {meant}? " if meant else ""
            raise UserError(
                f"no format is called {name!r}",
                where=f"--format {text}",
                remedy=f"{hint}There are {', '.join(plugins(ReportFormat))}",
            )
    return names


def find_formats(directory: RunDirectory) -> tuple[str, ...]:
    """The usual formats, and those that an earlier report of this run was written in.

    A run that went on has other results: what is there of before would contradict the new page.
    """
    found = (name for name in plugins(ReportFormat) if directory.report_as(name).exists())
    return tuple(dict.fromkeys((*USUAL, *found)))


def write_report_of(
    context: Context, formats: Iterable[str] = USUAL, pairs: Sequence[Pair] = ()
) -> tuple[Path, ...]:
    """Write the report of a run in these formats, and `report/`; returns the reports' paths.

    `pairs` hold the run against others. What an earlier report left is replaced once all of the new
    one is there, and by one process at a time. Missing or damaged pieces of the results are shown
    in the report, not raised. Raises InfrastructureError where the report cannot be written.
    """
    page, where = Page(context, tuple(pairs)), context.run.directory
    drawings = {figure.name: draw.draw_svg(figure.spec, figure.name) for figure in page.figures}
    made = {name: plugins(ReportFormat)[name].make(page, drawings) for name in formats}
    with _raise_output_errors(where.report), lock_alone(where.report):
        with replace_folder(where.report, FOLDERS) as folder:
            figures, tables = (folder / name for name in FOLDERS)
            for figure in page.figures:
                figure.table.write(figures)
                _write_figure(figures, page, figure, drawings[figure.name])
            for table in page.tables.values():
                table.write(tables)
        for name, content in made.items():
            write_durably(where.report_as(name), content)
    return tuple(where.report_as(name) for name in made)


@contextmanager
def _raise_output_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, InfrastructureError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        in_the_way = isinstance(cause, FileExistsError | NotADirectoryError | IsADirectoryError)
        raise InfrastructureError(
            f"the report cannot be written: {give_reason(cause or error)}",
            where=error.where if isinstance(error, InfrastructureError) else str(folder),
            remedy="move away what lies there"
            if in_the_way
            else "make room there, or make the run directory writable",
        ) from error


def _write_figure(folder: Path, page: Page, figure: Figure, drawing: str) -> None:
    footer = join_units(page.footer(figure))
    words = Words(figure.title, f"{figure.description} {figure.caption}", footer)
    (folder / f"{figure.name}.svg").write_text(draw.write_standalone(figure.name, drawing, words))
    (folder / f"{figure.name}.png").write_bytes(make_png(figure.title, drawing, footer))
    document = draw.write_vega_lite(draw.apply_theme(figure.spec), drawing, words)
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / f"{figure.name}.vl.json").write_text(text + "\n")
