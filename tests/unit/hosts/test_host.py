"""A host has all that a run takes from a machine; namespaces, and guards of reads and writes."""

import os
from pathlib import Path

import pytest

from fakes.program import AnsweringRunner, EndingRunner
from stithy.collectors.collector import Collector
from stithy.errors import PreconditionError
from stithy.hosts.host import Host, LocalHost, NamespaceHost
from stithy.hosts.resources import IO, join_io_group, make_throttle
from stithy.hosts.runner import Command
from stithy.registry import plugins
from support.kernel import Kernel

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


def _machine(root: Path, *, blkio: bool = True) -> tuple[Path, Path, Path]:
    """Made-up /proc and /sys with a disk `vda` under all of `root`; and the group's parent."""
    kernel, groups = Kernel(root), root / "groups"
    kernel.add_device("vda", "254:0")
    kernel.add_device("vda1", "254:1", parent="vda")
    kernel.mount("/", "254:1", "ext4", "/dev/vda1")
    if blkio:
        kernel.mount(groups, "0:35", "cgroup", "cgroup", "rw,blkio")
        (groups / "blkio.throttle.read_bps_device").touch()
    (kernel.proc / "self/cgroup").write_text("7:blkio:/\n" if blkio else "")
    return kernel.proc, kernel.sys, groups


def test_the_whole_disk_under_the_place_is_limited_in_a_group_of_its_own(tmp_path: Path) -> None:
    """A partition has no queue of its own; and the group is in the books before it is made."""
    proc, sys, groups = _machine(tmp_path)
    recorded: list[bool] = []
    made = make_throttle(
        "own", tmp_path, 1000, None, lambda path: recorded.append(path.exists()),
        proc=proc, sys=sys,
    )  # fmt: skip
    assert made.path == groups / "own"
    assert recorded == [False]
    assert (made.path / "blkio.throttle.read_bps_device").read_text() == "254:0 1000"
    assert (made.path / "blkio.throttle.write_bps_device").read_text() == "254:0 1000"
    assert IO.find_problem(proc) is None


@pytest.mark.parametrize(("own", "joins"), [("7:blkio:/", True), ("7:blkio:/own", False),
                                            ("7:memory:/", False)])  # fmt: skip
def test_only_the_root_group_for_io_is_left(own: str, joins: bool, tmp_path: Path) -> None:
    """The new one is in the books before it is made; others cost reads nothing."""
    proc, _, groups = _machine(tmp_path)
    (proc / "self/cgroup").write_text(f"{own}\n")
    recorded: list[bool] = []
    join_io_group("new", lambda path: recorded.append(path.exists()), proc=proc)
    assert recorded == [False] * joins
    members = groups / "new/cgroup.procs"
    assert (members.read_text() if joins else members.exists()) == (
        str(os.getpid()) if joins else False
    )


def test_in_version_2_the_memory_group_of_the_server_is_limited(tmp_path: Path) -> None:
    """There a process is in one group only. Without a controller the reason is said."""
    proc, sys, _ = _machine(tmp_path, blkio=False)
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "io.max").touch()
    made = make_throttle("own", tmp_path, 1000, memory, lambda path: None, proc=proc, sys=sys)
    assert made.path == memory
    assert (memory / "io.max").read_text() == "254:0 rbps=1000 wbps=1000"
    assert "`io` or `blkio`" in (IO.find_problem(proc) or "")
    with pytest.raises(PreconditionError, match="cannot be limited"):
        make_throttle("own", tmp_path, 1000, None, lambda path: None, proc=proc, sys=sys)


def test_what_lies_on_no_disk_cannot_be_limited(tmp_path: Path) -> None:
    """Memory, for example."""
    proc, sys, _ = _machine(tmp_path)
    (proc / "self/mountinfo").write_text("21 1 0:40 / / rw - tmpfs tmpfs rw\n")
    with pytest.raises(PreconditionError, match="no disk"):
        make_throttle("own", tmp_path, 1000, None, lambda path: None, proc=proc, sys=sys)
