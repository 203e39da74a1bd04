"""Processes are recognised for good, and ended by what they are, not by their number."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.hosts.processes import (
    end,
    identity_from,
    identity_of,
    is_alive,
    own_identity,
    pids_inside,
    pids_of_run,
    users_of,
)
from stithy.hosts.runner import Command, LocalRunner, Running

RUN = f"r-test-{os.getpid()}x"
"""The tests may run twice at once on one machine."""


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Running]:
    """A process of run `RUN`, working in `tmp_path`."""
    runner = LocalRunner({"STITHY_RUN": RUN})
    running = runner.start(Command(["sleep", "60"], directory=tmp_path, detached=True))
    # On a busy machine the kernel shows the environment a moment after the program has begun.
    while not Path(f"/proc/{running.pid}/environ").read_bytes():
        time.sleep(0.01)
    yield running
    if running.poll() is None:
        running.send_signal(signal.SIGKILL)
    running.wait()


def test_an_identity_survives_being_written_down() -> None:
    """What a journal holds gives the same identity back."""
    assert identity_from(own_identity().facts()) == own_identity()


def test_a_process_id_used_again_is_another_process() -> None:
    """Same id, other start: not alive."""
    assert is_alive(own_identity())
    assert not is_alive(replace(own_identity(), start_ticks=1))
    assert not is_alive(replace(own_identity(), boot_id="another"))


def test_a_process_that_is_not_there_has_no_identity() -> None:
    """No process, no identity."""
    assert identity_of(2**22 + 1) is None


def test_a_process_is_known_whatever_its_name_is(tmp_path: Path) -> None:
    """Brackets, spaces, and bytes that are no text: the name is the file's, which is anybody's."""
    program = tmp_path / os.fsdecode(b"a) (\xff")
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    running = subprocess.Popen([program, "60"])
    try:
        found = identity_of(running.pid)
        assert found is not None
        assert found.pid == running.pid
        assert is_alive(found)
    finally:
        running.kill()
        running.wait()


def test_the_processes_of_a_run_are_found_by_their_mark(sleeper: Running) -> None:
    """Neither other runs nor this process are found."""
    assert pids_of_run(RUN) == [sleeper.pid]
    assert pids_of_run(RUN[:-1]) == []


def test_a_server_is_found_by_program_and_directory(sleeper: Running, tmp_path: Path) -> None:
    """A shell that happens to stand in the directory is not the server."""
    program = os.path.basename(os.readlink(f"/proc/{sleeper.pid}/exe"))
    assert pids_inside(tmp_path, program) == [sleeper.pid]
    assert pids_inside(tmp_path, "postgres") == []


def test_ending_a_process_waits_until_it_is_gone(sleeper: Running) -> None:
    """After `end` the process is no more."""
    end([sleeper.pid], signal.SIGTERM)
    assert identity_of(sleeper.pid) is None


def test_a_program_is_found_though_its_file_was_replaced(tmp_path: Path) -> None:
    """As an upgrade does while it runs; the folder in which it works is still its own."""
    program = tmp_path / "sleeper"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    running = subprocess.Popen([program, "60"], cwd=tmp_path)
    try:
        program.unlink()
        assert pids_inside(tmp_path, "sleeper") == [running.pid]
    finally:
        running.kill()
        running.wait()


def test_who_uses_a_folder_is_told_by_name(tmp_path: Path) -> None:
    """Whoever works in it, or holds a file in it; others are not named."""
    (tmp_path / "held").mkdir()
    with (tmp_path / "held/file").open("w") as file:
        working = subprocess.Popen(["sleep", "60"], cwd=tmp_path / "held")
        holding = subprocess.Popen(["sleep", "60"], cwd="/", stdout=file)
        try:
            found = users_of(tmp_path / "held")
        finally:
            for each in (working, holding):
                each.kill()
                each.wait()
    assert [(each.pid, each.name) for each in found] == sorted(
        [(working.pid, "sleep"), (holding.pid, "sleep")]
    )
