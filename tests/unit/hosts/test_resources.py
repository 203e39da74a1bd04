"""Memory limit and CPUs of a server: they hold, or the reason why they cannot is given."""

import os
from pathlib import Path

import pytest

from stithy.errors import PreconditionError
from stithy.hosts.resources import (
    V1,
    V2,
    MemoryGroup,
    make_group,
    other_cpus,
    parents,
    remove_group,
    server_cpus,
)
from stithy.hosts.runner import Command, LocalRunner

LIMIT = 64 * 2**20


def fake_proc(root: Path, mountinfo: str, cgroup: str) -> Path:
    """A /proc with these two files."""
    own = root / "proc/self"
    own.mkdir(parents=True)
    (own / "mountinfo").write_text(mountinfo)
    (own / "cgroup").write_text(cgroup)
    return root / "proc"


def test_version_1_groups_are_made_below_the_own_one(tmp_path: Path) -> None:
    """Limits put on Stithy itself still hold for what it starts."""
    (tmp_path / "memory/jobs/7").mkdir(parents=True)
    proc = fake_proc(
        tmp_path,
        f"30 23 0:26 / {tmp_path}/memory rw - cgroup cgroup rw,memory\n"
        f"31 23 0:27 / {tmp_path}/cpu rw - cgroup cgroup rw,cpu\n",
        "4:memory:/jobs/7\n1:cpu:/\n0::/\n",
    )
    assert list(parents(proc)) == [(tmp_path / "memory/jobs/7", V1)]


def test_in_a_container_the_mount_itself_is_the_parent(tmp_path: Path) -> None:
    """A group named in /proc that the mount does not show cannot be used."""
    (tmp_path / "memory").mkdir()
    proc = fake_proc(
        tmp_path,
        f"30 23 0:26 /docker/1 {tmp_path}/memory rw - cgroup cgroup rw,memory\n",
        "4:memory:/docker/1\n",
    )
    assert list(parents(proc)) == [(tmp_path / "memory", V1)]


def test_version_2_groups_are_made_where_the_controller_is_handed_on(tmp_path: Path) -> None:
    """The nearest such group comes first."""
    own = tmp_path / "cg/user/app/shell"
    own.mkdir(parents=True)
    for group, handed in ((own, ""), (own.parent, "memory pids"), (own.parents[1], "memory")):
        (group / "cgroup.subtree_control").write_text(handed)
    (tmp_path / "cg/cgroup.subtree_control").write_text("pids")
    proc = fake_proc(
        tmp_path,
        f"30 23 0:26 / {tmp_path}/cg rw - cgroup2 cgroup2 rw,nsdelegate\n",
        "0::/user/app/shell\n",
    )
    assert list(parents(proc)) == [(tmp_path / "cg/user/app", V2), (tmp_path / "cg/user", V2)]


def test_without_any_cgroup_the_reason_is_told(tmp_path: Path) -> None:
    """A machine without memory groups gives no error but a note."""
    proc = fake_proc(tmp_path, "", "")
    limit = make_group("g", LIMIT, runner=LocalRunner(), record=print, proc=proc)
    assert limit.group is None
    assert limit.note == (
        "the memory limit of 64 MiB was not enforced: this kernel has no memory cgroup mounted"
    )


def test_a_group_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    """The path is told before, the reason after, and nothing is left."""
    proc = fake_proc(
        tmp_path,
        f"30 23 0:26 / {tmp_path}/memory rw - cgroup cgroup rw,memory\n",
        "4:memory:/\n",
    )
    recorded: list[Path] = []
    limit = make_group("g", LIMIT, runner=LocalRunner(), record=recorded.append, proc=proc)
    assert recorded == [tmp_path / "memory/g"]
    assert limit.group is None
    assert limit.note is not None
    assert limit.note.endswith(
        f"no memory group can be made in {tmp_path}/memory (no such file or directory)"
    )


def test_kills_for_want_of_memory_are_read(tmp_path: Path) -> None:
    """Both versions have them, in files of their own."""
    (tmp_path / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 3\n")
    assert MemoryGroup(tmp_path, V1, LIMIT).killed() == 2
    assert MemoryGroup(tmp_path, V2, LIMIT).killed() == 3
    assert MemoryGroup(tmp_path / "none", V2, LIMIT).killed() is None


@pytest.mark.needs_cgroup
def test_a_limit_holds_for_a_program_and_its_page_cache(disk_place: Path) -> None:
    """Writing four times the limit never uses more than the limit, where a disk takes the pages."""
    runner = LocalRunner()
    limit = make_group("stithy-test-holds", LIMIT, runner=runner, record=lambda _: None)
    group = limit.group
    assert group is not None
    try:
        big = disk_place / "big"
        words = ["dd", "if=/dev/zero", f"of={big}", "bs=1M", "count=256"]
        assert runner.run(Command(words, memory_cgroup=group.path)).code == 0
        peak = group.peak_bytes()
        assert peak is None or LIMIT // 2 < peak <= LIMIT
        big.unlink()
    finally:
        remove_group(group.path)
    assert not group.path.exists()
    remove_group(group.path)


def test_a_limit_that_no_longer_holds_is_told(tmp_path: Path) -> None:
    """Changed, left by its process, or gone; a process that ended has left nothing."""
    group = MemoryGroup(tmp_path / "group", V2, LIMIT)
    group.path.mkdir()
    limit, members = group.path / "memory.max", group.path / "cgroup.procs"
    limit.write_text(f"{LIMIT}\n")
    members.write_text(f"1\n{os.getpid()}\n")
    assert group.lost(os.getpid()) is None
    limit.write_text("max\n")
    assert group.lost(os.getpid()) == "the limit of its memory group was changed to max"
    limit.write_text(f"{LIMIT - 4096}\n")
    members.write_text("1\n")
    assert group.lost(os.getpid()) == "the server left its memory group"
    assert group.lost(2**22 + 1) is None
    limit.unlink()
    assert "cannot be read any more" in str(group.lost(os.getpid()))


FOUR = frozenset({0, 2, 5, 7})


def test_without_emulated_drives_a_server_may_use_any_cpu() -> None:
    """A real drive needs none of the host's."""
    assert server_cpus(None, emulated=False, usable=FOUR) is None


def test_beside_emulated_drives_a_quarter_of_the_cpus_is_left_over() -> None:
    """The first ones, which serve most interrupts; a machine with one has none to leave over."""
    assert server_cpus(None, emulated=True, usable=FOUR) == (2, 5, 7)
    assert server_cpus(None, emulated=True, usable=frozenset({0, 1})) == (1,)
    assert server_cpus(None, emulated=True, usable=frozenset(range(16))) == tuple(range(4, 16))
    assert server_cpus(None, emulated=True, usable=frozenset({3})) is None


def test_what_is_not_the_server_gets_the_other_cpus() -> None:
    """Drives and driver take no cycle of the server's; where nothing is left they share."""
    assert other_cpus((5, 7), FOUR) == (0, 2)
    assert other_cpus((0, 2, 5, 7), FOUR) is None
    assert other_cpus(None, FOUR) is None


@pytest.mark.parametrize("emulated", [False, True])
def test_a_study_may_say_how_many(emulated: bool) -> None:
    """Then it is as many, whatever the drives are."""
    assert server_cpus(2, emulated=emulated, usable=FOUR) == (5, 7)


def test_more_cpus_than_there_are_are_refused() -> None:
    """Nothing that is not there can be measured."""
    with pytest.raises(PreconditionError, match="5 CPUs, and this process may use 4"):
        server_cpus(5, emulated=False, usable=FOUR)
