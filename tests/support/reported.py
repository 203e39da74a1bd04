"""Run directories read as tests want them: their report as files, their tables as frames."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import polars as pl

from stithy.report.between import pair_runs
from stithy.report.context import make_context
from stithy.report.write import USUAL, write_report_of
from stithy.results.files import Run, read_run

NOTHING_DRAWN = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9"/>'


@contextmanager
def undrawn() -> Iterator[None]:
    """Reports have the tables and words of their figures alone: drawing takes most of the time."""
    with (
        patch("stithy.report.write.draw.draw_svg", return_value=NOTHING_DRAWN),
        patch("stithy.report.write._write_figure"),
    ):
        yield


def write_report(
    root: Path, formats: Iterable[str] = USUAL, earlier: Iterable[Path] = ()
) -> tuple[Path, ...]:
    """Write the report of the run in `root`, as `stithy report` does; returns its files.

    `earlier`: the runs that it is held against, as with `--compare`.
    """
    run, *others = (make_context(read_run(each)) for each in (root, *earlier))
    held = pair_runs(run, others, earlier=True) if others else ()
    return write_report_of(run, formats, held)


def write_undrawn_report(
    root: Path, formats: Iterable[str], earlier: Iterable[Path] = ()
) -> tuple[Path, ...]:
    """Write the same with nothing drawn."""
    with undrawn():
        return write_report(root, formats, earlier)


def frames(run: Run) -> Mapping[str, pl.DataFrame]:
    """The frames of a run by the names of their tables, all samples among them."""
    names = (
        "window", "transactions", "seconds", "conditions", "drives", "ledger", "ledger_findings",
        "surroundings", "restores", "baseline", "series",
    )  # fmt: skip
    return {name: getattr(run, name) for name in names}
