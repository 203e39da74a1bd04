"""A command at an agent, on a leash.

Whatever an agent starts waits at a barrier until a program beside it holds it. From then on that
kills it where the agent's lease is not renewed, whatever became of the agent itself.
"""

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import SIGKILL, SIGTERM

from stithy.clock import SystemClock
from stithy.engines.engine import get_engine
from stithy.errors import InfrastructureError, StithyError
from stithy.hosts.processes import end_tree
from stithy.hosts.runner import (
    BARRIER,
    Command,
    LocalRunner,
    Runner,
    Running,
    lift_barrier,
    name_own_user,
    wait_for_end,
)
from stithy.wire.program import Lease

LEASH = Path(__file__).with_name("leash.py")

PAUSE_S, LEASH_S = 0.02, 1.0
"""Own: how often a command is looked for, and how long a leash that has killed it may still be."""

SAID_BYTES_MOST = 2**16


@dataclass(frozen=True)
class CommandJob:
    """A command that an agent is to run; its environment may have secrets."""

    command: Command = field(repr=False)


@dataclass(frozen=True)
class CommandEnd:
    """What became of it, Unix times: with the CPU time of all its processes, and its last words."""

    code: int
    from_s: float
    to_s: float
    cpu_s: float = 0.0
    said: str = ""


@contextmanager
def hold_leash(runner: Runner, ids: Sequence[int], lease: Lease) -> Iterator[Running]:
    """Inside, these processes are killed where the lease is not renewed."""
    words = [sys.executable, "-I", "-S", str(LEASH), str(lease.TERM_S), *map(str, ids)]
    leash = runner.start(Command(words))
    assert leash.stdin is not None  # the runner gives pipes to what is not detached
    assert leash.stdout is not None
    try:
        if not leash.stdout.readline():
            problem, remedy = "what it began has no leash", "see its host"
            raise InfrastructureError(problem, where="the agent", remedy=remedy)
        lease.attach(leash.stdin)
        yield leash
    finally:
        leash.send_signal(SIGKILL)
        leash.wait()
        with suppress(OSError):  # the lease may have been renewed meanwhile, which nobody reads
            leash.stdin.close()
        leash.stdout.close()


def require_renewed(leash: Running) -> None:
    """Raise InfrastructureError where a leash has killed what it held."""
    if leash.poll() is not None:
        problem, remedy = "its lease was not renewed", "measure the window again"
        raise InfrastructureError(problem, where="the agent", remedy=remedy)


def run_command(job: CommandJob, lease: Lease, stop: threading.Event, folder: Path) -> CommandEnd:
    """Run a command to its end or until `stop`; as its user, where this process may become that.

    Raises PreconditionError where it cannot begin, InfrastructureError where its lease ran out.
    """
    runner, clock, said = LocalRunner(), SystemClock(), folder / "said"
    words = ["/bin/sh", "-c", BARRIER, "sh", *job.command.argv]
    user = job.command.user if os.geteuid() == 0 else None
    asked = replace(job.command, argv=words, user=user, detached=False)
    cpu_before_s = sum(os.times()[2:4])  # of all children that have ended
    process = runner.start(asked, stderr=said)
    try:
        with hold_leash(runner, [process.pid], lease) as leash:
            from_s = clock.now_s()
            lift_barrier(process)
            while (code := process.poll()) is None:
                if stop.wait(PAUSE_S):
                    end_tree(process.pid, SIGTERM)
            to_s = clock.now_s()
            if code == -SIGKILL:
                wait_for_end(leash, LEASH_S)
            require_renewed(leash)
            cpu_s = sum(os.times()[2:4]) - cpu_before_s  # the leash is not yet among them
    finally:
        if process.poll() is None:
            end_tree(process.pid, SIGKILL)
            process.wait()
        for stream in filter(None, (process.stdin, process.stdout)):
            with suppress(OSError):
                stream.close()
    text = said.read_bytes()[-SAID_BYTES_MOST:].decode(errors="replace")
    return CommandEnd(code, from_s, to_s, cpu_s, text)


def identify_tool(engine: str, method: str, programs: Path, user: str) -> str:
    """Say what would make backups here for a user, and as whom; or why nothing would."""
    try:
        tool = get_engine(engine).get_backup(method).identify_tool(programs, LocalRunner().run)
    except StithyError as error:
        return error.text
    return f"{tool} of the user {user if os.geteuid() == 0 else name_own_user()}"
