"""Latency logs of levels with several windows, read back and merged."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from stithy.report.context import context_of
from stithy.report.latencies import drive_times
from stithy.results.drives import LOG_SUFFIX
from stithy.results.layout import RunDirectory
from stithy.results.read import read_run
from support.hlog import encode, histogram, log
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(candidates=("disk",), users=(4,), repeat=2)


def _answered(run: RunDirectory, window: str) -> dict[str, int]:
    """Transactions of the measurement by type."""
    rows = pl.read_parquet(run.window(window).table("transactions")).to_dicts()
    done = {row["transaction"]: row["committed"] + row["rolled_back"] for row in rows}
    return {kind: count for kind, count in done.items() if kind != "all"}


def _write_logs(run: RunDirectory, *, blocks: int = 2) -> None:
    """In block b every transaction of the measurement takes (b + 1) ms; the ramp-up is slow."""
    windows = {row["window_id"]: row for row in read_run(run.root).window.to_dicts()}
    for block in range(blocks):
        name = window_id("disk", 4, block)
        row = windows[name]
        inside, before = row["measure_from_s"], row["started_at_s"]
        lines = [
            f"Tag={kind},{at_s:.3f},1.000,1.0,{encode(histogram(*[value_us] * count))}\n"
            for at_s, value_us in ((before, 500_000), (inside, (block + 1) * 1000))
            for kind, count in _answered(run, name).items()
        ]
        stem = run.window(name).hlog_stem
        stem.with_name(f"{stem.name}.response.hlog").write_text(log(*lines))


@pytest.mark.parametrize("damage", ["missing", "cut", "short"])
def test_without_a_whole_set_of_logs_the_median_window_answers(tmp_path: Path, damage: str) -> None:
    """Part of the windows would be a distribution of something else."""
    run = build_run(tmp_path, SHAPE)
    _write_logs(run, blocks=1 if damage == "missing" else 2)
    if damage == "cut":
        stem = run.window(window_id("disk", 4, 1)).hlog_stem
        stem.with_name(f"{stem.name}.response.hlog").write_text(log("Tag=x,1,1,1,####\n"))
    path = run.window(window_id("disk", 4, 1)).root / "hammer.response.hlog"
    if damage == "short":
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    context = context_of(read_run(tmp_path))
    assert context.evidence.merged == {}
    assert context.evidence.level_value("disk", 4, "response_p50_s") is not None
    assert [each.path for each in context.run.problems] == [path]


def _drive_log(run: RunDirectory, seconds: list[tuple[float, str, list[int]]]) -> None:
    """The log of the drive of `disk`: times of an operation in the second that begins there."""
    lines = [
        f"Tag={tag},{at_s:.3f},1.000,1.0,{encode(histogram(*values_us))}\n"
        for at_s, tag, values_us in seconds
    ]
    run.drives.mkdir(parents=True, exist_ok=True)
    (run.drives / f"disk.data{LOG_SUFFIX}").write_text(log(*lines))


def test_the_times_of_a_drive_over_several_windows_come_from_its_merged_log(
    tmp_path: Path,
) -> None:
    """9,900 reads of 1 ms in one measurement and 100 of 3 ms in the next; none beside them."""
    run = build_run(tmp_path, replace(SHAPE, drives={"disk": 0.0}))
    read = read_run(tmp_path)
    first, second = sorted(read.window["measure_from_s"])
    before, between = (first - 3, "read", [900_000]), (second - 3, "read", [900_000])
    measured = [(first, "read", [1000] * 9900), (second, "read", [3000] * 100)]
    _drive_log(run, [before, measured[0], between, measured[1]])
    evidence = context_of(read).evidence
    times = drive_times(run, evidence, read.drives, ("disk", 4))
    assert times["read"].p99_s == pytest.approx(1e-3, rel=1e-3)
    assert times["read"].mean_s == pytest.approx((99 * 1e-3 + 3e-3) / 100, rel=1e-3)
    # What the log does not tell comes from the table.
    assert times["write"].p99_s == pytest.approx(55e-6 * 3.0)


def test_a_log_that_lacks_a_window_is_not_merged(tmp_path: Path) -> None:
    """Part of the windows would be a distribution of something else: the tables answer."""
    run = build_run(tmp_path, replace(SHAPE, drives={"disk": 0.0}))
    read = read_run(tmp_path)
    _drive_log(run, [(min(read.window["measure_from_s"]), "read", [1000] * 99)])
    times = drive_times(run, context_of(read).evidence, read.drives, ("disk", 4))
    assert times["read"].mean_s == pytest.approx(120e-6 * 1.1)
    assert times["read"].p99_s == pytest.approx(120e-6 * 3.0)
