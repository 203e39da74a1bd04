"""Processes are started with what their caller says, recognised for good, and limited."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

from stithy.errors import InfrastructureError, Interrupted, PreconditionError
from stithy.hosts import processes, resources
from stithy.hosts.resources import V1, V2, MemoryGroup
from stithy.hosts.runner import Command, LocalRunner
from stithy.run.session import make_interrupted

LIMIT = 64 * 2**20


def test_a_process_gets_input_and_cpus_and_nothing_of_libpq(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A person's shell must not change a study; who does not start or end is named."""
    monkeypatch.setenv("PGOPTIONS", "-c fsync=off")
    words = ["sh", "-c", "cat; echo $STITHY_RUN $PGOPTIONS $(nproc) >&2; exit 3"]
    done = LocalRunner({"STITHY_RUN": "r1"}).run(Command(words, cpus=(0,)), stdin="hello\n")
    assert (done.code, done.stdout, done.stderr) == (3, "hello\n", "r1 1\n")
    with pytest.raises(InfrastructureError, match=r"sleep: it did not end within 0\.05 s"):
        LocalRunner().run(Command(["sleep", "60"]), timeout_s=0.05)
    with pytest.raises(PreconditionError, match="/nowhere/at-all: cannot be started"):
        LocalRunner().run(Command(["/nowhere/at-all"]))


def test_a_person_who_stops_does_not_wait_for_a_process() -> None:
    """A second Ctrl-C in the hours of a resync: the process is ended, and the error goes on."""

    def stop(_: int, __: FrameType | None) -> None:
        raise make_interrupted()

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    begun_s = time.monotonic()
    try:
        with pytest.raises(Interrupted):
            LocalRunner().run(Command(["sleep", "20"]))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begun_s < 10


def test_a_process_is_recognised_for_good_whatever_its_name_is(tmp_path: Path) -> None:
    """The same id with another start is another process; its file may have been replaced."""
    own = processes.get_identity()
    assert processes.parse_identity(own.list_facts()) == own
    others = (own, replace(own, start_ticks=1), replace(own, boot_id="another"))
    assert [processes.is_alive(other) for other in others] == [True, False, False]
    assert processes.read_identity(2**22 + 1) is None
    program = tmp_path / os.fsdecode(b"a) (\xff")
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    with (tmp_path / "file").open("w") as file:
        odd = subprocess.Popen([program, "60"], cwd=tmp_path)
        holding = subprocess.Popen(["sleep", "60"], cwd="/", stdout=file)
        try:
            found = processes.read_identity(odd.pid)
            assert found is not None
            assert processes.is_alive(found)
            program.unlink()
            assert processes.find_pids_inside(tmp_path, program.name) == [odd.pid]
            assert processes.find_pids_inside(tmp_path, "postgres") == []
            users = {user.pid for user in processes.find_users(tmp_path)}
        finally:
            for each in (odd, holding):
                each.kill()
                each.wait()
    assert users == {odd.pid, holding.pid}


def test_a_process_ends_with_its_last_thread() -> None:
    """A zombie whose other threads go on has its files open still."""
    ends = (
        "import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
    )
    words = [sys.executable, "-c", f"{ends}ctypes.CDLL(None).pthread_exit(None)"]
    with subprocess.Popen(words) as process:
        proc = Path("/proc", str(process.pid))
        while (stat := processes.read_stat(proc)) is None or stat.fields[0] != "Z":
            time.sleep(0.02)
        assert processes.read_identity(process.pid) is not None
        processes.end([process.pid], signal.SIGKILL)
        assert processes.read_identity(process.pid) is None


def test_memory_groups_are_made_below_what_limits_stithy_itself(tmp_path: Path) -> None:
    """The nearest comes first; where none can be made there is a note, and nothing is left."""
    for path, handed in (
        ("memory/jobs/7", ""), ("cg/user/app/sh", ""), ("cg/user/app", "memory pids"),
        ("cg/user", "memory"), ("cg", "pids"), ("proc/self", ""),
    ):  # fmt: skip
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "cgroup.subtree_control").write_text(handed)
    proc = tmp_path / "proc"
    for mount, group, expected in (
        ("/ {0}/memory rw - cgroup cgroup rw,memory", "4:memory:/jobs/7", [("memory/jobs/7", V1)]),
        ("/a {0}/memory rw - cgroup cgroup rw,memory", "4:memory:/a", [("memory", V1)]),
        ("/ {0}/cg rw - cgroup2 cgroup2 rw", "0::/user/app/sh",
         [("cg/user/app", V2), ("cg/user", V2)]),
        ("/ {0}/cpu rw - cgroup cgroup rw,cpu", "1:cpu:/", []),
    ):  # fmt: skip
        (proc / "self/mountinfo").write_text(f"30 23 0:26 {mount.format(tmp_path)}\n")
        (proc / "self/cgroup").write_text(f"{group}\n")
        found = [
            (str(path.relative_to(tmp_path)), way) for path, way in resources.list_parents(proc)
        ]
        assert found == expected
    limit = resources.make_group("g", LIMIT, runner=LocalRunner(), record=print, proc=proc)
    shown = "64 MiB was not enforced: this kernel has no memory cgroup mounted"
    assert (limit.group, shown in str(limit.note)) == (None, True)


