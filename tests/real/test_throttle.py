"""A guard of reads and writes by the kernel's own groups, on a loop device."""

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from stithy.hosts.resources import IO, make_group, make_throttle, remove_group
from stithy.hosts.runner import Command, LocalRunner
from stithy.storage.providers.device import DeviceSpec, DeviceStorage
from support.arrays import make_site, provisioned
from support.loops import a_loop

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_drive,
    pytest.mark.skipif(IO.find_problem() is not None, reason=str(IO.find_problem())),
]
RUNNER = LocalRunner()
LIMIT, SIZE = 4 * 2**20, 8 * 2**20


def _read(file: Path, group: Path | None) -> float:
    """How long it takes to read it, seconds."""
    began_s = time.monotonic()
    words = ["dd", f"if={file}", "of=/dev/null", "bs=1M", "iflag=direct"]
    assert RUNNER.run(Command(words, cgroups=(group,) if group else ())).code == 0
    return time.monotonic() - began_s


def test_only_the_group_reads_slowly(place: Path) -> None:
    """8 MiB at 4 MiB a second; and a server that runs already is brought in with its children."""
    groups: list[Path] = []
    with a_loop(place, "disk") as device, ExitStack() as stack:
        spec = DeviceSpec.model_validate({"device": device, "filesystem": "ext4"})
        disk = DeviceStorage(spec, "disk", make_site(place))
        volume, _ = stack.enter_context(provisioned(disk))
        try:
            file = volume.path / "file"
            file.write_bytes(bytes(SIZE))
            name = f"stithy-test-{device.name}"
            # Version 2 has no other group than that of the memory.
            limit = make_group(f"{name}-m", 2**28, runner=RUNNER, record=groups.append)
            own = limit.group.path if limit.group else None
            throttle = make_throttle(name, volume.path, LIMIT, own, groups.append)
            # Nothing makes a guarded read quicker; whatever else uses the disk makes any slower.
            assert any(_read(file, None) < 1.5 for _ in range(5))
            assert 1.5 < _read(file, throttle.path) < 60.0
            shell = RUNNER.start(Command(["sh", "-c", "sleep 60; :"], detached=True))
            throttle.hold(shell.pid)
            members = (throttle.path / "cgroup.procs").read_text().split()
            assert str(shell.pid) in members
            for pid in members:
                os.kill(int(pid), signal.SIGKILL)
            shell.wait(10)
        finally:
            for group in groups:
                remove_group(group)
