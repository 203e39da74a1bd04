"""A cap on CPU time by the kernel's own groups, on a process that wants all of it."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from stithy.hosts.processes import find_descendants
from stithy.hosts.resources import CPU, make_cap, make_group, remove_group
from stithy.hosts.runner import Command, LocalRunner

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.skipif(CPU.find_problem() is not None, reason=str(CPU.find_problem())),
]
RUNNER = LocalRunner()
SHARE, WALL_S = 0.2, 2


def test_a_group_gets_its_share_only() -> None:
    """A loop that never waits; on a busy machine it may get less.

    Who is brought into it comes with all that it has started, as a server does.
    """
    groups: list[Path] = []
    name = f"stithy-test-{os.getpid()}"
    try:
        # Version 2 has no other group than that of the memory.
        limit = make_group(f"{name}-m", 2**28, runner=RUNNER, record=groups.append)
        own = limit.group.path if limit.group else None
        cap = make_cap(name, SHARE, own, groups.append)
        before, began_s = os.times(), time.monotonic()
        loop = ["timeout", str(WALL_S), "sh", "-c", "while :; do :; done"]
        assert RUNNER.run(Command(loop, cgroups=(cap.path,))).code == 124
        took_s = os.times().children_user - before.children_user
        assert 0 < took_s < 1.25 * SHARE * (time.monotonic() - began_s)
        with subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True) as parent:
            while not (children := find_descendants(parent.pid)):
                assert time.monotonic() - began_s < 60
            cap.hold(parent.pid)
            held = [Path(f"/proc/{pid}/cgroup").read_text() for pid in (parent.pid, *children)]
            os.killpg(parent.pid, signal.SIGKILL)
        assert [each for each in held if cap.path.name not in each] == []
    finally:
        for group in groups:
            remove_group(group)