@pytest.mark.needs_cgroup
def test_a_limit_holds_for_a_program_and_its_page_cache(disk_place: Path) -> None:
    """Its program is killed above it, and four times as many pages never use more, until lifted."""
    runner, recorded = LocalRunner(), list[Path]()
    group = resources.make_group("stithy-test", LIMIT, runner=runner, record=recorded.append).group
    assert group is not None
    try:
        words = ["dd", "if=/dev/zero", f"of={disk_place / 'big'}", "bs=1M", "count=256"]
        assert runner.run(Command(words, memory_cgroup=group.path)).code == 0
        peak = group.read_peak_bytes()
        assert peak is None or LIMIT // 2 < peak <= LIMIT
        (disk_place / "big").unlink()
        greedy = Command([sys.executable, "-c", f"b'x' * {2 * LIMIT}"], memory_cgroup=group.path)
        assert (runner.run(greedy).code != 0, (group.count_killed() or 0) > 0) == (True, True)
        group.lift()
        assert runner.run(greedy).code == 0
    finally:
        resources.remove_group(group.path)
    assert (recorded, group.path.exists()) == ([group.path], False)


def test_a_limit_that_no_longer_holds_and_its_kills_are_told(tmp_path: Path) -> None:
    """Changed, left by its process, or gone; a process that ended has left nothing."""
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 3\n")
    assert [MemoryGroup(tmp_path, way, LIMIT).count_killed() for way in (V1, V2)] == [2, 3]
    group, own = MemoryGroup(tmp_path, V2, LIMIT), os.getpid()
    for limit, members, shown in (
        (f"{LIMIT}\n", f"1\n{own}\n", None),
        ("max\n", f"1\n{own}\n", "the limit of its memory group was changed to max"),
        (f"{LIMIT - 4096}\n", "1\n", "the server left its memory group"),
    ):
        (tmp_path / "memory.max").write_text(limit)
        (tmp_path / "cgroup.procs").write_text(members)
        assert group.explain_lost(own) == shown
    assert group.explain_lost(2**22 + 1) is None
    (tmp_path / "memory.max").unlink()
    assert "cannot be read any more" in str(group.explain_lost(own))


def test_beside_emulated_drives_a_quarter_of_the_cpus_is_left_over() -> None:
    """Unless a study says how many; whatever is not the server gets the others, if any."""
    four = frozenset({0, 2, 5, 7})
    for wanted, emulated, usable, expected in (
        (None, False, four, None),
        (None, True, four, (2, 5, 7)),
        (None, True, frozenset({0, 1}), (1,)),
        (None, True, frozenset(range(16)), tuple(range(4, 16))),
        (None, True, frozenset({3}), None),
        (2, False, four, (5, 7)),
        (2, True, four, (5, 7)),
    ):
        found = resources.choose_server_cpus(wanted, usable, emulated=emulated)
        left = tuple(sorted(usable - set(expected or usable)))
        assert (found, resources.list_other_cpus(found, usable)) == (expected, left or None)
    with pytest.raises(PreconditionError, match="20 CPUs, and this process may use"):
        resources.choose_server_cpus(20, four, emulated=True)


def test_descendants_are_children_and_theirs() -> None:
    """A shell that waits for another, which waits for a sleep; they are ended with it."""
    with subprocess.Popen(["/bin/sh", "-c", "sh -c 'sleep 60; :'; :"]) as shell:
        try:
            until = time.monotonic() + 10
            while (
                len(found := processes.find_descendants(shell.pid)) < 2 and time.monotonic() < until
            ):
                time.sleep(0.01)
            assert len(found) == 2
        finally:
            processes.end_tree(shell.pid, signal.SIGTERM)
        assert not any(map(processes.read_identity, found))
