"""Processes of a bench: run to the end, with what they wrote and the CPU time they took."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stithy.wire.program import HAMMER, find_program


@dataclass(frozen=True)
class Ended:
    """A process that ended: its output, its CPU time (user and system), its wall time, seconds.

    `peak_bytes`: the most memory that it, or a process that it waited for, had at once.
    """

    stdout: str
    cpu_s: float
    wall_s: float
    peak_bytes: int


KIB = 1024
"""Linux tells the peak in these."""


class Failed(Exception):
    """A process of the bench ended with a code other than 0."""


def run(
    command: Sequence[str], *, stdin: str = "", environment: Mapping[str, str] | None = None
) -> Ended:
    """Run to the end; the CPU time is the process's own, from the kernel's accounting (wait4)."""
    started_s = time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(stdin)
        process.stdin.close()
        stdout = process.stdout.read()
        stderr = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failed(f"{command[0]} ended with {process.returncode}: {stdout[-2000:]}{stderr}")
    cpu_s, wall_s = usage.ru_utime + usage.ru_stime, time.perf_counter() - started_s
    return Ended(stdout, cpu_s, wall_s, usage.ru_maxrss * KIB)


def find_hammer() -> str:
    """The hammer; ends the bench where it is a build for tests, which checks itself as it runs."""
    program = str(find_program(HAMMER))
    if run([program, "--build"]).stdout.strip() != "release":
        raise SystemExit(f"{program} is a build for tests: run `tools/setup`, then start again")
    return program


def run_together(
    commands: Sequence[Sequence[str]], *, environment: Mapping[str, str] | None = None
) -> float:
    """Start all at once, wait for all; the wall time in seconds."""
    started_s = time.perf_counter()
    variables = {**os.environ, **(environment or {})}
    running = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, env=variables) for command in commands
    ]
    codes = [process.wait() for process in running]
    if any(codes):
        raise Failed(f"{commands[0][0]} and its like ended with {codes}")
    return time.perf_counter() - started_s
