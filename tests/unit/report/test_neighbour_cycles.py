"""The figures of how long a neighbour's cycles took, and how fast they went through databases."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stithy.point import Point
from stithy.report.blocks import Absent
from stithy.report.context import Context
from stithy.scenarios.noisy_neighbour.declared import WHOLE, name_cycle
from support.drawn import at_point, context_built, draw_all, draw_one, rows_in
from support.sample_run import Shape

MB = 10**6
ALONE, BESIDE = (Point.of(users=8, neighbour=each) for each in (0, 1))


def _context(folder: Path, sizes: dict[str, int], *spans: tuple[str, float, float]) -> Context:
    """Two candidates beside a neighbour with these spans, in seconds from the users' start."""
    context = context_built(folder, Shape(users=(4,)))
    windows = []
    for each in context.evidence.windows:
        start_s = each.row["started_at_s"]
        rows: tuple[dict[str, Any], ...] = tuple(
            {"name": name, "outcome": "done", "from_s": start_s + from_s, "to_s": start_s + to_s}
            for name, from_s, to_s in spans
        )
        values = {("neighbour.cycle_bytes", name): {"value": float(size)}
                  for name, size in sizes.items()}  # fmt: skip
        alone = replace(each, row={**each.row, "point": str(ALONE), "window_id": f"{each.id}-0"})
        row = {**each.row, "point": str(BESIDE), "window_id": f"{each.id}-1"}
        windows += [alone, replace(each, row=row, spans=rows, values=values)]
    evidence = replace(context.evidence, windows=tuple(windows), points=(ALONE, BESIDE))
    return replace(context, evidence=evidence)


def test_a_line_has_the_rate_of_each_part_and_is_zero_between_cycles(tmp_path: Path) -> None:
    """10 MB in 2 s, then in 1 s; a cut cycle has no bytes, and is not drawn."""
    first, second, cut = (name_cycle(each) for each in (1, 2, 3))
    context = _context(
        tmp_path, {first: 10 * MB, second: 6 * MB},
        (WHOLE, 0.0, 30.0), (first, 1.0, 4.0), (name_cycle(1, "backup"), 1.0, 3.0),
        (name_cycle(1, "restore"), 3.0, 4.0), (second, 10.0, 12.0), (cut, 20.0, 29.0),
    )  # fmt: skip
    figure = draw_one("neighbour-throughput", context)
    steps = [(row["second"], row["value"]) for row in rows_in(figure) if row["candidate"] == "disk"]
    assert [at_s for at_s, _ in steps] == pytest.approx([0, 1, 3, 4, 10, 12])
    assert [rate for _, rate in steps] == pytest.approx([0, 5, 10, 0, 3, 0])
    assert figure.table.frame.filter(candidate="disk")["part"].to_list() == [
        "backup", "restore", "cycle",
    ]  # fmt: skip
    assert "databases at 4.96 MiB/s on disk" in figure.title  # 26 MB in 5 s


def test_cycles_at_once_are_added(tmp_path: Path) -> None:
    """Two databases of 100 MB in 10 s and in 7.5 s: the line ends with the longer one."""
    sizes = dict.fromkeys((name_cycle(1), name_cycle(2)), 100 * MB)
    spans = (name_cycle(1), 0.0, 10.0), (name_cycle(2), 0.5, 8.0)
    figure = draw_one("neighbour-throughput", _context(tmp_path, sizes, *spans))
    steps = [(row["second"], row["value"]) for row in rows_in(figure) if row["candidate"] == "disk"]
    assert [at_s for at_s, _ in steps] == pytest.approx([0, 0.5, 8, 10])
    assert [rate for _, rate in steps] == pytest.approx([10, 23.3333, 10, 0])
    assert "at 19.1 MiB/s on disk" in figure.title  # 200 MB in 10 s


def test_a_candidate_on_which_no_cycle_ended_has_no_line(tmp_path: Path) -> None:
    """The other has one."""
    context = _context(tmp_path, {name_cycle(1): MB}, (name_cycle(1), 1.0, 2.0))
    windows = tuple(replace(each, values={}) if each.candidate == "disk" else each
                    for each in context.evidence.windows)  # fmt: skip
    evidence = replace(context.evidence, windows=windows)
    figure = draw_one("neighbour-throughput", replace(context, evidence=evidence))
    assert {row["candidate"] for row in rows_in(figure)} == {"memory"}


def test_a_neighbour_whose_cycles_have_no_bytes_has_no_such_figure(tmp_path: Path) -> None:
    """Such as one that scans."""
    assert draw_all("neighbour-throughput", _context(tmp_path, {}, (name_cycle(1), 1.0, 2.0))) == []


def _with_cycles(folder: Path, *spans: tuple[str, float, str]) -> Context:
    """Two candidates beside a neighbour whose spans took so long."""
    rows = tuple(
        {"name": name, "outcome": outcome, "from_s": 5.0, "to_s": 5.0 + took_s}
        for name, took_s, outcome in spans
    )
    return at_point(context_built(folder, Shape(users=(4,))), BESIDE, lambda _: {"spans": rows})


def test_bars_are_means_of_cycles_that_succeeded_and_of_their_parts(tmp_path: Path) -> None:
    """One that was cut or failed has no duration; all work of the neighbour is no cycle."""
    context = _with_cycles(
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
    assert (
        draw_all("neighbour-durations", _with_cycles(tmp_path / "io", (WHOLE, 60.0, "done"))) == []
    )
    [absent] = draw_all(
        "neighbour-durations", _with_cycles(tmp_path / "b", (name_cycle(1), 1.0, "failed"))
    )
    assert isinstance(absent, Absent)
