"""Every number that a figure shows follows from the run's files, worked out another way.

Each family has a check here, or says in `ELSEWHERE` which test reads the files a second time for
it: a new one without either fails. What figures and sentences say is in `test_numbers_said`.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from conftest import ROOT
from stithy.registry import plugins
from stithy.report.context import Context, context_of
from stithy.report.figure import Figure
from stithy.results.read import read_run
from support.plain_sql import rows
from support.sample_run import Shape, build_run, window_id

BROKEN = window_id("memory", 1, 0)
SHAPE = Shape(repeat=2, changes={BROKEN: {"errors": 1, "error_text": "deadlock detected"}})
TOP = max(SHAPE.users)

Figures = Mapping[str, Figure]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two candidates, three levels and two blocks, with an invalid window."""
    return build_run(tmp_path_factory.mktemp("numbers") / "run", SHAPE).root


@pytest.fixture(scope="module")
def context(root: Path) -> Context:
    """What is known of it."""
    return context_of(read_run(root))


def _told(figure: Figure, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(figure.table.frame.select(columns).iter_rows())


def _same(found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    """The same rows but for the last digits of floating point."""
    assert len(found) == len(expected) > 0
    for row, other in zip(sorted(found), sorted(expected), strict=True):
        assert row[:-1] == other[:-1]
        assert row[-1] == pytest.approx(other[-1], rel=1e-9)


def _drawn(figure: Figure, scale: float = 1.0) -> None:
    """Each value of the table is a point of the drawing, to six digits."""
    points = {
        float(f"{row['value']:.6g}")
        for data in figure.spec["datasets"].values()
        for row in data
        if isinstance(row.get("value"), int | float)
    }
    told = {float(f"{value * scale:.6g}") for value in figure.table.frame["value"].to_list()}
    assert told <= points


def _paired(root: Path, value: str, users: int) -> float:
    """Geometric mean over the blocks of memory's value divided by disk's; invalid ones apart."""
    found = {
        (name, block): number
        for name, block, number in rows(
            root, f"SELECT candidate, block, {value} FROM win WHERE users = {users} AND errors = 0"
        )
    }
    blocks = [block for name, block in found if name == "memory" and ("disk", block) in found]
    return math.exp(fmean(math.log(found["memory", b] / found["disk", b]) for b in blocks))


def _throughput(root: Path, figures: Figures) -> None:
    columns = {"nopm-by-users": "nopm", "tpm-by-users": "tpm", "tpm-per-user": "tpm / users"}
    for name, value in columns.items():
        expected = rows(root, f"SELECT users, candidate, block, {value} FROM win")
        _same(_told(figures[name], "users", "candidate", "block", "value"), expected)
        _drawn(figures[name])
        ratio = figures[name].ratio
        assert ratio == pytest.approx(_paired(root, value, TOP))
        assert f"memory has {ratio:.1f} times" in figures[name].title


def _response(root: Path, figures: Figures) -> None:
    query = "SELECT {kind} w.users, w.candidate, w.block, t.response_{p}_s FROM transactions t JOIN win w ON t.window_id = w.window_id WHERE t.transaction {which} 'all'"  # noqa: E501 one query
    for percentile in ("p50", "p95", "p99"):
        together = figures["response-by-users"].table.frame.filter(percentile=percentile)
        expected = rows(root, query.format(kind="", p=percentile, which="="))
        _same(list(together.select("users", "candidate", "block", "value").iter_rows()), expected)
        types = figures["response-by-transaction"].table.frame.filter(percentile=percentile)
        keys = ("transaction", "users", "candidate", "block", "value")
        expected = rows(root, query.format(kind="t.transaction,", p=percentile, which="<>"))
        _same(list(types.select(keys).iter_rows()), expected)
    _drawn(figures["response-by-users"], 1000.0)


def _means(root: Path, collector: str, metric: str, scale: float = 1.0) -> list[tuple[Any, ...]]:
    """By level, candidate, block and subject."""
    return rows(
        root,
        f"SELECT users, candidate, block, subject, AVG(value) * {scale} FROM measured WHERE "
        f"collector = '{collector}' AND metric = '{metric}' "
        "GROUP BY users, candidate, block, subject",
    )


def _level_mean(root: Path, collector: str, metric: str, users: int, name: str) -> float:
    """Over the valid windows of a candidate and level."""
    broken = (1, "memory", 0)
    found = _means(root, collector, metric)
    return fmean(row[4] for row in found if row[:2] == (users, name) and row[:3] != broken)


def _cpu(root: Path, figures: Figures) -> None:
    frame = figures["cpu-by-users"].table.frame
    parts = {"idle": ("idle_share",), "waiting for I/O": ("iowait_share",),
             "user": ("user_share", "nice_share"), "system": ("system_share",)}  # fmt: skip
    for users in SHAPE.users:
        for name in SHAPE.candidates:
            told = {
                row["part"]: row["value"]
                for row in frame.filter(users=users, candidate=name).to_dicts()
            }
            assert sum(told.values()) == pytest.approx(1.0, abs=0.01)
            for part, metrics in parts.items():
                shares = [_level_mean(root, "cpu", metric, users, name) for metric in metrics]
                assert told[part] == pytest.approx(sum(shares))


def _database(root: Path, figures: Figures) -> None:
    curves = {
        "wal-by-users": ("wal_bytes_per_s", 1e-6),
        "wal-syncs-by-users": ("wal_syncs_per_s", 1.0),
        "blocks-read-by-users": ("blocks_read_per_s", 1.0),
    }
    for name, (metric, scale) in curves.items():
        expected = [(*row[:3], row[4]) for row in _means(root, "database", metric, scale)]
        _same(_told(figures[name], "users", "candidate", "block", "value"), expected)
        _drawn(figures[name])
    waits = figures["waits-by-users"].table.frame.to_dicts()
    for row in waits:
        found = [
            each[4]
            for each in _means(root, "database", "waiting_backends")
            if (each[0], each[1], each[3]) == (row["users"], row["candidate"], row["part"])
            and each[:3] != (1, "memory", 0)
        ]
        assert row["value"] == pytest.approx(fmean(found))


def _device(root: Path, figures: Figures) -> None:
    rates = figures["device-rate"].table.frame.filter(operation="reads")
    keys = ("users", "candidate", "block", "device", "value")
    _same(list(rates.select(keys).iter_rows()), _means(root, "block", "reads_per_s"))
    latency = figures["device-latency"].table.frame.filter(operation="reads")
    weighted = rows(
        root,
        "SELECT l.users, l.candidate, l.block, l.subject, SUM(l.value * r.value) / SUM(r.value) "
        "FROM measured l JOIN measured r ON l.window_id = r.window_id AND l.at_s = r.at_s AND "
        "l.subject = r.subject WHERE l.metric = 'read_latency_s' AND r.metric = 'reads_per_s' "
        "GROUP BY l.users, l.candidate, l.block, l.subject",
    )
    _same(list(latency.select(keys).iter_rows()), weighted)


def _effect(root: Path, figures: Figures) -> None:
    for row in figures["nopm-ratio"].table.frame.to_dicts():
        assert row["value"] == pytest.approx(_paired(root, "nopm", row["users"]))
        assert row["pairs"] == (1 if row["users"] == 1 else 2)


def _machine(root: Path, figures: Figures) -> None:
    frame = figures["pressure-by-users"].table.frame
    storage = frame.filter(what="storage").select("users", "candidate", "block", "value")
    found = _means(root, "pressure", "some_share")
    _same(list(storage.iter_rows()), [(*r[:3], r[4]) for r in found if r[3] == "io"])
    used = figures["memory-by-users"].table.frame.filter(what="in use within the limit")
    expected = [(*row[:3], row[4]) for row in _means(root, "cgroup", "used_bytes")]
    _same(list(used.select("users", "candidate", "block", "value").iter_rows()), expected)


def _seconds(root: Path, figures: Figures) -> None:
    for users in SHAPE.users:
        expected = {
            (name, second): (tpm, p95)
            for name, second, tpm, p95 in rows(
                root,
                "SELECT window_id, second, (committed + rolled_back) * 60, response_p95_s "
                "FROM seconds WHERE transaction = 'all' AND phase <> 'drain'",
            )
        }
        frame = figures[f"seconds-{users}-users"].table.frame
        assert frame.height > 0
        for row in frame.to_dicts():
            assert (row["tpm"], row["p95"]) == expected[row["window_id"], row["second"]]


FIGURES: Mapping[str, Callable[[Path, Figures], None]] = {
    "throughput": _throughput,
    "response": _response,
    "cpu": _cpu,
    "database": _database,
    "device": _device,
    "effect": _effect,
    "machine": _machine,
    "seconds": _seconds,
}

ELSEWHERE: Mapping[str, str] = {
    "heat": "tests/unit/report/figures/test_heat.py",
    "forest": "tests/unit/report/figures/test_forest.py",
    "set-up": "tests/unit/report/figures/test_set_up.py",
    "percentiles": "tests/unit/report/figures/test_percentiles.py",
    "limits": "tests/unit/report/figures/test_limits.py",
    "blocks": "tests/unit/report/figures/test_blocks.py",
    "response-throughput": "tests/unit/report/figures/test_response_throughput.py",
    "within": "tests/unit/report/figures/test_within.py",
    "canary": "tests/unit/report/figures/test_canary.py",
    "cost": "tests/unit/report/figures/test_cost.py",
}
"""What is checked by a test of its own."""


@pytest.mark.parametrize("name", FIGURES)
def test_the_numbers_of_a_figure_follow_from_the_files(
    name: str, root: Path, context: Context
) -> None:
    """Those of its table, its drawing and its title."""
    drawn = plugins("figure")[name].draw(context)
    FIGURES[name](root, {each.name: each for each in drawn if isinstance(each, Figure)})


def test_every_figure_is_checked_by_another_way() -> None:
    """Whoever adds one, adds its check."""
    assert set(plugins("figure")) == FIGURES.keys() | ELSEWHERE.keys()
    assert [path for path in ELSEWHERE.values() if not (ROOT / path).exists()] == []
