"""Running a native program: hand it a job, read its messages, see to it that it ends.

A program that cannot go on says so in a `failure` message, which becomes the right StithyError. One
that dies without a summary, or writes what is no message, is an InfrastructureError that quotes
its standard error. What a line means is left to whoever asked for it.
"""

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from stithy.errors import (
    InfrastructureError,
    Interrupted,
    PreconditionError,
    StithyError,
    UserError,
)
from stithy.exits import Exit
from stithy.hosts.runner import Command, Runner, Running
from stithy.wire.jobs import AnyJob
from stithy.wire.messages import (
    AnyMessage,
    CheckSummary,
    Failure,
    PrepareSummary,
    RunSummary,
    Summary,
    WarmUpSummary,
    parse_message,
)

OnMessage = Callable[[AnyMessage], None]

STOP_PATIENCE_S = 30.0
"""How long a program may take to answer SIGINT before it is killed: a drain waits for the answers
under way, and a stalled drive may hold those for many seconds."""

EXIT_PATIENCE_S = 10.0
"""How long a program may live after it closed its output."""

STDERR_LINES = 10


def run_program(
    runner: Runner,
    argv: Sequence[str],
    job: AnyJob,
    *,
    on_message: OnMessage | None = None,
    raw_output: Path | None = None,
    stop: threading.Event | None = None,
) -> Summary:
    """Run `job` to its end and return its summary, the last message.

    Every line is appended to `raw_output` as it comes, before it is parsed; `on_message` gets each
    message, the summary too. When `stop` is set the program gets SIGINT, and SIGKILL
    `STOP_PATIENCE_S` later.
    Raises what a `failure` message says; InfrastructureError for a program that dies or babbles.
    """
    with ExitStack() as stack:
        errors = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "stderr"
        raw = stack.enter_context(_raw_file(raw_output))
        program = runner.start(Command(argv=argv), stderr=errors)
        stack.enter_context(_ended(program))
        stack.enter_context(_stopped_by(stop, program))
        _feed(program, job)
        summary = _read(program, raw, on_message or _ignore, errors)
        code = _wait(program, EXIT_PATIENCE_S)
        if summary is None:
            raise _died(argv, code, errors)
        return summary


def _ignore(_: AnyMessage) -> None:
    pass


def _feed(program: Running, job: AnyJob) -> None:
    """Hand the job over and close, so that the program sees its end."""
    assert program.stdin is not None  # Runner.start always opens the three streams
    # A program that died before it read says why in its exit code and standard error: see _died.
    with suppress(BrokenPipeError):
        program.stdin.write(job.model_dump_json())
        program.stdin.close()


def _read(
    program: Running, raw: IO[str] | None, on_message: OnMessage, errors: Path
) -> Summary | None:
    """Read to the end of the output; the summary, or None where none came."""
    assert program.stdout is not None  # as in _feed
    summary: Summary | None = None
    for line in program.stdout:
        if raw is not None:
            raw.write(line)
            raw.flush()
        if not line.strip():
            continue
        message = _parse(line, errors)
        if isinstance(message, Failure):
            raise failure_error(message)
        on_message(message)
        if isinstance(message, PrepareSummary | WarmUpSummary | RunSummary | CheckSummary):
            summary = message
    return summary


def _parse(line: str, errors: Path) -> AnyMessage:
    try:
        return parse_message(line)
    except ValidationError as error:
        first = error.errors()[0]
        raise InfrastructureError(
            f"a line is not a message ({first['msg']}): {line.strip()[:200]!r}{_tail(errors)}",
            where="output of the native program",
            remedy="make sure that Stithy and its native programs are of the same version",
        ) from error


def failure_error(failure: Failure) -> StithyError:
    """The error that a `failure` message stands for, by its code and exit code."""
    kinds: dict[int, type[StithyError]] = {
        Exit.USAGE: UserError,
        Exit.PRECONDITION: PreconditionError,
        Exit.INFRASTRUCTURE: InfrastructureError,
    }
    kind = Interrupted if failure.code == "interrupted" else kinds.get(failure.exit, StithyError)
    return kind(failure.problem, where=failure.where, remedy=failure.remedy)


def _died(argv: Sequence[str], code: int | None, errors: Path) -> InfrastructureError:
    return InfrastructureError(
        f"the program {_end_of(code)} without a summary{_tail(errors)}",
        where=Path(argv[0]).name,
        remedy="read its last lines; free memory if it was killed; repeat the step",
    )


def _end_of(code: int | None) -> str:
    if code is None:
        return "closed its output but went on"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def _tail(errors: Path) -> str:
    """The last lines of standard error, as the end of a sentence; `` where there are none."""
    try:
        lines = errors.read_text(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return ": " + " | ".join(lines[-STDERR_LINES:]) if lines else ""


@contextmanager
def _raw_file(path: Path | None) -> Iterator[IO[str] | None]:
    """The raw output, opened for appending, on the disk when closed."""
    if path is None:
        yield None
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        try:
            yield file
        finally:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _ended(program: Running) -> Iterator[None]:
    """Whatever happens inside, the program does not outlive it."""
    try:
        yield
    finally:
        if program.poll() is None:
            _end(program)
        for stream in (program.stdin, program.stdout):
            if stream is not None and not stream.closed:
                _close(stream)


def _close(stream: IO[str]) -> None:
    with suppress(BrokenPipeError):  # closing flushes what a dead program no longer reads
        stream.close()


def _end(program: Running) -> None:
    """SIGINT, patience, SIGKILL."""
    program.send_signal(signal.SIGINT)
    if _wait(program, EXIT_PATIENCE_S) is None:
        program.send_signal(signal.SIGKILL)
        program.wait()


def _wait(program: Running, patience_s: float) -> int | None:
    """Its exit code, None if it still runs after `patience_s`."""
    pause = threading.Event()
    for _ in range(round(patience_s / 0.01)):
        if (code := program.poll()) is not None:
            return code
        pause.wait(0.01)
    return program.poll()


@contextmanager
def _stopped_by(stop: threading.Event | None, program: Running) -> Iterator[None]:
    """A thread that hands `stop` on to the program as SIGINT, then as SIGKILL."""
    if stop is None:
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(stop, done, program), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(stop: threading.Event, done: threading.Event, program: Running) -> None:
    while not stop.wait(timeout=0.1):
        if done.is_set():
            return
    if done.is_set() or program.poll() is not None:
        return
    program.send_signal(signal.SIGINT)
    if not done.wait(timeout=STOP_PATIENCE_S) and program.poll() is None:
        program.send_signal(signal.SIGKILL)
