"""The figure of how long a neighbour's cycles took, drawn from a made-up run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from stithy.point import Point
from stithy.report.blocks import Absent
from stithy.report.context import Context
from stithy.scenarios.noisy_neighbour.declared import WHOLE, name_cycle
from support.drawn import context_built, draw_all, draw_one, rows_in
from support.sample_run import Shape


def _context(folder: Path, *spans: tuple[str, float, str]) -> Context:
    """Two candidates beside a neighbour whose spans took so long."""
    context = context_built(folder, Shape(users=(4,)))
    rows: tuple[dict[str, Any], ...] = tuple(
        {"name": name, "outcome": outcome, "from_s": 5.0, "to_s": 5.0 + took_s}
        for name, took_s, outcome in spans
    )
    point = Point.of(users=8, neighbour=1)
    windows = tuple(
        replace(window, row={**window.row, "point": str(point)}, spans=rows)
        for window in context.evidence.windows
    )
    evidence = replace(context.evidence, windows=windows, points=(point,))
    return replace(context, evidence=evidence)


def test_bars_are_means_of_cycles_that_succeeded_and_of_their_parts(tmp_path: Path) -> None:
    """One that was cut or failed has no duration; all work of the neighbour is no cycle."""
    context = _context(
        tmp_path, (WHOLE, 60.0, "done"), (name_cycle(1), 3.0, "done"),
        (name_cycle(1, "backup"), 1.0, "done"), (name_cycle(12), 5.0, "done"),
        (name_cycle(12, "backup"), 2.0, "done"), (name_cycle(13), 9.0, "cut"),
        (name_cycle(14), 9.0, "failed"),
    )  # fmt: skip
    figure = draw_one("neighbour-durations", context)
    assert figure.title.startswith("A cycle takes 4.00 s on disk and 4.00 s on memory; a backup")
    frame = figure.table.frame.filter(candidate="disk", block=0)
    rows = frame.select("operation", "cycle", "duration_s").rows()
    assert rows == [
        ("cycle", "1", 3.0), ("cycle", "12", 5.0), ("backup", "1", 1.0), ("backup", "12", 2.0),
    ]  # fmt: skip
    means = {row["value"] for row in rows_in(figure) if "cycle" not in row}
    assert means == {4.0, 1.5}


def test_a_neighbour_without_cycles_has_no_such_figure_and_one_whose_all_failed_says_so(
    tmp_path: Path,
) -> None:
    """A reason stands where a figure could be."""
    assert draw_all("neighbour-durations", _context(tmp_path / "io", (WHOLE, 60.0, "done"))) == []
    [absent] = draw_all(
        "neighbour-durations", _context(tmp_path / "b", (name_cycle(1), 1.0, "failed"))
    )
    assert isinstance(absent, Absent)
