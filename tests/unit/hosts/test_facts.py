"""The fingerprint of a machine and of its storage."""

from pathlib import Path

from stithy.hosts.facts import machine_facts, storage_facts


def test_every_fact_of_this_machine_has_a_value_or_a_reason() -> None:
    """None is ever without the other."""
    facts = {**machine_facts(), **storage_facts(Path("/"))}
    for name, fact in facts.items():
        assert (fact.value is None) == (fact.missing_because is not None), name
    assert isinstance(facts["memory_bytes"].value, int)
    assert isinstance(facts["cpus"].value, int)
    assert facts["kernel"].value


def test_a_machine_that_tells_nothing_gives_reasons(tmp_path: Path) -> None:
    """No file of /proc or /sys is taken for granted."""
    facts = machine_facts(tmp_path, tmp_path)
    assert facts["cpu_model"].missing_because
    assert facts["clock_source"].missing_because == "the kernel does not tell it here"
    assert facts["memory_bytes"].missing_because


def test_arguments_of_the_kernel_that_say_nothing_of_speed_are_left_out(tmp_path: Path) -> None:
    """They could hold what is nobody's business."""
    (tmp_path / "cmdline").write_text("root=/dev/x token=hush mitigations=off nvme.poll_queues=2\n")
    fact = machine_facts(tmp_path, tmp_path)["kernel_arguments"]
    assert fact.value == "mitigations=off nvme.poll_queues=2"


def test_the_devices_of_a_directory_are_told_or_why_there_are_none(tmp_path: Path) -> None:
    """A directory in memory lies on no device."""
    (tmp_path / "self").mkdir()
    mount = f"1 0 0:5 / {Path('/')} rw - tmpfs tmpfs rw\n"
    (tmp_path / "self" / "mountinfo").write_text(mount)
    facts = storage_facts(Path("/"), tmp_path, tmp_path)
    assert facts["devices"].value is None
    assert facts["devices"].missing_because == "tmpfs lies on no block device"
