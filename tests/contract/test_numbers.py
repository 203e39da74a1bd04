"""Every number that a figure or a sentence tells follows from the files, worked out another way.

Each figure family and each kind of sentence has a check here, or says in `ELSEWHERE` which test
reads the files a second time for it: a new one without either fails.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from conftest import ROOT
from stithy.analysis.findings import findings
from stithy.registry import plugins
from stithy.report.answer import main_findings, sentences
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
    "figure heat": "tests/unit/report/figures/test_heat.py",
    "figure forest": "tests/unit/report/figures/test_forest.py",
    "figure set-up": "tests/unit/report/figures/test_set_up.py",
    "figure percentiles": "tests/unit/report/figures/test_percentiles.py",
    "figure limits": "tests/unit/report/figures/test_limits.py",
    "sentence limits": "tests/unit/report/figures/test_limits.py",
    "sentence served": "tests/unit/report/sentences/test_served.py",
}
"""What is checked by a test of its own."""


@pytest.mark.parametrize("name", FIGURES)
def test_the_numbers_of_a_figure_follow_from_the_files(
    name: str, root: Path, context: Context
) -> None:
    """Those of its table, its drawing and its title."""
    drawn = plugins("figure")[name].draw(context)
    FIGURES[name](root, {each.name: each for each in drawn if isinstance(each, Figure)})


def _comparison(root: Path, said: tuple[str, ...]) -> None:
    """The primary question is asked at the highest level, of two blocks a verdict needs more."""
    nopm = {
        name: fmean(n for (n,) in rows(root, f"SELECT nopm FROM win WHERE users = {TOP} AND candidate = '{name}'"))  # noqa: E501 one query
        for name in SHAPE.candidates
    }  # fmt: skip
    sentence = next(each for each in said if "against" in each)
    assert f"{nopm['memory']:,.0f} against {nopm['disk']:,.0f}" in sentence
    assert f"memory completed {_paired(root, 'nopm', TOP):.1f} times" in sentence


def _growth(root: Path, said: tuple[str, ...]) -> None:
    sentence = next(each for each in said if each.startswith("From "))
    for name in SHAPE.candidates:
        low, high = (
            fmean(
                n
                for (n,) in rows(
                    root,
                    "SELECT nopm FROM win WHERE errors = 0 AND "
                    f"users = {users} AND candidate = '{name}'",
                )
            )
            for users in (min(SHAPE.users), TOP)
        )
        factor = f"{high / low:.1f}" if high / low >= 2 else f"{high / low:.2f}"
        assert f"{name} grew {factor} times" in sentence


def _alone(root: Path, said: tuple[str, ...]) -> None:
    alone = build_run(root.parent / "alone", Shape(candidates=("disk",), users=(4,))).root
    [(nopm, p95_s)] = rows(
        alone,
        "SELECT w.nopm, t.response_p95_s FROM win w JOIN transactions t ON "
        "w.window_id = t.window_id WHERE t.transaction = 'all'",
    )
    sentence = main_findings(context_of(read_run(alone)))[0]
    assert f"disk completed {nopm:,.0f} new orders per minute" in sentence
    assert f"{p95_s * 1000:.3g} ms" in sentence.replace("\N{NO-BREAK SPACE}", " ")


def _nothing(root: Path, said: tuple[str, ...]) -> None:
    every = {window_id("disk", 4, 0): {"errors": 1}}
    none = build_run(
        root.parent / "none", Shape(candidates=("disk",), users=(4,), changes=every)
    ).root
    assert rows(none, "SELECT COUNT(*) FROM win WHERE errors = 0") == [(0,)]
    assert "gives no answer" in main_findings(context_of(read_run(none)))[0]


SENTENCES: Mapping[str, Callable[[Path, tuple[str, ...]], None]] = {
    "comparison": _comparison,
    "growth": _growth,
    "alone": _alone,
    "nothing": _nothing,
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_numbers_of_a_sentence_follow_from_the_files(
    name: str, root: Path, context: Context
) -> None:
    """As they are said, rounded."""
    found = findings(context.evidence, context.limited)
    SENTENCES[name](root, sentences(found, context.level_unit))


def test_every_figure_and_sentence_is_checked_by_another_way() -> None:
    """Whoever adds one, adds its check."""
    needed = {f"figure {name}" for name in plugins("figure")}
    needed |= {f"sentence {name}" for name in plugins("sentence")}
    checked = {f"figure {name}" for name in FIGURES} | {f"sentence {name}" for name in SENTENCES}
    assert needed == checked | ELSEWHERE.keys()
    assert [path for path in ELSEWHERE.values() if not (ROOT / path).exists()] == []
