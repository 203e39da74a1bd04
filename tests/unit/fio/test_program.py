"""fio runs to its end, is stopped, or is ended; nothing of it is left.

A shell script stands in for fio: it does what the test says, and notes its process id.
"""

import os
import threading
import time
from pathlib import Path
from typing import IO

import pytest

from fakes.fio import FioRunner
from stithy.errors import InfrastructureError, Interrupted, PreconditionError
from stithy.fio.load import FioTarget
from stithy.fio.measure import FioMachine, lay_out
from stithy.fio.program import FioProgram, Worker, find, find_async_engine, run
from stithy.hosts.runner import Command, LocalRunner, Running


def script(folder: Path, body: str) -> FioProgram:
    """A program that does `body`, with its process id in the file `pid` of its folder."""
    path = folder / "fio"
    path.write_text(f"#!/bin/sh\necho $$ > pid\n{body}\n")
    path.chmod(0o755)
    return FioProgram(str(path), "fio-3.33")


def workers(folder: Path, count: int) -> list[Worker]:
    """Workers with folders of their own."""
    made = [Worker("[global]\n", folder / f"w{number}") for number in range(count)]
    for each in made:
        each.folder.mkdir()
    return made


def is_alive(worker: Worker) -> bool:
    """Whether the process of a worker still is there; one that never began is not."""
    pid = worker.folder / "pid"
    return pid.exists() and os.path.isdir(f"/proc/{pid.read_text().strip() or 'none'}")


class StartsSlowly(LocalRunner):
    """A runner that takes its time after each start, and knows when the last of them was over."""

    started_ns = 0

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """Start it, wait."""
        made = super().start(command, stderr=stderr)
        threading.Event().wait(0.2)
        self.started_ns = time.time_ns()
        return made


def test_a_fio_that_is_missing_or_too_old_is_said_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of the PATH is taken; what is no version is of an unknown one."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PreconditionError, match="fio was not found") as caught:
        find(LocalRunner())
    assert "apt-get install fio" in caught.value.remedy
    for version, found in (("fio-3.27", "fio-3.27"), ("fio-2.99", "fio-2.99"), ("", "unknown")):
        (tmp_path / "fio").write_text(f"#!/bin/sh\necho {version}\n")
        (tmp_path / "fio").chmod(0o755)
        with pytest.raises(PreconditionError, match=f"{found}.*at least 3.28 is needed") as caught:
            find(LocalRunner())
        assert caught.value.where == str(tmp_path / "fio")
    for version in ("fio-3.28", "fio-3.42-17-gabc", "fio-4.0"):
        (tmp_path / "fio").write_text(f"#!/bin/sh\necho {version}\n")
        assert find(LocalRunner()) == FioProgram(str(tmp_path / "fio"), version)


@pytest.mark.parametrize(
    ("refused", "engine"),
    [((), "io_uring"), (("io_uring",), "libaio"), (("io_uring", "libaio"), "psync")],
)
def test_the_asynchronous_engine_is_the_best_that_works(
    refused: tuple[str, ...], engine: str
) -> None:
    """The synchronous one says that none does."""
    assert find_async_engine(FioRunner(refused=refused), FioProgram("fio", "fio-3.33")) == engine


def test_workers_begin_together_and_what_each_said_is_returned(tmp_path: Path) -> None:
    """Errors first, then the document; each has its job file in its own folder."""
    found = script(tmp_path, 'date +%s%N > begun; echo oops >&2; cat "$1"; echo done > fio.json')
    made = workers(tmp_path, 3)
    runner = StartsSlowly()
    assert run(runner, found, made, 5.0, "x") == ("oops\ndone",) * 3
    begun = [int((each.folder / "begun").read_text()) for each in made]
    assert min(begun) > runner.started_ns
    assert (made[0].folder / "job.fio").read_text() == "[global]\n"


def test_a_stop_ends_all_workers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By SIGINT, which fio answers by ending, long before it would be killed."""
    monkeypatch.setattr("stithy.fio.program.STOP_PATIENCE_S", 600.0)
    body = "trap 'echo > heard; exit' INT; echo > waits; while :; do sleep 0.05; done"
    found, made, stop = script(tmp_path, body), workers(tmp_path, 2), threading.Event()

    def stop_when_all_wait() -> None:
        while not all((each.folder / "waits").exists() for each in made):
            time.sleep(0.01)
        stop.set()

    threading.Thread(target=stop_when_all_wait, daemon=True).start()
    with pytest.raises(Interrupted):
        run(LocalRunner(), found, made, 60.0, "x", stop)
    assert all((each.folder / "heard").exists() for each in made)
    assert not any(map(is_alive, made))


def test_a_fio_that_hangs_is_ended_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it does not hear SIGINT."""
    monkeypatch.setattr("stithy.fio.program.STOP_PATIENCE_S", 0.3)
    found = script(tmp_path, "trap '' INT; while :; do sleep 0.05; done")
    made = workers(tmp_path, 2)
    with pytest.raises(InfrastructureError, match=r"did not end within 0\.6 s"):
        run(LocalRunner(), found, made, 0.1, "/dev/x", patience_s=0.5)
    assert not any(map(is_alive, made))


def test_a_worker_that_never_began_is_gone_with_the_others(tmp_path: Path) -> None:
    """The second cannot be started: its folder is not there."""
    found = script(tmp_path, "exec sleep 60")
    first = workers(tmp_path, 1)
    with pytest.raises((OSError, PreconditionError)):
        run(LocalRunner(), found, [*first, Worker("", tmp_path / "none")], 5.0, "x")
    assert not (first[0].folder / "pid").exists()


def test_a_file_that_cannot_be_made_is_said_with_a_remedy(tmp_path: Path) -> None:
    """Before fio is started."""
    machine = FioMachine(LocalRunner(), FioProgram("fio", "fio-3.33"))
    target = FioTarget(str(tmp_path / "none" / "file"), 4096)
    with pytest.raises(InfrastructureError, match="cannot be made") as caught:
        lay_out(machine, target, tmp_path, seed=1)
    assert caught.value.remedy
