"""What the report says of tenants beside a neighbour, from a run of fakes."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.analysis.answers.thresholds import Outcome, judge_thresholds
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.context import context_of
from stithy.report.page import Page
from stithy.results.read import read_run
from stithy.run.executor import execute
from stithy.thresholds import Constant, MeasuredValue, Threshold
from support.faked_run import FakedRun

STUDY = """
study: Who bears a neighbour?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
scenario: {noisy-neighbour: {tenants: 2, rate: [500]}}
database: {engine: postgresql, memory: 256 MiB}
workload: {name: order-entry, warehouses: 1}
load: {users: [2], ramp_up: 1 s, duration: 1 s, repeat: 4, calibrate: false}
"""

pytestmark = pytest.mark.usefixtures("own_state")


def _page(tmp_path: Path, text: str) -> Page:
    """Of a run in which nothing works beside the tenants: fakes read and write nothing."""
    faked = FakedRun(tmp_path, hammer=FakeHammer(sound=True), text=text)
    context = faked.start()
    steps = tuple(
        replace(step, window=replace(step.window, activities=("tenants",))) if step.window else step
        for step in context.plan.steps
        if step.kind != "lay-out-neighbour"
    )
    execute(replace(context, plan=replace(context.plan, steps=steps)), faked.deciders)
    return Page(context_of(read_run(faked.out)))


def test_the_section_pairs_tenants_alone_with_tenants_beside_a_neighbour(tmp_path: Path) -> None:
    """Fakes slow nobody down: every ratio is 1, and all seconds are isolated."""
    page = _page(tmp_path, STUDY)
    table = page.tables["neighbours"].frame
    assert table["candidate"].to_list() == ["a", "b"]
    assert table["goodput"].to_list() == [1.0, 1.0]
    assert table["isolation"].to_list() == [1.0, 1.0]
    assert table["fairness"].to_list() == [1.0, 1.0]
    assert [each.key for each in page.sections].count("neighbours") == 1
    drawn = {each.name: each for each in page.figures}["throughput-by-tenant"]
    assert drawn.title.endswith(": 100 % on a and 100 % on b")
    kept = drawn.table.frame.select("candidate", "tenant", "blocks", "share").rows()
    assert kept == [(name, tenant, 4, 1.0) for name in "ab" for tenant in ("tenant-1", "tenant-2")]
    rows = drawn.table.frame.select("alone", "beside").rows()
    assert all(alone == beside > 0 for alone, beside in rows)
    assert _levels(page, "neighbour.throughput_ratio") == [1.0, 1.0]
    assert _levels(page, "isolation") == [1.0, 1.0]
    assert _levels(page, "isolation_lost") == [0.0, 0.0]
    bound = Threshold(MeasuredValue("a", "isolation", BESIDE), ">=", Constant(0.9, "share"))
    [judged] = judge_thresholds([bound], page.context.evidence)
    assert judged.outcome is Outcome.MET, "all blocks are alike, and enough"


BESIDE = Point.of(users=2, neighbour=500)


def _levels(page: Page, metric: str) -> list[float | None]:
    evidence = page.context.evidence
    return [evidence.level_of(name, BESIDE, Quantity(metric)) for name in "ab"]


def test_of_several_limits_it_says_what_each_buys(tmp_path: Path) -> None:
    """And which neighbour is borne with it."""
    more = STUDY.replace("users: [2]", "users: [3]")  # percentiles need so many answers
    page = _page(tmp_path, f"{more}vary: {{scenario.noisy-neighbour.limit: [100, 400]}}\n")
    assert page.tables["neighbours"].frame.height == 4
    section = str(next(each for each in page.sections if each.key == "neighbours"))
    for limit in (100, 400):
        assert f"with a limit of {limit} p95 is 1" in section
        assert f"limit {limit}) bears a neighbour" in section


def test_a_run_without_tenants_has_no_such_section(tmp_path: Path) -> None:
    """Its tables are those it had."""
    faked = FakedRun(tmp_path)
    faked.run()
    page = Page(context_of(read_run(faked.out)))
    assert "neighbours" not in page.tables
    assert "neighbours" not in [each.key for each in page.sections]
