"""Tenants of several sizes are each other's neighbours: a whole run of fakes and its report."""

from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.report.context import make_context
from stithy.report.page import Page
from stithy.results.files import read_run
from stithy.run.executor import execute
from support.faked_run import FakedRun

STUDY = """
study: Who gets more?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
scenario:
  noisy-neighbour:
    aggressor: none
    tenants: 3
    differ: {workload.warehouses: [1, 1, 2], database.memory: [128 MiB, 128 MiB, 256 MiB]}
database: {engine: postgresql, memory: 256 MiB}
workload: {name: order-entry, warehouses: 1}
load: {users: [2], ramp_up: 1 s, duration: 1 s, repeat: 4, calibrate: false}
"""


@pytest.mark.usefixtures("own_state")
def test_each_tenant_has_its_size_memory_and_share(tmp_path: Path) -> None:
    """Its hammer, copy and report say so; what they differ in is nobody's number."""
    faked = FakedRun(tmp_path, text=STUDY, hammer=FakeHammer(sound=True))
    assert execute(faked.start(), faked.deciders).end == "finished"
    run = read_run(faked.out)
    assert run.manifest is not None
    assert run.manifest.workload is not None
    assert [size["warehouses"] for size in run.manifest.workload.sizes] == [1, 1, 2]
    assert set(run.window["memory_limit_bytes"]) == {None}
    page = Page(make_context(run))
    shares = page.tables["tenants"].frame
    assert shares.columns == ["users", "candidate", "tenant", "tpm", "share", "p95_s"]
    assert shares.filter(candidate="a")["share"].to_list() == pytest.approx([1 / 3] * 3)
    assert shares.height == 6
    asked = [
        choice.model_dump()["warehouses"] for job, choice in faked.hammer.choices if job == "run"
    ]
    assert sorted(asked[:3]) == [1, 1, 2]
