"""Facts that no run can have had are damage: told by their key, and never drawn."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stithy.report.context import context_of
from stithy.report.page import build, render
from stithy.results.bounds import LEVEL_MOST, YEAR_9999_S, beyond
from stithy.results.manifest import (
    CostFacts,
    LimitFacts,
    QuestionFacts,
    SearchFacts,
    SessionFacts,
)
from stithy.results.pieces import Damaged, manifest_of
from stithy.results.read import read_run
from support.html_page import read_page
from support.older import as_version_1
from support.sample_run import START_S, Shape, build_run
from support.sample_thresholds import thresholds

LIMIT: dict[str, Any] = {"percentile": "p95", "transaction": "new-order", "limit_s": 0.1}
SHAPE = Shape(
    users=(1, 4),
    duration_s=3,
    series=False,
    drives={"disk": 0.0},
    costs={"disk": CostFacts(amount=1200, currency="EUR")},
    primary=QuestionFacts(users=4, metric="nopm", margin_share=0.05, blocks_least=4, blocks_most=9),
    search=SearchFacts(**LIMIT, users_least=1, users_most=4, listed=(1, 4)),
    limit=LimitFacts(**LIMIT),
    sessions=(SessionFacts(started_at_s=START_S, ended_at_s=START_S + 9, boot_id="b"),),
    load={"think_s": 1.0, "rate_per_s": 10.0, "connections": 4, "users_per_warehouse": 2},
    thresholds=thresholds("disk.nopm_at_4 >= 100"),
)
"""A run whose manifest has every number that one can have."""

ABSURD = (-1, -0.5, 10**30, -(10**30), 1e300, float("inf"), float("nan"))
FREE = ("comparability.", "database.settings.", "thresholds.", "schema_version")
"""Below these anything may stand: they are compared, or judged, and never counted with."""


def _leaves(value: Any, *way: str | int) -> Iterator[tuple[str | int, ...]]:
    """The way to each number of a document."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, *way, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield way


def _changed(path: Path, document: Any, way: tuple[str | int, ...], value: object) -> Path:
    """The manifest with another value there."""
    changed = json.loads(json.dumps(document))
    inner = changed
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    path.write_text(json.dumps(changed))
    return path


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a run as the first version wrote it: without a digest that would tell of any change."""
    run = build_run(tmp_path_factory.mktemp("old") / "run", SHAPE)
    as_version_1(run.root)
    return run.root


def test_no_number_of_a_manifest_can_be_absurd(old: Path, tmp_path: Path) -> None:
    """Below 0, beyond what anything can hold, or no number: named by its key, each by itself."""
    document = json.loads((old / "manifest.json").read_text())
    ways = [way for way in _leaves(document) if not ".".join(map(str, way)).startswith(FREE)]
    assert len(ways) >= 40
    taken = []
    for way in ways:
        for value in ABSURD:
            path = _changed(tmp_path / "manifest.json", document, way, value)
            try:
                manifest_of(path)
            except Damaged as damage:
                told = str(damage)
                where = way[:1] if way[0] == "environment" else way[:2]
                assert told.startswith(".".join(map(str, where))), (way, told)
            else:
                taken.append((way, value))
    assert taken == []


@pytest.mark.parametrize(
    ("way", "told"),
    [
        (("plan", "question", "metric"), "unknown metric `nopn`: did you mean `nopm`?"),
        (("plan", "limit", "percentile"), "there is no percentile 'nopn'"),
        (("plan", "search", "percentile"), "there is no percentile 'nopn'"),
        (("thresholds", 0, "left", "metric"), "there is no metric 'nopn'"),
    ],
    ids=["question", "limit", "search", "threshold"],
)
def test_what_is_asked_about_is_something_that_is_measured(
    old: Path, tmp_path: Path, way: tuple[str | int, ...], told: str
) -> None:
    """A letter that turned is told, and ends no report."""
    document = json.loads((old / "manifest.json").read_text())
    with pytest.raises(Damaged) as caught:
        manifest_of(_changed(tmp_path / "manifest.json", document, way, "nopn"))
    assert told in str(caught.value)


COUNTED = (
    ("load", "users", 0),
    ("plan", "question", "users"),
    ("plan", "search", "users_least"),
    ("workload", "warehouses"),
    ("memory", "limit_bytes"),
    ("load", "duration_s"),
    ("environment", "cpus", "value"),
)


@pytest.mark.parametrize("way", COUNTED, ids=lambda way: ".".join(map(str, way)))
def test_of_what_every_run_has_there_is_some(
    old: Path, tmp_path: Path, way: tuple[str | int, ...]
) -> None:
    """No users, no warehouse, no time: nothing was measured so."""
    document = json.loads((old / "manifest.json").read_text())
    with pytest.raises(Damaged, match=str(way[0])):
        manifest_of(_changed(tmp_path / "manifest.json", document, way, 0))


def test_a_report_tells_of_such_a_manifest_and_draws_nothing_of_it(tmp_path: Path) -> None:
    """A level without users stands in no table, on no axis and in no sentence."""
    root = build_run(tmp_path / "run", SHAPE).root
    as_version_1(root)
    document = json.loads((root / "manifest.json").read_text())
    _changed(root / "manifest.json", document, ("load", "users", 0), 0)
    context = context_of(read_run(root))
    assert context.evidence.levels == (1, 4)
    page = build(context)
    html = read_page(render(page, dict.fromkeys((each.name for each in page.figures), "")))
    assert "The manifest could not be read" in html.classed("flaws")
    [missing] = [table for table in html.tables if table.name == "missing"]
    [because] = [row[1][0] for row in missing.rows if row[0][0] == "manifest.json"]
    assert because == "load.users.0: Input should be greater than or equal to 1, and not 0"


def test_what_a_study_may_ask_for_at_most_is_within_the_bounds(old: Path, tmp_path: Path) -> None:
    """The largest that a manifest may tell is told, and does not end a report."""
    document = json.loads((old / "manifest.json").read_text())
    document["load"]["users"] = [1, 4, LEVEL_MOST]
    document["started_at_s"] = document["ended_at_s"] = YEAR_9999_S
    document["seed"] = 2**64 - 1
    document["workload"]["warehouses"] = document["memory"]["limit_bytes"] = 2**63 - 1
    root = build_run(tmp_path / "run", SHAPE).root
    as_version_1(root)
    (root / "manifest.json").write_text(json.dumps(document))
    made = build(context_of(read_run(root)))
    assert made.context.manifest is not None
    assert "9999-12-31 23:59:59" in render(made, dict.fromkeys((e.name for e in made.figures), ""))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"cpus": 2, "memory_bytes": 2**33, "nice": -10, "idle": True, "model": "x"}, None),
        ({"cpus": 0}, "cpus of 0, which no machine has"),
        ({"swap_bytes": 0, "memory_bytes": -1}, "memory_bytes of -1, which no machine has"),
        ({"rounds": 10**30}, f"rounds of {10**30}, which no machine has"),
    ],
    ids=["usual", "no CPU", "negative memory", "too many"],
)
def test_a_fingerprint_is_one_of_a_machine(facts: dict[str, object], told: str | None) -> None:
    """Settings may be below 0; sizes and counts are not."""
    assert beyond(facts) == told
