"""Processes: how they are started and what their caller gets back."""

import os
import signal
import sys
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.runner import JOIN, Command, LocalRunner, wrapped


def test_a_process_gets_its_input_and_returns_what_it_wrote() -> None:
    """`run` hands the input over and collects both outputs and the code."""
    finished = LocalRunner().run(
        Command(["sh", "-c", "cat; echo talk >&2; exit 3"]), stdin="hello\n"
    )
    assert (finished.code, finished.stdout, finished.stderr) == (3, "hello\n", "talk\n")


def test_a_process_that_takes_too_long_is_ended_and_named() -> None:
    """A time limit leads to an error that names the program, and to no process left."""
    with pytest.raises(InfrastructureError, match=r"sleep: it did not end within 0\.05 s"):
        LocalRunner().run(Command(["sleep", "60"]), timeout_s=0.05)


def test_a_missing_program_is_a_precondition() -> None:
    """A program that is not there is named, with a remedy."""
    with pytest.raises(PreconditionError, match="/nowhere/at-all: cannot be started"):
        LocalRunner().run(Command(["/nowhere/at-all"]))


def test_each_process_carries_the_mark_of_its_run() -> None:
    """The runner's environment is added to every process."""
    finished = LocalRunner({"STITHY_RUN": "r1"}).run(Command(["sh", "-c", "echo $STITHY_RUN"]))
    assert finished.stdout == "r1\n"


def test_variables_of_libpq_do_not_reach_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the person's shell says about PostgreSQL must not change a study."""
    monkeypatch.setenv("PGOPTIONS", "-c fsync=off")
    assert LocalRunner().run(Command(["sh", "-c", 'echo "<$PGOPTIONS>"'])).stdout == "<>\n"


def test_a_started_process_has_a_session_of_its_own(tmp_path: Path) -> None:
    """Ctrl-C on the terminal reaches Stithy alone."""
    running = LocalRunner().start(Command(["sleep", "60"]), stderr=tmp_path / "errors")
    try:
        assert os.getsid(running.pid) == running.pid
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
        assert running.stdin
        assert running.stdout
        running.stdin.close()
        running.stdout.close()


def test_a_process_joins_its_cgroup_before_it_becomes_its_user() -> None:
    """Only the caller may write to the cgroup, so joining comes first."""
    words = wrapped(Command(["postgres"], user="nobody", memory_cgroup=Path("/group")))
    assert words[:4] == ["/bin/sh", "-c", JOIN, "/group/cgroup.procs"]
    assert words[4] == "setpriv"
    assert words[-1] == "postgres"


def test_a_process_uses_the_cpus_that_it_is_bound_to() -> None:
    """Also what it starts; the last of this process's own is certainly there."""
    last = max(os.sched_getaffinity(0))
    script = "import os; print(sorted(os.sched_getaffinity(0)))"
    finished = LocalRunner().run(Command([sys.executable, "-c", script], cpus=(last,)))
    assert finished.stdout.strip() == f"[{last}]"
