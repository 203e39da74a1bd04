"""The dashboard for Grafana asks only for what live numbers and exports have, and can be loaded."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.clock import FakeClock
from stithy.report.exports.openmetrics import OpenMetricsExport
from stithy.run.events import (
    Event,
    InterimAnalysis,
    RunStarted,
    SecondPassed,
    StepFinished,
    StepProgress,
    StepStarted,
)
from stithy.run.live import LiveRun
from stithy.run.live_numbers import NOW, RUN, write_numbers
from support.drawn import context_built
from support.examples import STEP, WINDOW
from support.live_run import sample_window
from support.openmetrics import read
from support.sample_run import Shape

BEGUN: tuple[Event, ...] = (
    RunStarted("runs/x", 17, 250.0, notes={"disk": "EMULATED drive"}),
    StepStarted(STEP, 7, 17, 88.0, 200.0),
)
MOMENTS: tuple[tuple[Event, ...], ...] = (
    (
        SecondPassed(WINDOW, 9, "measure", 12_345.0, 0.0123, "TPM", 0.004, 0.0456),
        InterimAnalysis("b", 4, decided=True),
    ),
    (StepProgress("loading", 1, 4),),
    (sample_window(WINDOW, 9, FakeClock()),),
    (StepFinished(STEP, 31.25, "4,400 NOPM"),),
)
"""Of a run: while a window is measured, and while something else goes on."""

Served = dict[str, list[Mapping[str, str]]]
"""By the name of a metric, the labels of each of its samples."""


def _served(*texts: str) -> Served:
    served: Served = {}
    for text in texts:
        for name, each in read(text).items():
            served.setdefault(name, []).extend(labels for labels, _, _ in each.samples)
    return served


def _live() -> Served:
    """What is reported while a run goes on."""
    texts = []
    for events in MOMENTS:
        numbers = LiveRun(FakeClock(), lambda directory, windows: dict.fromkeys(windows, "errors"))
        for event in (*BEGUN, *events):
            numbers.show(event)
        texts.append(write_numbers(numbers))
    return _served(*texts)


@pytest.fixture(scope="module")
def dashboard(root: Path) -> dict[str, Any]:
    """As Grafana reads it."""
    loaded: dict[str, Any] = json.loads((root / "docs/grafana/stithy.json").read_text())
    return loaded


def _kept(query: str) -> set[str]:
    """The labels that a query leaves its answer."""
    return {name for part in re.findall(r"by \(([^)]*)\)", query) for name in part.split(", ")}


def test_queries_ask_for_known_metrics(
    dashboard: dict[str, Any], root: Path, tmp_path: Path
) -> None:
    """Some sample has the values that it fixes, legends name labels that it keeps; all is drawn."""
    context = context_built(tmp_path, Shape(users=(13,), drives={"disk": 0.0, "memory": 0.0}))
    live, exported = _live(), _served("".join(OpenMetricsExport().export(context).pieces))
    served, drawn = {**live, **exported}, set()
    panels = [each for each in dashboard["panels"] if each["type"] != "row"]
    places = Counter(
        (x, y)
        for place in (each["gridPos"] for each in dashboard["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    )
    assert {*places.values()} == {1}, "a panel lies over another"
    assert max(x for x, _ in places) == 23
    tables = [each for each in panels if each["type"] == "table"]
    for panel in tables:
        kept = {name for target in panel["targets"] for name in _kept(target["expr"])}
        [order] = [each["options"]["indexByName"] for each in panel["transformations"]
                   if each["id"] == "organize"]  # fmt: skip
        assert {name for name in order if not name.startswith("Value #")} == kept
    assert tables
    for target in (target for panel in panels for target in panel["targets"]):
        query = target["expr"]
        asked = re.findall(r"\b(stithy_\w+)\{([^}]*)\}", query)
        assert len(asked) == len(re.findall(r"\bstithy_\w+", query)) > 0, f"of any run: {query}"
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= _kept(query), query
        for name, text in asked:
            drawn.add(name)
            matchers = re.findall(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"', text)
            known = {label for labels in served[name] for label in labels}
            assert _kept(query) | {label for label, value in matchers if value} <= known, query
            fixed = {label: value for label, value in matchers if "$" not in value}
            assert any(
                all(labels.get(label, "") == value for label, value in fixed.items())
                for labels in served[name]
            ), query
    assert (len(live), live.keys() - drawn) == (len(RUN) + len(NOW), set())
    page = (root / "docs/how-to/use-other-tools.md").read_text()
    assert [name for name in live if f"`{name}`" not in page] == []
    labels = {label for each in exported.values() for found in each for label in found}
    assert [label for label in labels if f"`{label}`" not in page] == []
    for each in dashboard["templating"]["list"]:
        if each["type"] == "query":
            first, second = re.findall(r"stithy_\w+", each["query"]["query"])
            assert all(each["name"] in labels for labels in (*live[first], *exported[second]))
