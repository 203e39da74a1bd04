"""Several instances on a candidate: own copies, own servers, one start, and losses of one alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.errors import InfrastructureError
from stithy.results.files import read_rows, read_run
from stithy.results.tables import SPANS, VALUES
from stithy.run.context import Context
from stithy.run.executor import execute
from stithy.scenarios.noisy_neighbour.declared import TENANT_SECONDS
from support.faked_run import FakedRun
from support.running import left_by

pytestmark = pytest.mark.usefixtures("own_state")
COUNT = 3


def _of_tenants(faked: FakedRun) -> Context:
    """The run of a load, in which each window has several tenants."""
    context = faked.start()
    steps = tuple(
        replace(step, window=replace(step.window, instances=COUNT, activities=("tenants",)))
        if step.window
        else step
        for step in context.plan.steps
        if step.id not in ("check-end-a", "check-end-b")
    )
    return replace(context, plan=replace(context.plan, steps=steps))


def test_tenants_have_copies_of_their_own_and_begin_together(tmp_path: Path) -> None:
    """And what they did together stands where that of a single one does."""
    alone, faked = FakedRun(tmp_path / "1", users=(2,)), FakedRun(tmp_path / "3", users=(2,))
    for each in (alone, faked):
        each.root.mkdir()
    execute(alone.start(), alone.deciders)
    assert execute(_of_tenants(faked), faked.deciders).end == "finished"
    first = faked.hammer.runs[:COUNT]
    assert len({each.start_at_s for each in first}) == 1
    assert first[0].start_at_s is not None
    assert len({each.hlog_stem for each in first}) == COUNT
    one, all_three = (read_run(each.out) for each in (alone, faked))
    assert all_three.window["tpm"][0] == COUNT * one.window["tpm"][0]
    assert all_three.window["lateness_p99_s"][0] == one.window["lateness_p99_s"][0]
    assert all_three.seconds["committed"][0] == COUNT * one.seconds["committed"][0]
    assert all_three.restores["size_bytes"][0] == COUNT * one.restores["size_bytes"][0]
    assert all_three.conditions.height == one.conditions.height - 2 * 12
    window = faked.out / "windows" / all_three.window["window_id"][0]
    seconds = read_rows(window / "tenant_seconds.parquet", TENANT_SECONDS)
    tenants = {"tenant-1", "tenant-2", "tenant-3"}
    assert {row["tenant"] for row in seconds} == tenants
    # The fakes' servers do not answer: each says so of itself.
    whose = {name: each.series.filter(collector="database")["instance"].unique()
             for name, each in (("one", one), ("three", all_three))}  # fmt: skip
    assert (set(whose["one"]), set(whose["three"])) == ({""}, tenants)
    assert set(all_three.series.filter(collector="drive")["instance"]) == {""}
    assert left_by(faked.out) == []


def test_a_tenant_that_fails_is_marked_and_the_others_count(tmp_path: Path) -> None:
    """Its values are missing with the reason, its span is invalid; no total is made of the rest."""
    begun: list[int] = []

    def second_fails() -> None:
        begun.append(1)
        if len(begun) == 2:
            raise InfrastructureError("the server is gone", where="here", remedy="none")

    faked = FakedRun(tmp_path, users=(2,), hammer=FakeHammer(before_run=second_fails))
    assert execute(_of_tenants(faked), faked.deciders).end == "finished"
    run = read_run(faked.out)
    assert run.window["complete"].to_list() == [True, True]
    first = faked.out / "windows" / run.window["window_id"][0]
    values = read_rows(first / "values.parquet", VALUES)
    rates = [row for row in values if row["metric"] == "tenant.tpm"]
    assert sorted(row["value"] is None for row in rates) == [False, False, True]
    assert [row["missing_because"] for row in rates if row["value"] is None] == [
        "here: the server is gone: none"
    ]
    assert [row["value"] for row in values if row["metric"] == "tpm"] == [None]
    [span] = read_rows(first / "spans.parquet", SPANS)
    assert span["invalid_because"] == "here: the server is gone: none"
    second = faked.out / "windows" / run.window["window_id"][1]
    assert read_rows(second / "spans.parquet", SPANS) == []
