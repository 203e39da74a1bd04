"""What is wrong with windows or must be known of them: each as seen, and gathered to be read."""

from pathlib import Path
from typing import Any

import polars as pl

from stithy.report.context import context_of
from stithy.report.parts.validity import gathered_table, reasons_table
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

MANY = 5


def _shape(**changes: Any) -> Shape:
    """Windows of two candidates at one level, of which one lateness is that of `_late`."""
    return Shape(users=(4,), repeat=MANY, duration_s=2, series=False, **changes)


def _late(name: str, lateness_s: float) -> dict[str, dict[str, Any]]:
    """Every window of a candidate late, each by a millisecond more than the one before."""
    return {
        window_id(name, 4, block): {"lateness_p99_s": lateness_s + block * 1e-3}
        for block in range(MANY)
    }


def _tables(root: Path, shape: Shape) -> tuple[pl.DataFrame, pl.DataFrame]:
    build_run(root, shape)
    context = context_of(read_run(root))
    return reasons_table(context).frame, gathered_table(context).frame


def _of_the_driver(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame.filter(pl.col("sentence").str.starts_with("The driver was late")).to_dicts()


def test_many_of_one_kind_and_candidate_are_one_row_with_their_range(tmp_path: Path) -> None:
    """From the lowest number to the highest, and of which windows; each is still in the files."""
    each, all_of_them = _tables(tmp_path, _shape(changes=_late("disk", 0.020)))
    assert len(_of_the_driver(each)) == MANY
    (row,) = _of_the_driver(all_of_them)
    assert "99th percentile 20 to 24 ms, allowed" in row["sentence"]
    assert row["windows"] == f"all {MANY} of disk"
    assert row["count"] == MANY
    assert row["window_ids"].split(", ") == [window_id("disk", 4, block) for block in range(MANY)]
    assert row["weight"] == "invalid"


def test_candidates_are_not_thrown_together(tmp_path: Path) -> None:
    """What one of them did is not said of the other."""
    changes = {**_late("disk", 0.020), **_late("memory", 0.996)}
    _, found = _tables(tmp_path, _shape(changes=changes))
    told = {row["windows"]: row["sentence"] for row in _of_the_driver(found)}
    assert "20 to 24 ms" in told[f"all {MANY} of disk"]
    assert "996 ms to 1 s, allowed" in told[f"all {MANY} of memory"]


def test_what_differs_in_more_than_numbers_is_not_gathered(tmp_path: Path) -> None:
    """The texts of errors, as an example."""
    changes = {
        window_id("disk", 4, block): {"errors": 1, "error_text": f"lock of page {block} s lost"}
        for block in range(MANY)
    }
    changes[window_id("disk", 4, 0)]["error_text"] = "another one"
    _, found = _tables(tmp_path, _shape(changes=changes))
    texts = [row["sentence"] for row in found.to_dicts() if "errors" in row["sentence"]]
    assert len(texts) == 2
