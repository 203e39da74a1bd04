"""Commands in forks of one process that has imported `stithy`: imports are most of a short one.

As a program it is that process. For each command it gets one message with three files: where the
command writes, twice, and where its process id and its exit code are to be sent.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import Any

# What commands import, a run with its report among them.
from stithy.cli import app as app
from stithy.collectors.collector import Collector
from stithy.engines.engine import Engine
from stithy.registry import plugins
from stithy.report import write as write
from stithy.run import deciders as deciders
from stithy.run import start as start
from stithy.run.activity import Activity, StepKind
from stithy.storage.provider import Provider
from stithy.study.scenario import Scenario
from stithy.workloads.workload import Workload

TESTS = Path(__file__).resolve().parents[1]
MESSAGE_BYTES_MAX = 2**17


class Forked(subprocess.Popen[str]):
    """A command that runs, with all that tests ask of one that was started."""

    def __init__(self, words: Sequence[str], code: str, environment: Mapping[str, str]) -> None:
        """Start Python code with these words as its arguments."""
        self._answers, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        (out, their_out), (err, their_err) = os.pipe(), os.pipe()
        order = {
            "words": words, "code": code, "environment": dict(environment), "folder": os.getcwd(),
            "hangs_up": signal.getsignal(signal.SIGHUP),
        }  # fmt: skip
        message = json.dumps(order).encode()
        files = [their_out, their_err, theirs.detach()]
        orders, _ = start_parent()
        socket.send_fds(orders, [message], files)
        for file in files:
            os.close(file)
        self.args, self.stdin, self.returncode = words, None, None
        self.stdout, self.stderr = os.fdopen(out), os.fdopen(err)
        self.pid = int(self._answers.recv(MESSAGE_BYTES_MAX))
        # What `communicate` of Popen reads.
        self.text_mode, self._communication_started, self._input = True, False, None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises TimeoutExpired."""
        if self.returncode is None:
            self._answers.settimeout(timeout)
            try:
                self.returncode = int(self._answers.recv(MESSAGE_BYTES_MAX))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
            self._answers.close()
        return self.returncode

    def poll(self) -> int | None:
        """Return its exit code if it has ended."""
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None


def run_code(code: str, *words: str | Path) -> int:
    """Run code with these words as its arguments to its end; return its exit code."""
    process = Forked([*map(str, words)], code, os.environ)
    process.communicate()
    return process.wait()


@cache
def start_parent() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Start what all commands are forks of, once, and keep it; it ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    paths = f"{TESTS.parent / 'python'}:{TESTS}"
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "support.forked", str(theirs.fileno())],
            env={**os.environ, "PYTHONPATH": paths}, pass_fds=[theirs.fileno()],
        )  # fmt: skip
    return ours, process


def wait_for_command(orders: socket.socket) -> str | None:
    """Fork for each order, and return its code in that fork; None once no more orders come."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that send exit codes
    while True:
        message, files, _, _ = socket.recv_fds(orders, MESSAGE_BYTES_MAX, 3)
        if not message:
            return None
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if pid := os.fork():
                send_exit_code(pid, *files)
            return prepare_command(json.loads(message), *files)
        for file in files:
            os.close(file)


def send_exit_code(pid: int, out: int, err: int, answers: int) -> None:
    """Send a command's process id and, when it has ended, its exit code; then end."""
    os.close(out)
    os.close(err)
    with socket.socket(fileno=answers) as asker:
        asker.send(str(pid).encode())
        _, status = os.waitpid(pid, 0)
        asker.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def prepare_command(order: Mapping[str, Any], out: int, err: int, answers: int) -> str:
    """Make this process what it would be had it been started so; return the code that it runs."""
    os.dup2(out, 1)
    os.dup2(err, 2)
    for file in (out, err, answers):
        os.close(file)
    sys.stdout = os.fdopen(1, "w")
    sys.stderr = TextIOWrapper(FileIO(2, "w"), write_through=True)  # keeps nothing, as Python's own
    signal.signal(signal.SIGHUP, order["hangs_up"])
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv[:] = ["-c", *order["words"]]
    return str(order["code"])


def load_plugins() -> None:
    """Load what a run loads on its way, for those who fork before it: once, and not each time."""
    for kind in (Provider, Collector, Scenario, Engine, Workload, StepKind, Activity):
        plugins(kind)


if __name__ == "__main__":
    load_plugins()
    if code := wait_for_command(socket.socket(fileno=int(sys.argv[1]))):
        exec(code, {"__name__": "__main__"})
