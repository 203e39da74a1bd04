"""Studies of published tests of storage keep what was published, and say what they scale."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import papers
from stithy.fio.profile import Pattern
from stithy.scenarios.block_io.plan import PLUGINS, find_spec
from stithy.study.load import read_study

KIB = 1024


@pytest.fixture(scope="module")
def published(root: Path) -> dict[str, Any]:
    """What was published, and which point of which study stands for it."""
    return tomllib.loads((root / "studies/papers/block.toml").read_text())


@pytest.fixture(scope="module")
def experiments(published: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each by its name."""
    return {each["id"]: each for each in published["experiment"]}


def test_every_experiment_has_a_point(
    root: Path, published: dict[str, Any], experiments: dict[str, Any], monkeypatch: Any
) -> None:
    """45 of them; the candidates of a point are those of its study, in order."""
    monkeypatch.chdir(root)
    points = published["point"]
    named = {name for each in points for name in each["experiments"].values()}
    assert (len(experiments), named) == (45, set(experiments))
    studies = {path.name for path in root.glob("studies/papers/block-*.yaml")}
    assert {each["study"] for each in points} == studies
    for name in studies:
        study = read_study(root / "studies/papers" / name).study
        mine = [each for each in points if each["study"] == name]
        asked = [each["at"]["profile"] for each in mine]
        assert sorted(asked) == sorted(PLUGINS[0].list_factors(find_spec(study), None)["profile"])
        assert all(list(each["experiments"]) == list(study.candidates) for each in mine)


def pattern_of(root: Path, point: dict[str, Any]) -> tuple[Pattern, int]:
    """What runs at a point, and by how many workers on all volumes."""
    spec = find_spec(read_study(root / "studies/papers" / point["study"]).study)
    profile = spec.profile_of(point["at"]["profile"])
    return profile.patterns[0], profile.workers * len(spec.volumes)


def test_patterns_are_as_published(
    root: Path, published: dict[str, Any], experiments: dict[str, Any], monkeypatch: Any
) -> None:
    """Of every parameter that was stated as a number."""
    monkeypatch.chdir(root)
    checked = 0
    for point in published["point"]:
        pattern, workers = pattern_of(root, point)
        stream = pattern.streams[0]
        for name in point["experiments"].values():
            asked = experiments[name]["parameters"]
            if "block_size_kib" in asked:
                size = asked["block_size_kib"] * KIB
                assert set(stream.read_sizes) | set(stream.write_sizes) == {size}, name
                reads = asked["read_percent"]
                reads = reads if isinstance(reads, list) else [reads]
                assert round(100 * stream.read_share) in reads, name
                checked += 1
            if "vms" in asked:
                assert (workers, stream.jobs, stream.iodepth) == (
                    asked["vms"], asked["threads"], asked["queue_depth"],
                )  # fmt: skip
            elif "threads" in asked:
                assert stream.outstanding == asked["threads"], name
            elif "queue_depth" in asked:
                assert stream.outstanding == asked["queue_depth"], name
            if (mix := asked.get("mix_as_named", "")) and "oracle" not in name:
                assert mix.startswith(f"{100 * stream.read_share:.0f}-"), name
    assert checked == 22


def test_published_ratios_are_of_the_first(
    published: dict[str, Any],
) -> None:
    """By rates and by latencies, of damaged numbers by the probable ones."""
    rows = papers.published(published)
    found = {(each.at["profile"], each.metric): each.ratio for each in rows}
    assert found["hcibench-70-30/4k", "fio.iops"] == pytest.approx(355 / 178)
    assert found["hcibench-70-30/64k", "fio.mean_s"] == pytest.approx(6.4 / 2.1)
    assert found["four-corners/random-write-4k", "fio.iops"] == pytest.approx(202_081 / 183_947)
    corner = "four-corners/sequential-write-64k"
    assert found[corner, "fio.mean_s"] == pytest.approx(0.623 / 5.58)
    assert found["single-drive-256k/read", "fio.bytes_per_s"] == 6.5
    assert len(found) == 44
