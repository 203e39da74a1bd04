"""A neighbour with servers of its own, from study to report, with fakes, as a user's plug-in."""

from pathlib import Path
from typing import Any

import pytest

from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from reference.study import reference_page, study_schema
from stithy.clock import SystemClock
from stithy.report.context import make_context
from stithy.report.page import Page
from stithy.results.files import read_run
from support.faked_run import FakedRun
from support.running import left_by

pytestmark = pytest.mark.usefixtures("own_state")
STUDY = """
study: Who hears it?
candidates: {a: {path: "{root}/a"}}
scenario: {noisy-neighbour: {tenants: 2, aggressor: knock, knocks: [2], every: 300 ms}}
database: {engine: postgresql, memory: 256 MiB}
workload: {name: order-entry, warehouses: 1}
load: {users: [2], ramp_up: 0 s, duration: 1 s, repeat: 1, calibrate: false}
"""


def _run(tmp_path: Path, **how: Any) -> FakedRun:
    faked = FakedRun(
        tmp_path, hammer=FakeHammer(sound=True), text=STUDY, clock=SystemClock(), **how
    )
    faked.run()
    return faked


def test_an_aggressor_of_ones_own_goes_from_study_to_report(tmp_path: Path, fakes: Path) -> None:
    """Its cycles are spans, one that fails is marked alone, and it is said what was achieved."""
    faked = _run(tmp_path)
    run = read_run(faked.out)
    assert run.window["complete"].to_list() == [True, True]
    values = {row["metric"]: row for row in run.values.to_dicts() if row["of"] == "all"}
    assert values["neighbour.asked_per_s"]["value"] == pytest.approx(2 / 0.3)
    assert 0 < values["neighbour.achieved_per_s"]["value"] < 2 / 0.3
    assert values["neighbour.bytes_per_s"]["value"] > 0
    spans = run.spans.to_dicts()
    failed = [span for span in spans if span["invalid_because"]]
    assert [each["outcome"] for each in failed] == ["failed"]
    assert failed[0]["invalid_because"] == "door: nobody hears it: none"
    assert {"neighbour", "neighbour 1", "neighbour 1: rap"} <= {each["name"] for each in spans}
    page = Page(make_context(run))
    [row] = page.tables["neighbours"].frame.to_dicts()
    assert row["neighbour"] == "2 hands"
    cycles = {each["what"]: each for each in page.tables["neighbour-cycles"].frame.to_dicts()}
    assert cycles["cycle"]["failed"] == 1
    assert cycles["cycle"]["done"] == cycles["rap"]["done"] > 2
    sizes = run.values.filter(metric="neighbour.cycle_bytes")["value"].to_list()
    assert sizes == [100.0] * cycles["cycle"]["done"]
    assert left_by(faked.out) == []


def test_a_neighbours_dead_server_costs_its_window(tmp_path: Path, fakes: Path) -> None:
    """Its window has no numbers and says why; that of the tenants alone has all of them."""
    starts = [str(start.data) for start in _run(tmp_path).engine.starts]
    own = next(n for n, data in enumerate(starts, 1) if "/beside-database/" in data)
    other = tmp_path / "ended"
    other.mkdir()
    faked = _run(other, engine=FakeEngine(ended_starts=frozenset({own})))
    rows = read_run(faked.out).window.to_dicts()
    beside = [row for row in rows if "knock" in row["activity"]]
    assert [row["complete"] for row in rows if row not in beside] == [True]
    assert not beside[0]["complete"]
    assert "the neighbour failed: its server was ended by SIGKILL" in beside[0]["missing_because"]
    assert left_by(faked.out) == []


def test_keys_of_an_aggressor_of_ones_own_are_documented(fakes: Path) -> None:
    """In the schema for editors and on the reference page, under its name."""
    assert "`scenario.noisy-neighbour` with `aggressor: knock`" in reference_page("")
    kinds = [
        each["properties"]["noisy-neighbour"]["properties"]
        for each in study_schema()["properties"]["scenario"]["anyOf"]
        if "noisy-neighbour" in each.get("properties", {})
    ]
    assert sum("knocks" in kind for kind in kinds) == 1
    assert sum("rate" in each for each in kinds) == 1
