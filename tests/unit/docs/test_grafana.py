"""The dashboard for Grafana asks only for what live numbers and exports have, and can be loaded."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from fakes.clock import FakeClock
from stithy.plan.steps import Cost, Step, WindowPlan
from stithy.report.context import context_of
from stithy.report.exports.openmetrics import export
from stithy.results.read import read_run
from stithy.run.events import (
    Event,
    InterimAnalysis,
    Progress,
    RunStarted,
    SecondPassed,
    StepStarted,
)
from stithy.run.live import NOW, RUN, LiveNumbers
from support.openmetrics import read
from support.sample_run import Shape, build_run

DASHBOARD = "docs/grafana/stithy.json"
PAGE = "docs/how-to/use-other-tools.md"
WINDOW = WindowPlan("w-disk-u4-b0", "disk", 4, 0, 0, 5.0, 20.0, 1, checkpoint=True)
STEP = Step(WINDOW.id, "window", "disk", Cost(29.0, 40.0, 0, 0), WINDOW)
NOTES = {"disk": "EMULATED drive"}
BEGUN = (RunStarted("runs/x", 17, 250.0, notes=NOTES), StepStarted(STEP, 7, 17, 88.0, 200.0))
MOMENTS: tuple[tuple[Event, ...], ...] = (
    (
        *BEGUN,
        SecondPassed(WINDOW, 9, "measure", 12_345.0, 0.0123),
        InterimAnalysis("b", 4, decided=True),
    ),
    (*BEGUN, Progress("loading", 1, 4)),
)
"""Of a run: while a window is measured, and while something else goes on."""
BUILT_IN = {"__interval", "__range", "__all"}
"""Variables that Grafana itself has."""

Panel = Mapping[str, Any]
Served = dict[str, list[Mapping[str, str]]]
"""By the name of a metric, the labels of each of its samples."""


@pytest.fixture(scope="module")
def dashboard(root: Path) -> Mapping[str, Any]:
    """As Grafana reads it."""
    loaded: Mapping[str, Any] = json.loads((root / DASHBOARD).read_text())
    return loaded


@pytest.fixture(scope="module")
def live() -> Served:
    """What is told while a run goes on."""
    served: Served = {}
    for events in MOMENTS:
        numbers = LiveNumbers(FakeClock(), lambda directory, windows: {})
        for event in events:
            numbers.show(event)
        add(served, numbers.text())
    return served


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Served:
    """What the export has of a run with an emulated drive, whose note is a label."""
    root = tmp_path_factory.mktemp("grafana")
    drives = {"disk": 0.0, "memory": 0.0}
    build_run(root, Shape(users=(13,), duration_s=20, drives=drives))
    served: Served = {}
    add(served, "".join(export(context_of(read_run(root))).pieces))
    return served


def add(served: Served, text: str) -> None:
    """The families of a document."""
    for name, each in read(text).items():
        served.setdefault(name, []).extend(labels for labels, _, _ in each.samples)


def panels(dashboard: Mapping[str, Any]) -> list[Panel]:
    """Those that draw something."""
    return [each for each in dashboard["panels"] if each["type"] != "row"]


def queries(dashboard: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every query of a panel, and its legend."""
    return [
        (each["expr"], each["legendFormat"])
        for panel in panels(dashboard)
        for each in panel["targets"]
    ]


def selectors(query: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Each metric of a query, with its matchers: label, operator, text."""
    found = re.findall(r"\b(stithy_\w+)\{([^}]*)\}", query)
    assert len(found) == len(re.findall(r"\bstithy_\w+", query)), f"a metric of any run: {query}"
    for name, matchers in found:
        yield name, re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', matchers)


def kept(query: str) -> set[str]:
    """The labels that a query leaves its answer."""
    return {name for part in re.findall(r"by \(([^)]*)\)", query) for name in part.split(", ")}


def test_every_metric_and_label_of_a_query_is_told_or_exported(
    dashboard: Mapping[str, Any], live: Served, exported: Served
) -> None:
    """And some sample has the values that a query fixes; one without a label has it empty."""
    served = {**live, **exported}
    assert not live.keys() & exported.keys()
    for query, _ in queries(dashboard):
        asked = list(selectors(query))
        assert asked
        for name, matchers in asked:
            assert name in served, query
            known = {label for labels in served[name] for label in labels}
            assert kept(query) <= known, query
            assert {label for label, _, text in matchers if text} <= known, query
            fixed = {label: text for label, _, text in matchers if "$" not in text}
            assert any(
                all(labels.get(label, "") == text for label, text in fixed.items())
                for labels in served[name]
            ), query


def test_legends_and_columns_name_labels_that_their_queries_keep(
    dashboard: Mapping[str, Any],
) -> None:
    """A label that is summed away would leave a hole."""
    for query, legend in queries(dashboard):
        assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= kept(query), query
    (table,) = (each for each in panels(dashboard) if each["type"] == "table")
    (organize,) = (each for each in table["transformations"] if each["id"] == "organize")
    values = {f"Value #{each['refId']}" for each in table["targets"]}
    expected = values.union(*(kept(each["expr"]) for each in table["targets"]))
    assert set(organize["options"]["indexByName"]) == expected


def test_every_live_number_is_drawn_and_told_by_the_page(
    dashboard: Mapping[str, Any], live: Served, root: Path
) -> None:
    """All that live numbers know are in the moments above, too."""
    assert len(live) == len(RUN) + len(NOW)
    drawn = {name for query, _ in queries(dashboard) for name, _ in selectors(query)}
    assert live.keys() <= drawn
    page = (root / PAGE).read_text()
    assert [name for name in live if f"`{name}`" not in page] == []
    assert "(../grafana/stithy.json)" in page


def test_choices_come_from_metrics_that_a_run_and_an_export_have(
    dashboard: Mapping[str, Any], live: Served, exported: Served
) -> None:
    """One of each kind, so that runs of both are offered."""
    asked = [each for each in dashboard["templating"]["list"] if each["type"] == "query"]
    assert [each["name"] for each in asked] == ["run", "candidate"]
    for each in asked:
        first, second = re.findall(r"stithy_\w+", each["query"]["query"])
        for labels in (*live[first], *exported[second]):
            assert each["name"] in labels


def test_every_variable_is_declared_and_every_query_asks_the_chosen_data_source(
    dashboard: Mapping[str, Any],
) -> None:
    """No data source of the machine on which the dashboard was made."""
    declared = {each["name"] for each in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(dashboard)))
    assert used == declared | BUILT_IN
    sources = [
        each["datasource"] for each in dashboard["templating"]["list"] if "datasource" in each
    ]
    for panel in panels(dashboard):
        sources += [panel["datasource"], *(each["datasource"] for each in panel["targets"])]
        refs = [each["refId"] for each in panel["targets"]]
        assert len(refs) == len(set(refs))
    assert all(each == {"type": "prometheus", "uid": "${datasource}"} for each in sources)


def test_panels_have_ids_of_their_own_and_do_not_overlap(dashboard: Mapping[str, Any]) -> None:
    """On Grafana's grid of 24 columns; the classic schema, which every Grafana since 10.4 takes."""
    assert dashboard["schemaVersion"] == 39
    placed = dashboard["panels"]
    assert len({each["id"] for each in placed}) == len(placed)
    for each in placed:
        at = each["gridPos"]
        assert at["x"] >= 0
        assert at["w"] > 0
        assert at["h"] > 0
        assert at["x"] + at["w"] <= 24
        assert each["title"]
        assert each["type"] == "row" or each["description"]
    for one, other in combinations([each["gridPos"] for each in placed], 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one, other)
