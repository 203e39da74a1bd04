"""What the report says of tenants beside a neighbour, or of several sizes, from runs of fakes."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from fakes.hammer import FakeHammer
from stithy.analysis.decision import Outcome, judge_thresholds
from stithy.analysis.series import EACH_ITS_OWN
from stithy.metrics import Quantity
from stithy.point import Point
from stithy.report.context import make_context
from stithy.report.page import Page
from stithy.results.files import read_run, write_table
from stithy.results.tables import SERIES
from stithy.run.executor import execute
from stithy.scenarios.noisy_neighbour.report.neighbours import make_durations_table
from stithy.thresholds import Constant, MeasuredSide, Threshold
from support.faked_run import FakedRun
from support.lost_runs import beside_nobody

pytestmark = pytest.mark.usefixtures("own_state")


STUDY = """
study: Who bears a neighbour?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
scenario: {noisy-neighbour: {tenants: 2, rate: [500]}}
database: {engine: postgresql, memory: 256 MiB}
workload: {name: order-entry, warehouses: 1}
load: {users: [2], ramp_up: 1 s, duration: 1 s, repeat: 4, calibrate: false}
"""


Added = Callable[[str], Iterable[tuple[str, str, str, str, float]]]
"""Of a window, samples of its servers: instance, collector, subject, metric, value."""


def _page(tmp_path: Path, text: str, add: Added | None = None) -> Page:
    """Of a run in which nothing works beside the tenants: fakes read and write nothing."""
    faked = beside_nobody(tmp_path, text)
    if add is not None:
        _add_samples(faked.out, add)
    return Page(make_context(read_run(faked.out)))


def _add_samples(out: Path, add: Added) -> None:
    """Samples in the middle of each window's measurement, beside those that it has."""
    run = read_run(out)
    for window in run.window.to_dicts():
        middle_s = (window["measure_from_s"] + window["measure_to_s"]) / 2
        path = out / "windows" / window["window_id"] / "series.parquet"
        known = pl.read_parquet(path).filter(pl.col("instance") == "").to_dicts()
        rows = [
            {"window_id": window["window_id"], "at_s": middle_s + 0.5, "second": 1.0,
             "collector": collector, "instance": instance, "subject": subject, "metric": metric,
             "unit": "", "value": value, "missing_because": None}
            for instance, collector, subject, metric, value in add(window["window_id"])
        ]  # fmt: skip
        write_table(path, SERIES, [*known, *rows])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Of such a run, whose servers were sampled besides."""
    root = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITHY_STATE", str(root / "state"))
        return _page(root, STUDY, add=_of_servers)


def test_the_section_pairs_tenants_alone_with_tenants_beside_a_neighbour(page: Page) -> None:
    """Fakes slow nobody down: every ratio is 1, and all seconds are isolated."""
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
    bound = Threshold(MeasuredSide("a", "isolation", BESIDE), ">=", Constant(0.9, "share"))
    [judged] = judge_thresholds([bound], page.context.evidence)
    assert judged.outcome is Outcome.MET, "all blocks are alike, and enough"


BESIDE = Point.of(users=2, neighbour=500)


def _levels(page: Page, metric: str) -> list[float | None]:
    evidence = page.context.evidence
    return [evidence.level_of(name, BESIDE, Quantity(metric)) for name in "ab"]


def test_what_each_tenants_server_did_is_told_apart_from_the_others(page: Page) -> None:
    """Waits, buffers and CPU time, alone and with the neighbour; the mean of no two tenants."""
    table = page.tables["tenant-servers"]
    assert table.frame.select("candidate", "tenant", "blocks").rows() == [
        (name, tenant, 4) for name in "ab" for tenant in ("tenant-1", "tenant-2")
    ]
    both = table.frame.filter(candidate="a").sort("tenant").to_dicts()
    assert [each["active_alone"] for each in both] == [1.0, 2.0]
    assert [each["active_with"] for each in both] == [11.0, 12.0]
    assert [each["data_with"] for each in both] == [10.0, 10.0]
    assert [each["data_alone"] for each in both] == [0.0, 0.0]
    assert [each["hit_share_alone"] for each in both] == [0.75, 0.75]
    assert [each["cpu_share_with"] for each in both] == [0.1, 0.2]
    assert "throttled_share_with" not in [each.column for each in table.columns], "none has a limit"
    assert table.caption in str(next(each for each in page.sections if each.key == "neighbours"))
    assert not page.context.sampled.means["collector"].is_in(["database", "server"]).any()
    of_each = page.tables["missing"].frame.filter(because=EACH_ITS_OWN)["what"].to_list()
    assert [each.removeprefix("figure: ") for each in of_each] == [
        "memory of the server and its page cache", "write-ahead log volume",
        "syncs of the write-ahead log", "blocks read into the database's cache",
        "what sessions wait for",
    ]  # fmt: skip


def _of_servers(window_id: str) -> Iterator[tuple[str, str, str, str, float]]:
    """What two servers would say in each second: with the neighbour ten sessions wait for data."""
    beside = 0.0 if "neighbour0" in window_id else 10.0
    for number in (1, 2):
        name = f"tenant-{number}"
        yield name, "database", "", "active_sessions", number + beside
        yield name, "database", "CPU", "waiting_sessions_by_event", float(number)
        if beside:
            yield name, "database", "IO:DataFileRead", "waiting_sessions_by_event", beside
        yield name, "database", "", "blocks_hit_per_s", 30.0
        yield name, "database", "", "blocks_read_per_s", 10.0
        yield name, "server", "", "cpu_share", number / 10
        yield name, "cgroup", "", "used_bytes", 2.0**20


def test_of_several_limits_it_says_what_each_buys(tmp_path: Path) -> None:
    """And which neighbour is borne with it."""
    more = STUDY.replace("users: [2]", "users: [3]")  # percentiles need so many answers
    page = _page(tmp_path, f"{more}vary: {{scenario.noisy-neighbour.limit: [100, 400]}}\n")
    assert page.tables["neighbours"].frame.height == 4
    section = str(next(each for each in page.sections if each.key == "neighbours"))
    for limit in (100, 400):
        assert f"with a limit of {limit} p95 is 1" in section
        assert f"limit {limit}) bears a neighbour" in section


def test_cycles_are_counted_and_timed_in_valid_windows_as_the_figure_draws_them() -> None:
    """Of a candidate without any there is no row."""
    short, long = (
        SimpleNamespace(spans=[{"name": "neighbour 1", "from_s": 0.0, "to_s": took_s,
                                "outcome": "done"}])
        for took_s in (2.0, 90.0)
    )  # fmt: skip
    every, valid = {"a": [short, long], "b": [long]}, {"a": [short], "b": []}
    evidence = SimpleNamespace(
        points=[BESIDE], candidates=["a", "b"], windows=(),
        at=lambda name, _: every[name], valid_at=lambda name, _: valid[name],
    )  # fmt: skip
    known = {"factors": ("neighbour",), "list_factor_values": lambda _: {}}
    context = SimpleNamespace(evidence=evidence, **known)
    [row] = make_durations_table(cast(Any, context)).frame.to_dicts()
    assert (row["candidate"], row["done"], row["most_s"]) == ("a", 1, 2.0)


DIFFERING = """
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
    faked = FakedRun(tmp_path, text=DIFFERING, hammer=FakeHammer(sound=True))
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
