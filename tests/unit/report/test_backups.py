"""What the report says of settings of backups, and of a single one, from made-up windows."""

from pathlib import Path
from typing import Any

from stithy.plan.scenarios.backup import NAME
from stithy.point import OFF, ON, Point
from stithy.report.figure import Figure
from stithy.report.figures import backups
from stithy.report.page import Page
from support.drawn import at_points, context_built
from support.sample_run import Shape

ALONE = {4: Point.of(users=8, backup=ON)}
KEY = f"scenario.{NAME}.compression"
POINTS = {
    users: Point((("users", 8), ("backup", backup), (KEY, compression)))
    for users, backup, compression in (
        (8, OFF, "none"), (9, ON, "none"), (10, OFF, "zstd"), (14, ON, "zstd"),
    )
}  # fmt: skip
DURATION_S = {9: 2.0, 14: 6.0}


def test_the_fastest_setting_within_the_limit_is_named_and_what_is_not_drawn(
    tmp_path: Path,
) -> None:
    """More users stand for the work of backups: p99 is a tenth more, and a third more."""
    shape = Shape(users=tuple(POINTS), repeat=4, duration_s=30, series=False)

    def values(row: dict[str, Any]) -> dict[str, float]:
        took_s = DURATION_S.get(row["users"])
        return {} if took_s is None else {"backup.duration_s": took_s}

    context = at_points(context_built(tmp_path / "run", shape), POINTS, values)
    [figure] = backups.draw(context)
    assert isinstance(figure, Figure)
    assert figure.title == (
        "Fastest backup that keeps p99 within +20 %: 2.00 s on memory (compression none)"
    )
    rows = {row["setting"]: row for row in figure.table.frame.to_dicts()}
    assert {name: row["duration_s"] for name, row in rows.items()} == {
        "compression none": 2.0, "compression zstd": 6.0,
    }  # fmt: skip
    assert rows["compression none"]["high"] < 0.2 < rows["compression zstd"]["low"]
    missing = "disk (compression none) and disk (compression zstd)"
    assert figure.caption.endswith(f"Not drawn, as a value is missing: {missing}.")


def test_what_was_measured_at_a_single_point_is_in_the_section_of_backups_alone(
    tmp_path: Path,
) -> None:
    """At several points “What was measured” draws it along their axis."""
    several = Shape(users=(9, 14), candidates=("disk",), repeat=2, duration_s=3, series=False)
    one = Shape(users=(4,), candidates=("disk",), repeat=2, duration_s=3, series=False)
    there = []
    for shape, points in ((one, ALONE), (several, POINTS)):
        built = context_built(tmp_path / str(len(points)), shape)
        page = Page(at_points(built, points, lambda row: {"backup.duration_s": row["users"]}))
        assert not page.tables["measured"].frame.is_empty()
        keys = [section.key for section in page.sections]
        assert "backup" in keys
        there.append("measured" in keys)
    assert there == [False, True]
