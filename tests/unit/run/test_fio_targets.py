"""Which files and parts of devices block I/O uses of a candidate's volumes."""

import shutil
from dataclasses import replace
from pathlib import Path

from stithy.fio.load import FioTarget
from stithy.run.context import Context
from stithy.scenarios.block_io.targets import list_all_targets, list_targets, list_working_sets
from stithy.units import format_size
from support.faked_run import FakedRun

MIB = 2**20
LARGEST_BYTES = 4150 * 4096  # of 16600.5 KiB
TEXT = (
    "study: x?\ncandidates: {a: {path: '{root}/a'}, b: {path: '{root}/b'}}\n"
    "scenario: {block-io: {profiles: [sql], size: 16 MiB, volumes: [data, data, log]}}\n"
    "vary: {scenario.block-io.size: [16 MiB, 16600.5 KiB]}\n"
)


def volumes(tmp_path: Path) -> Context:
    """A run of two candidates: `a` has a file system, `b` two block devices."""
    context = FakedRun(tmp_path, text=TEXT).start()
    made = context.volumes.provision("a")
    log = replace(made, raw=True, path=Path("/dev/log"))
    context.volumes.made["b"] = replace(made, raw=True, path=Path("/dev/data"), others={"log": log})
    return context


def test_each_volume_has_a_file_in_a_directory_of_its_role(tmp_path: Path, own_state: Path) -> None:
    """Two of one role have two names."""
    found = list_targets(volumes(tmp_path), "a", ["data", "data", "log"], 16 * MIB)
    names = [str(Path(each.path).relative_to(tmp_path)) for each in found]
    assert names == ["a/data/target", "a/data/target-2", "a/log/target"]
    assert {(each.begin_bytes, each.size_bytes) for each in found} == {(0, 16 * MIB)}


def test_volumes_on_one_block_device_are_parts_that_do_not_overlap(
    tmp_path: Path, own_state: Path
) -> None:
    """A smaller window reads what was written: its parts begin where those of the largest do."""
    context = volumes(tmp_path)
    assert list_all_targets(context, "b") == (
        FioTarget("/dev/data", LARGEST_BYTES, 0),
        FioTarget("/dev/data", LARGEST_BYTES, LARGEST_BYTES),
        FioTarget("/dev/log", LARGEST_BYTES, 0),
    )
    assert list_targets(context, "b", ["data", "data"], 16 * MIB)[1].begin_bytes == LARGEST_BYTES


def test_a_profile_with_a_rule_says_how_much_of_a_volume_it_would_use(
    tmp_path: Path, own_state: Path
) -> None:
    """A third of the capacity and at most 80 % of what is free; a block device has no such room."""
    text = TEXT.replace("[sql]", "[sql, hcibench-easy-run/random-read-4k]")
    context = FakedRun(tmp_path, text=text).start()
    made = context.volumes.provision("a")
    place = shutil.disk_usage(made.path)
    size = int(min(0.3333 * place.total, 0.8 * place.free)) // MIB * MIB
    said = list_working_sets(context, "a")
    assert said.startswith("; by its rule hcibench-easy-run uses ")
    # Others write to the same file system meanwhile.
    assert format_size(size)[:2] in said
    context.volumes.made["b"] = replace(made, raw=True)
    assert list_working_sets(context, "b") == ""
