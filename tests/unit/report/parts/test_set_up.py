"""The set-up of a run in boxes of few words, from the manifest alone."""

from stithy.report.parts.set_up import set_up
from stithy.results.manifest import Fact, Manifest
from support.sample_drives import sample_drive
from support.sample_run import Shape, manifest

GIB = 2**30


def changed(made: Manifest, index: int, **update: object) -> Manifest:
    """The manifest with facts of one candidate replaced."""
    candidates = list(made.candidates)
    candidates[index] = candidates[index].model_copy(update=update)
    return made.model_copy(update={"candidates": tuple(candidates)})


def test_every_candidate_has_its_server_with_memory_and_cpus() -> None:
    """As they were: bound CPUs by number, a limit that was not held said so."""
    made = manifest(Shape(memory_limit_enforced=False))
    bound = made.model_copy(update={"database": made.database.model_copy(update={"cpus": (2, 3)})})
    lanes = set_up(bound).lanes
    assert [lane.candidate for lane in lanes] == ["disk", "memory"]
    assert lanes[0].server.lines == ("postgresql 15.13", "memory 1 GiB NOT ENFORCED", "CPUs 2, 3")
    assert set_up(made).lanes[0].server.lines[2] == "any CPU"
    assert set_up(bound).hammer.lines[-1] == "on the other CPUs"


def test_a_directory_is_told_with_its_file_system_and_the_devices_under_it() -> None:
    """With model and size where the machine tells them."""
    facts = {
        "filesystem_size_bytes": Fact(value=100 * GIB),
        "device.vda.model": Fact(value="Example SSD"),
        "device.vda.size_bytes": Fact(value=200 * GIB),
        "device.md0.model": Fact(value=None, missing_because="it has none"),
    }
    made = changed(manifest(Shape()), 0, environment=facts, devices=("md0", "vda"))
    disk, memory = (lane.parts[0] for lane in set_up(made).lanes)
    assert disk.volume.heading == "data, log, temp, backup"
    assert disk.volume.lines == ("ext4", "rw,relatime")
    assert disk.storage.heading == "/var/tmp/stithy-0"
    assert disk.storage.lines == (
        "file system of 100 GiB", "md0 on vda (Example SSD, 200 GiB)",
    )  # fmt: skip
    assert memory.storage.lines == ("size not known", "its pages are memory")


def test_each_emulated_drive_has_a_volume_and_that_of_the_data_has_the_other_roles() -> None:
    """Named as emulated, with scale and size."""
    data, log = sample_drive(), sample_drive().model_copy(update={"role": "log", "scale": 1.0})
    made = changed(manifest(Shape()), 1, drives=(data, log))
    parts = set_up(made).lanes[1].parts
    assert [part.roles for part in parts] == [("data", "temp", "backup"), ("log",)]
    assert parts[0].storage.heading == "EMULATED sample-ssd at scale 1/8"
    assert parts[0].storage.lines[0] == "2 GiB, in memory"
    assert parts[1].storage.heading == "EMULATED sample-ssd"
    assert all(part.emulated for part in parts)
