"""Storage in the report: OSDs, hosts and pools, latencies of drives, and what drives hold."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from stithy.analysis.latencies import read_drive_times
from stithy.registry import plugins
from stithy.report.blocks import SectionKind
from stithy.report.page import Page
from stithy.report.sections.storage import describe_reduction, sum_held_bytes
from stithy.results.drives import LOG_SUFFIX
from stithy.results.tables import SPACE, make_schema
from support.drawn import context_built
from support.hlog import encode, histogram, log
from support.points import at
from support.sample_run import Shape

SECTIONS = plugins(SectionKind)


def test_each_part_has_its_means_and_the_whole_is_all_osds(tmp_path: Path) -> None:
    """Latencies as weighted by requests; a run without a cluster has no such section."""
    shape = Shape(users=(1, 4), repeat=2, duration_s=2, series=False)
    context = context_built(tmp_path, shape)
    assert list(SECTIONS["cluster-parts"].make_sections(Page(context))) == []
    point = context.answer_level
    assert point is not None
    windows = context.evidence.valid_at("disk", point)
    plain = {("osd.0", "writes_per_s"): 20.0, ("", "writes_per_s"): 40.0,
             ("host1", "cpu_share"): 0.5, ("volumes", "queue_length"): 3.0,
             ("osd.0", "write_latency_s"): 9.0}  # fmt: skip
    rows = [
        {"window_id": window.id, "candidate": "disk", "point": str(point), "block": window.block,
         "collector": "cluster", "instance": "", "subject": subject, "metric": metric, "unit": "",
         "mean": mean + 2 * window.block, "maximum": mean, "samples": 2}
        for window in windows
        for (subject, metric), mean in plain.items()
    ]  # fmt: skip
    means = pl.DataFrame(rows, schema=context.sampled.every_mean.schema)
    weighted = means.filter(metric="write_latency_s").with_columns(mean=pl.lit(0.004))
    weighted = weighted.select(context.sampled.every_weighted.columns)
    samples = replace(context.sampled, every_mean=means, every_weighted=weighted)
    with_it = replace(context, sampled=samples)
    page = Page(with_it)
    frame = page.tables["cluster-parts"].frame
    found = {row["part"]: row for row in frame.to_dicts()}
    assert list(found) == ["all OSDs", "host1", "osd.0", "volumes"]
    assert found["osd.0"]["writes_per_s"] == 21
    assert found["osd.0"]["write_latency_s"] == 0.004
    assert found["all OSDs"]["writes_per_s"] == 41
    assert found["host1"]["cpu_share"] == 1.5
    assert found["volumes"]["reads_per_s"] is None
    [section] = SECTIONS["cluster-parts"].make_sections(page)
    assert section.key == "cluster-parts"
    [beside] = page.tables["storage-cpu"].frame.to_dicts()
    assert beside["storage"] == 1.5


def test_the_most_cpu_time_of_storage_is_said_of_its_point_and_of_all_that_it_is_the_most_of(
    tmp_path: Path,
) -> None:
    """A single row is the most of nothing."""
    context = context_built(tmp_path, Shape(users=(1, 4), duration_s=2, series=False))
    shares = {"disk": {1: 0.4, 4: 0.9}, "memory": {1: 0.2, 4: 0.3}}
    rows = [
        {"window_id": window.id, "candidate": window.candidate, "point": str(window.point),
         "block": 0,
         "collector": collector, "instance": "", "subject": "", "metric": "cpu_share", "unit": "",
         "mean": mean, "maximum": mean, "samples": 2}
        for window in context.evidence.windows
        for collector, mean in (
            ("cluster", shares[window.candidate][window.point.level]), ("server", 0.3))
    ]  # fmt: skip
    means = pl.DataFrame(rows, schema=context.sampled.every_mean.schema)
    ends = {
        ("disk", "memory"): "server at 4 users, the most of all candidates and points.",
        ("disk",): "server at 4 users, the most of all points.",
    }
    for names, end in ends.items():
        of_them = replace(
            context.sampled, every_mean=means.filter(pl.col("candidate").is_in(names))
        )
        [section] = SECTIONS["storage-cpu"].make_sections(Page(replace(context, sampled=of_them)))
        assert f"The storage of disk took 3.0 times the CPU time of its database {end}" in str(
            section
        )
    one = means.filter(candidate="disk", point=str(context.evidence.points[0]))
    alone = replace(context, sampled=replace(context.sampled, every_mean=one))
    [section] = SECTIONS["storage-cpu"].make_sections(Page(alone))
    assert "1.3 times the CPU time of its database server." in str(section)


@pytest.mark.parametrize("is_whole", [True, False])
def test_times_of_a_drive_come_from_its_merged_log(tmp_path: Path, is_whole: bool) -> None:
    """9,900 reads of 1 ms in one measurement, 100 of 3 ms in the next; the tables tell the rest."""
    shape = Shape(candidates=("disk",), users=(4,), repeat=2, drives={"disk": 0.0})
    context = context_built(tmp_path, shape)
    run = context.run
    first, second = sorted(run.window["measure_from_s"])
    inside = [(first, 1000, 9900), (second, 3000, 100)][: 2 if is_whole else 1]
    beside = [(at_s - 3, 900_000, 1) for at_s in (first, second)]
    lines = (
        f"Tag=read,{at_s:.3f},1.000,1.0,{encode(histogram(*[took_us] * count))}\n"
        for at_s, took_us, count in sorted([*beside, *inside])
    )
    run.directory.drives.mkdir(parents=True)
    (run.directory.drives / f"disk.data{LOG_SUFFIX}").write_text(log(*lines))
    times = read_drive_times(run.directory, context.evidence, run.drives, ("disk", at(4)))
    mean_s, p99_s = ((99 * 1e-3 + 3e-3) / 100, 1e-3) if is_whole else (120e-6 * 1.1, 120e-6 * 3)
    assert times["read"].mean_s == pytest.approx(mean_s, rel=1e-3)
    assert times["read"].p99_s == pytest.approx(p99_s, rel=1e-3)
    assert times["write"].p99_s == pytest.approx(110e-6 * 3.0)


UNKNOWN = dict.fromkeys(column.name for column in SPACE.columns)
ROW = UNKNOWN | {"log_stored_bytes": 0, "redundancy": 2.0}


def _frame(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame([{**ROW, "role": "data", **row} for row in rows], schema=make_schema(SPACE))


def test_all_volumes_of_a_candidate_count_once_loaded_and_their_logs_do_not() -> None:
    """At the end they hold other files; what lacks a part is left out."""
    found = sum_held_bytes(
        _frame(
            {"candidate": "a", "moment": "loaded", "physical_bytes": 42, "log_stored_bytes": 6},
            {"candidate": "a", "moment": "loaded", "role": "temp", "physical_bytes": 12},
            {"candidate": "a", "moment": "loaded", "role": "log", "physical_bytes": 500},
            {"candidate": "b", "moment": "loaded", "physical_bytes": 7},
            {"candidate": "b", "moment": "loaded", "role": "temp"},
            {"candidate": "c", "moment": "loaded", "physical_bytes": 7, "log_stored_bytes": None},
            {"candidate": "a", "moment": "end", "physical_bytes": 99},
        )
    )
    assert found == {"a": 42}


def test_datasets_are_not_added_up() -> None:
    """The first counts; without a database there is only the end."""
    row = {"candidate": "a", "moment": "loaded"}
    both = _frame(
        {**row, "dataset": "w1", "physical_bytes": 1}, {**row, "dataset": "w2", "physical_bytes": 2}
    )
    assert sum_held_bytes(both) == {"a": 1}
    assert sum_held_bytes(_frame({"candidate": "a", "moment": "end", "physical_bytes": 5})) == {
        "a": 5
    }


def test_what_a_database_compresses_is_said() -> None:
    """Of each candidate once; nothing where none does."""
    row: dict[str, object] = {"candidate": "a", "moment": "loaded"}
    assert describe_reduction(_frame(row)) is None
    rows = ({**row, "native_reduction": 1.996}, {**row, "moment": "end", "native_reduction": 1.5})
    assert str(describe_reduction(_frame(*rows))).endswith("for a byte of their files: a 2.00.")
