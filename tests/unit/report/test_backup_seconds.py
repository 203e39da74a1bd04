"""A window with backups over time: what its title says of those that failed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from stithy.point import ON, Point
from support.drawn import context_built, draw_one
from support.sample_run import Shape

POINT = Point.of(users=4, backup=ON)


def _span(name: str, from_s: float, because: str | None = None) -> dict[str, Any]:
    return {"name": name, "from_s": from_s, "to_s": from_s + 2.0, "invalid_because": because}


def test_backups_that_failed_are_counted_apart(tmp_path: Path) -> None:
    """They are shaded, for they were at work; how long they took is not how long one takes."""
    context = context_built(tmp_path, Shape(users=(4,), duration_s=5))
    failed = {"disk": (False, True), "memory": (True, True)}
    windows = []
    for window in context.evidence.windows:
        begun_s = window.row["started_at_s"]
        spans = tuple(
            _span(f"backup {number}", begun_s + number, "signal 9" if is_failed else None)
            for number, is_failed in enumerate(failed[window.candidate], 1)
        )
        windows.append(replace(window, row={**window.row, "point": str(POINT)}, spans=spans))
    evidence = replace(context.evidence, windows=tuple(windows), points=(POINT,))
    figure = draw_one("backup-seconds", replace(context, evidence=evidence))
    assert figure.title == (
        "1 backup on disk, 2.00 s, 1 failed; no backup succeeded on memory, 2 failed"
    )
    names = {row["name"] for rows in figure.spec["datasets"].values() for row in rows
             if "name" in row}  # fmt: skip
    assert names == {"backup 1", "backup 2, failed", "backup 1, failed"}
