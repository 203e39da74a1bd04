"""Latency logs of levels with several windows, read back and merged."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from stithy.report.latencies import drive_times
from stithy.results.drives import LOG_SUFFIX
from support.drawn import context_built
from support.hlog import encode, histogram, log
from support.sample_run import Shape, window_id

SHAPE = Shape(candidates=("disk",), users=(4,), repeat=2)


def lines(*seconds: tuple[float, str, int, int]) -> str:
    """A log: in the second that begins there, so many of a kind that took so long, µs."""
    return log(*(f"Tag={tag},{at_s:.3f},1.000,1.0,{encode(histogram(*[took_us] * count))}\n"
                 for at_s, tag, took_us, count in seconds))  # fmt: skip


@pytest.mark.parametrize("damage", [None, "missing", "cut", "short"])
def test_percentiles_are_merged_of_a_whole_set_of_logs(tmp_path: Path, damage: str | None) -> None:
    """In block b all take b + 1 ms; without one log the median window answers, and it is told."""
    rows = context_built(tmp_path, SHAPE).run.window.sort("block").to_dicts()
    for row in rows:
        where = tmp_path / "windows" / row["window_id"]
        *types, _ = pl.read_parquet(where / "transactions.parquet").to_dicts()
        done = {each["transaction"]: each["committed"] + each["rolled_back"] for each in types}
        spans = ((row["started_at_s"], 500_000), (row["measure_from_s"], 1000 * (row["block"] + 1)))
        text = lines(*((at_s, kind, us, n) for at_s, us in spans for kind, n in done.items()))
        (path := where / "hammer.response.hlog").write_text(text)
    if damage == "missing":
        path.unlink()
    elif damage is not None:
        whole = path.read_text().splitlines(keepends=True)
        path.write_text("".join(whole[:-1]) if damage == "short" else log("Tag=x,1,1,1,####\n"))
    context = context_built(tmp_path)
    p50, p95 = (context.evidence.level_value("disk", 4, f"response_p{n}_s") for n in (50, 95))
    if damage is None:
        assert [p50, p95] == pytest.approx([1e-3, 2e-3], rel=1e-3)
        assert context.run.problems == ()
    else:
        assert context.evidence.merged == {}
        assert p50 is not None
        assert [each.path for each in context.run.problems] == [path]


@pytest.mark.parametrize("is_whole", [True, False])
def test_times_of_a_drive_come_from_its_merged_log(tmp_path: Path, is_whole: bool) -> None:
    """9,900 reads of 1 ms in one measurement, 100 of 3 ms in the next; the tables tell the rest."""
    context = context_built(tmp_path, replace(SHAPE, drives={"disk": 0.0}))
    run = context.run
    first, second = sorted(run.window["measure_from_s"])
    inside = [(first, "read", 1000, 9900), (second, "read", 3000, 100)][: 2 if is_whole else 1]
    beside = [(at_s - 3, "read", 900_000, 1) for at_s in (first, second)]
    run.directory.drives.mkdir(parents=True)
    (run.directory.drives / f"disk.data{LOG_SUFFIX}").write_text(lines(*sorted([*beside, *inside])))
    times = drive_times(run.directory, context.evidence, run.drives, ("disk", 4))
    mean_s, p99_s = ((99 * 1e-3 + 3e-3) / 100, 1e-3) if is_whole else (120e-6 * 1.1, 120e-6 * 3)
    assert times["read"].mean_s == pytest.approx(mean_s, rel=1e-3)
    assert times["read"].p99_s == pytest.approx(p99_s, rel=1e-3)
    assert times["write"].p99_s == pytest.approx(55e-6 * 3.0)
    assert window_id("disk", 4, 0) in run.drives["window_id"]
