"""This machine answers what needs and checks ask, tells its facts, and is as it was before."""

import os
from pathlib import Path

from stithy.hosts.facts import machine_facts, storage_facts
from stithy.hosts.here import LocalMachine


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
    assert facts["clock_source"].missing_because == "the kernel does not report it here"
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


def test_this_machine_answers_every_question() -> None:
    """Each answer is of the kind that needs and checks expect."""
    machine = LocalMachine()
    assert machine.is_root is (os.geteuid() == 0)
    assert machine.fact("kernel").value
    assert machine.text("/proc/meminfo")
    assert machine.text("/nowhere") is None
    assert "meminfo" in machine.names("/proc")
    assert machine.names("/nowhere") == ()
    assert isinstance(machine.memory_limit_problem(), str | None)
    assert isinstance(machine.io_uring_problem(), str | None)
    assert isinstance(machine.clock_is_synchronised(), bool | None)


def test_a_device_that_does_not_open_says_why() -> None:
    """One that is not there, and one that does open."""
    machine = LocalMachine()
    assert machine.closed("/dev/null") is None
    assert machine.closed("/dev/nothing-of-this-name") == "it is not there"
    assert machine.closed("/") == "it cannot be opened (is a directory)"


def test_a_program_tells_what_it_is_asked() -> None:
    """One that cannot be started tells nothing."""
    machine = LocalMachine()
    shell = machine.program("sh")
    assert shell is not None
    assert machine.told(shell, "-c", "echo out; echo err >&2") == "out\nerr\n"
    assert machine.program("nothing-of-this-name") is None
    assert machine.told("/nowhere/nothing") == ""


def test_no_memory_group_is_made_to_find_out() -> None:
    """The groups of this machine are the same before and after."""
    root = Path("/sys/fs/cgroup")
    before = sorted(root.glob("*/*"))
    LocalMachine().memory_limit_problem()
    assert sorted(root.glob("*/*")) == before
