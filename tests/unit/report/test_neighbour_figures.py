"""Figures of neighbours: how long and how fast their cycles were, what the device did beside."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.point import Point
from stithy.report.blocks import Absent
from stithy.report.context import Context
from stithy.report.words.wording import format_count
from stithy.scenarios.noisy_neighbour.declared import WHOLE, name_cycle
from stithy.scenarios.noisy_neighbour.plan import ALONE
from stithy.units import format_measured_duration
from support.drawn import at_point, context_built, draw_all, draw_one, rows_in
from support.sample_run import Shape

MB = 10**6
WITHOUT, BESIDE = (Point.of(users=8, neighbour=each) for each in (0, 1))


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
        alone = replace(each, row={**each.row, "point": str(WITHOUT), "window_id": f"{each.id}-0"})
        row = {**each.row, "point": str(BESIDE), "window_id": f"{each.id}-1"}
        windows += [alone, replace(each, row=row, spans=rows, values=values)]
    evidence = replace(context.evidence, windows=tuple(windows), points=(WITHOUT, BESIDE))
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


LEVELS = {1: ALONE, 4: 700}
"""The neighbour that stands for a level of the made-up run."""


def test_each_second_is_that_of_the_busiest_device_alone_and_with_the_neighbour(
    tmp_path: Path,
) -> None:
    """Without samples the reason is there."""
    context = _with_levels(tmp_path)
    evidence, points = context.evidence, dict(zip(LEVELS, context.evidence.points, strict=True))
    windows = evidence.windows
    figure = draw_one("neighbour-operations", context)
    frame = figure.table.frame
    sides = frame.select("candidate", "neighbour").unique().sort("candidate", "neighbour").rows()
    assert sides == [(name, word) for name in ("disk",) for word in ("alone", "with")]
    with_it = frame.filter(neighbour="with")
    window = next(each for each in windows if each.candidate == "disk" and each.point == points[4])
    samples = context.run.samples.of("block", ["writes_per_s"], {window.id})
    measured = samples.filter(pl.col("second") >= 0.5)["value"].to_list()
    assert with_it["writes_per_s"].to_list() == measured
    none = replace(evidence, windows=())
    [absent] = draw_all("neighbour-operations", replace(context, evidence=none))
    assert isinstance(absent, Absent)
    levels = replace(evidence, points=(points[1],))
    assert draw_all("neighbour-operations", replace(context, evidence=levels)) == []


@pytest.mark.parametrize(("spans", "worked"), [
    ([], range(5, 25)),
    ([(WHOLE, -1.0, 1e6)], range(5, 25)),
    ([(WHOLE, -1.0, 1e6), (name_cycle(1), 2.0, 9.0)], range(5, 9)),
    ([(WHOLE, -1.0, 1e6), (name_cycle(1), 2.0, 4.5)], []),
])  # fmt: skip
def test_titles_have_medians_of_measured_seconds_in_which_the_neighbour_worked(
    tmp_path: Path, spans: list[Any], worked: Sequence[int]
) -> None:
    """Alone of all 20 after 5 of ramp-up; one that did not work in them has no number."""
    context = _with_work(_with_levels(tmp_path), *spans)
    operations = draw_one("neighbour-operations", context)
    latency = draw_one("neighbour-latency", context)
    assert latency.table.frame["second"].unique().sort().to_list() == list(range(25))
    measured = {"alone": list(range(5, 25)), "with": list(worked)}
    done = pl.col("reads_per_s") + pl.col("writes_per_s")
    for figure, value in ((operations, done), (latency, pl.col("latency_s"))):
        medians = [
            figure.table.frame.filter(pl.col("second").is_in(seconds), neighbour=word)
            .select(value.median()).item()
            for word, seconds in measured.items()
        ]  # fmt: skip
        assert (" on disk" in figure.title) == bool(worked)
        said = format_measured_duration if figure is latency else format_count
        assert not worked or all(said(each) in figure.title for each in medians)


def _with_levels(folder: Path) -> Context:
    """One candidate, alone and beside a neighbour of 700."""
    context = context_built(folder, Shape(users=(1, 4)))
    points = {users: Point.of(users=8, neighbour=asked) for users, asked in LEVELS.items()}
    windows = tuple(
        replace(each, row={**each.row, "point": str(points[each.point.level])})
        for each in context.evidence.windows
    )
    evidence = replace(context.evidence, windows=windows, points=tuple(points.values()))
    return replace(context, evidence=evidence)


def _with_work(context: Context, *spans: tuple[str, float, float]) -> Context:
    """As if the neighbour's spans lay so many seconds after the users' start."""
    evidence = context.evidence
    windows = tuple(
        replace(each, spans=tuple(
            {"name": name, "outcome": "done", "from_s": each.row["started_at_s"] + begin,
             "to_s": each.row["started_at_s"] + end}
            for name, begin, end in spans if each.point.values["neighbour"]
        ))
        for each in evidence.windows
    )  # fmt: skip
    return replace(context, evidence=replace(evidence, windows=windows))


@pytest.mark.parametrize(("spans", "shown", "said"), [
    ([(WHOLE, -1.0, 1e6)], [], "(right) at work from the first second to the last. Both"),
    ([(WHOLE, 2.0, 3.0)], [(2.0, 3.0)], "(right); bars at the bottom show when it worked"),
    ([(WHOLE, -1.0, 1e6), (name_cycle(1), 1.0, 2.0)], [(1.0, 2.0)],
     "(right); bars at the bottom show when it worked"),
    ([], [], "(right). Both windows"),
])  # fmt: skip
def test_when_the_neighbour_worked_is_marked_unless_it_worked_throughout(
    tmp_path: Path, spans: list[Any], shown: list[Any], said: str
) -> None:
    """By its cycles, or by its work between two rests; in all strips, below the lines."""
    context = _with_work(_with_levels(tmp_path), *spans)
    figure = draw_one("neighbour-operations", context)
    assert said in figure.caption
    found = [(round(row["from"], 3), round(row["to"], 3))
             for row in rows_in(figure) if "from" in row]  # fmt: skip
    assert sorted(set(found)) == shown
