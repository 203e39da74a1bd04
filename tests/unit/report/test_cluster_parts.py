"""The table of OSDs, hosts and pools: means of valid windows at the point of the answer."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from stithy.registry import plugins
from stithy.report.blocks import SectionKind
from stithy.report.page import Page
from support.drawn import context_built
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
