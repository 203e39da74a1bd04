"""`make papers` prints published ratios beside those found, each with the direction of both."""

import math
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import papers
from stithy.analysis import capacity
from stithy.results.tables import SPACE, make_schema

ENDS = (papers.End("a", "1", {}), papers.End("b", "2", {}))
BETTER = papers.Row("s.yaml", {}, "nopm", ENDS, 3.0)
WORSE = papers.Row("s.yaml", {}, "nopm", ENDS, 1 / 3)
EQUAL = papers.Row("s.yaml", {}, "nopm", ENDS, 0.99, equal=True)


def test_published_files_compare_what_exists(root: Path, monkeypatch: Any) -> None:
    """Candidates, points and metrics of every ratio; a study that is compared is there."""
    from stithy.study.load import read_study

    monkeypatch.chdir(root)
    rows = papers.all_rows()
    for name in {row.study for row in rows}:
        study = read_study(root / "studies/papers" / name).study
        asked = [row for row in rows if row.study == name]
        assert {name for row in asked for name in row.candidates} <= set(study.candidates)


@pytest.mark.parametrize(
    ("file", "ratios"),
    [
        (
            "space.toml",
            [
                ("mirrors-zstd", "mirrors", "space", 5050 / 2220),
                ("coded-zstd", "mirrors", "space", 5050 / 1900),
                ("reduced", "plain", "nopm", 7965 / 8022),
                ("coded-reduced", "plain", "nopm", 7880 / 8022),
                ("plain", "coded", "block.write_latency_s", 4.4 / 2.1),
                ("reduced", "plain", "tpm", 7965 / 8022),
                ("plain", "coded", "block.write_latency_s", 4.4 / 2.1),
                ("plain", "plain", papers.TENANTS, (2051 + 2158) / (1905 + 1906)),
                ("reduced", "reduced", papers.TENANTS, (2092 + 2172) / (1850 + 1851)),
            ],
        ),
        (
            "raid.toml",
            [
                ("ssds-8", "disks", papers.USERS, 1.4),
                ("ssds-4", "disks", papers.USERS, 1.05),
                ("ssds-8", "ssds-4", papers.USERS, 14_000 / 10_500),
                ("ssds-8", "disks", papers.USERS, 1.4),
            ],
        ),
        (
            "sysbench.toml",
            [("raw", "reduced", "tps", 10_699 / 8668), ("raw", "reduced", "p99", 55.63 / 42.9)],
        ),
        ("published.toml", [("nvme", "nvme", "tpm", 1_113_300 / 958_338)]),
    ],
)
def test_ratios_are_of_published_numbers(
    root: Path, file: str, ratios: list[tuple[str, str, str, float]]
) -> None:
    """Rates first by second, the rest inverse; of the largest file the first one is enough."""
    found = papers.published(tomllib.loads((root / "studies/papers" / file).read_text()))
    for row, (*words, ratio) in zip(found, ratios, strict=file != "published.toml"):
        assert [*row.candidates, row.metric] == words
        assert row.ratio == pytest.approx(ratio)


@pytest.mark.parametrize(("bounds", "better", "worse", "equal"), [
    ((1.5, 2.5), "agrees", "differs", "differs"),
    ((0.4, 0.6), "differs", "agrees", "differs"),
    ((0.9, 1.4), "undecided", "undecided", "undecided"),
    ((0.96, 1.04), "undecided", "undecided", "agrees"),
    ((1.2, math.inf), "agrees", "differs", "differs"),
    ((None, None), "undecided", "undecided", "undecided"),
])  # fmt: skip
def test_a_direction_needs_an_interval(
    bounds: tuple[float | None, float | None], better: str, worse: str, equal: str
) -> None:
    """Whatever the ratio itself is; of what was published as equal, on one side of the margin."""
    own = papers.Own(1.0, *bounds)
    said = [papers.direction(row, own, 0.1) for row in (BETTER, WORSE, EQUAL)]
    assert said == [better, worse, equal]
    confounded = replace(BETTER, confounded=True)
    assert papers.direction(confounded, own, 0.1) == "confounded"


def test_space_is_compared_by_what_the_drives_hold() -> None:
    """Once loaded; a candidate that holds half as much is twice as good."""
    row: dict[str, Any] = dict.fromkeys(column.name for column in SPACE.columns)
    row |= {"role": "data", "moment": "loaded", "log_stored_bytes": 0, "redundancy": 1.0}
    sizes = {"a": 5, "b": 10}
    rows = [{**row, "candidate": name, "physical_bytes": size} for name, size in sizes.items()]
    space = pl.DataFrame(rows, schema=make_schema(SPACE))
    context: Any = SimpleNamespace(run=SimpleNamespace(space=space))
    asked = papers.Row("s.yaml", {}, papers.SPACE, ENDS, 2.27)
    assert papers.measured(context, asked) == papers.Own(2.0, 2.0, 2.0)


def test_tenants_are_compared_within_windows() -> None:
    """Those of a window do twice as much as the others of it; invalid windows say nothing."""

    def make_window(valid: bool, *rates: float) -> Any:
        values = {("tenant.tpm", f"tenant-{n}"): {"value": each} for n, each in enumerate(rates, 1)}
        return SimpleNamespace(valid=valid, candidate="a", values=values)

    windows = [make_window(True, 1, 2, 6), make_window(True, 2, 1, 6), make_window(False, 9, 9, 1)]
    context: Any = SimpleNamespace(evidence=SimpleNamespace(windows=windows))
    ends = (papers.End("a", "1", {}, (3,)), papers.End("a", "1", {}, (1, 2)))
    own = papers.measured(context, papers.Row("s.yaml", {}, papers.TENANTS, ends, 1.1))
    assert (own.ratio, own.low, own.high) == pytest.approx((2.0, 2.0, 2.0))
    assert ends[1].called == "a, tenants 1+2"


def test_users_lie_between_measured_levels(monkeypatch: Any) -> None:
    """16 to 64 users against at least 64: more of them, however many."""
    within = {"a": capacity.UsersWithinTarget(64), "b": capacity.UsersWithinTarget(16, not_at=64)}
    monkeypatch.setattr(papers, "count_users_within", lambda evidence, name, limit: within[name])
    context: Any = SimpleNamespace(evidence=None, limit="a limit")
    row = papers.Row("s.yaml", {}, papers.USERS, ENDS, 1.4)
    own = papers.measured(context, row)
    assert (own.ratio, own.high) == (4.0, math.inf)
    assert papers.direction(row, own, 0.1) == "agrees"
    assert papers.cells(row, own, 0.1)[-3:] == ("4.00", "≥ 1.00", "agrees")
    within["b"] = within["a"]
    assert papers.measured(context, row) == papers.Own()
