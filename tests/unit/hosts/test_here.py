"""This machine answers what needs and checks ask, and is as it was before."""

import os
from pathlib import Path

from stithy.hosts.here import LocalMachine


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
