"""A host has all that a run takes from a machine; a namespace is one, but for its network."""

import os
from pathlib import Path

from fakes.program import AnsweringRunner, EndingRunner
from stithy.collectors.collector import Collector
from stithy.hosts.host import Host, LocalHost, NamespaceHost
from stithy.hosts.runner import Command
from stithy.registry import plugins

INSIDE = ["nsenter", "--net=/run/netns/h1", "--"]


def test_this_machine_is_a_host_whose_parts_know_each_other() -> None:
    """Programs are asked through its runner; facts are read once; all collectors can sample it."""
    runner = EndingRunner(stdout="fio-3.33\n")
    here: Host = LocalHost(runner)
    assert (here.name, here.says("/usr/bin/fio", "--version")) == ("this machine", "fio-3.33\n")
    assert runner.asked == [["/usr/bin/fio", "--version"]]
    assert here.facts is here.facts
    assert here.facts["kernel"].value == os.uname().release
    assert here.cpus == os.sched_getaffinity(0)
    assert here.collectors == plugins(Collector)


def test_a_namespace_is_entered_before_the_user_is_changed() -> None:
    """Only root may enter. Where a program works, and with which variables, stays as it was."""
    runner = EndingRunner(code=3)
    host: Host = NamespaceHost("h1", runner)
    command = Command(["id", "-u"], "nobody", Path("/cg"), {"A": "b"}, Path("/tmp"), cpus=(0, 2))
    assert host.runner.run(command, stdin="x").code == 3
    [asked] = runner.asked
    assert list(asked[:3]) == INSIDE
    assert asked.index("/cg/cgroup.procs") < asked.index("taskset") < asked.index("setpriv")
    assert (list(asked[-2:]), runner.inputs) == (["id", "-u"], ["x"])
    assert host.says("/bin/p", "-V") == ""
    assert list(runner.asked[-1]) == [*INSIDE, "/bin/p", "-V"]


def test_what_goes_on_in_a_namespace_is_started_as_it_was_asked_for() -> None:
    """The outer runner gets one command that has nothing left for it to wrap."""
    runner = AnsweringRunner([])
    command = Command(["sleep", "9"], environment={"A": "b"}, directory=Path("/tmp"), detached=True)
    NamespaceHost("h1", runner).runner.start(command)
    [started] = runner.commands
    assert list(started.argv) == [*INSIDE, "sleep", "9"]
    assert (started.user, started.memory_cgroup, started.cpus) == (None, None, None)
    assert (started.environment, started.directory, started.detached) == (
        {"A": "b"}, Path("/tmp"), True,
    )  # fmt: skip


def test_what_sees_only_the_network_of_stithy_does_not_sample_a_namespace() -> None:
    """All else is of the machine that both share."""
    here, there = LocalHost(), NamespaceHost("h1")
    assert here.collectors.keys() - there.collectors.keys() == {"network"}
    assert (there.name, there.facts["kernel"]) == ("h1", here.facts["kernel"])
