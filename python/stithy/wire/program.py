"""Running a native program: find it, hand it a job, read its messages, see to it that it ends.

A program that cannot go on says so in a `failure` message, which becomes the right StithyError. One
that dies without a summary, or writes what is no message, is an InfrastructureError that quotes
its standard error. What a line means is left to whoever asked for it. A supervisor, a thread beside
the reader, ends a program that a person stops, that is stuck or that is held by a signal.
"""

import os
import shutil
import signal
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from stithy.environment import search_path
from stithy.errors import (
    Exit,
    InfrastructureError,
    Interrupted,
    PreconditionError,
    StithyError,
    UserError,
)
from stithy.hosts.processes import is_held
from stithy.hosts.runner import Command, Runner, Running, wait_for_end
from stithy.wire.jobs import AnyJob
from stithy.wire.messages import AnyMessage, Failure, Refusal, Summary, parse_message

HAMMER = "stithy-hammer"
DRIVE = "stithy-drive"


def find_program(name: str, places: Sequence[Path] | None = None) -> Path:
    """The program's file, from the first of `places` that has it (default: `default_places()`).

    Raises PreconditionError, with how to get it, where none does.
    """
    searched = list_default_places() if places is None else places
    if found := shutil.which(name, path=os.pathsep.join(map(str, searched))):
        return Path(found)
    raise PreconditionError(
        f"the program {name} was not found",
        where=f"{len(searched)} directories, from {searched[0]}" if searched else "no directory",
        remedy="install Stithy (`pip install .`), or build it with `cargo build --release`",
    )


def list_default_places() -> list[Path]:
    """Directories to search, best first.

    The installation that runs now wins over a checkout, so that an installed Stithy never picks up
    a half-built program; a checkout wins over the PATH, so that one's own build is what is tested.
    """
    installed = Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))
    roots = (each for each in Path(__file__).resolve().parents if (each / "crates").is_dir())
    clone = next((each for each in roots if (each / "Cargo.toml").is_file()), None)
    built = [clone / "target" / kind for kind in ("release", "debug")] if clone else []
    return list(dict.fromkeys([*installed, *built, *search_path()]))


STOP_PATIENCE_S = 30.0
"""How long a program may take to answer SIGINT before it is killed: a drain waits for the answers
under way, and a stalled drive may hold those for many seconds."""

HELD_PATIENCE_S = 20.0
"""How long a program may be held by SIGSTOP or a debugger; what it measures is spoilt anyway."""

POLL_S = 0.1


class Supervisor(threading.Thread):
    """Inside, one program is watched until it has ended; `killed_because` says why it had to be
    killed, as the verb of a sentence.
    """

    def __init__(
        self, program: Running, stop: threading.Event | None, silence_s: float | None
    ) -> None:
        """`stop` is handed on as SIGINT; `silence_s` None: it may be silent for ever."""
        super().__init__(name="supervisor", daemon=True)
        self.killed_because: str | None = None
        self._program = program
        self._stop_asked = stop or threading.Event()
        self._silence_s = silence_s
        self._ended = threading.Event()
        self._since_s: dict[str, float] = {}
        self._heard_s = time.monotonic()

    def note_message(self) -> None:
        """The program said something."""
        self._heard_s = time.monotonic()

    def run(self) -> None:
        """Check it until it has ended."""
        while not self._ended.wait(POLL_S) and self._program.poll() is None:
            if self._stop_asked.is_set() and "stop" not in self._since_s:
                self._program.send_signal(signal.SIGINT)
            reason = self._find_reason(time.monotonic())
            if reason is not None:
                self.killed_because = f"{reason} and was killed"
                self._program.send_signal(signal.SIGKILL)
                return

    def __enter__(self) -> "Supervisor":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def _find_reason(self, now_s: float) -> str | None:
        if self._measure_state_s("stop", self._stop_asked.is_set(), now_s) > STOP_PATIENCE_S:
            return f"did not end within {STOP_PATIENCE_S:g} s"
        if self._measure_state_s("held", is_held(self._program.pid), now_s) > HELD_PATIENCE_S:
            return f"was held by a signal for {HELD_PATIENCE_S:g} s"
        if self._silence_s is not None and now_s - self._heard_s > self._silence_s:
            return f"said nothing for {self._silence_s:g} s"
        return None

    def _measure_state_s(self, what: str, is_so: bool, now_s: float) -> float:
        if not is_so:
            self._since_s.pop(what, None)
            return 0.0
        return now_s - self._since_s.setdefault(what, now_s)


class Lease:
    """What a program's owner renews; without a renewal for its term the program ends itself."""

    TERM_S = 4.0

    def __init__(self) -> None:
        self._stream: IO[str] | None = None

    def attach(self, stream: IO[str]) -> None:
        """Renew it from now on by lines on this stream, which the program reads."""
        self._stream = stream

    def renew(self) -> None:
        """Renew it, where the program has begun; one that has ended needs it no more."""
        if self._stream is not None:
            with suppress(OSError, ValueError):
                self._stream.write("\n")
                self._stream.flush()


OnMessage = Callable[[AnyMessage], None]

EXIT_PATIENCE_S = 10.0
"""How long a program may live after it closed its output."""

STDERR_LINES = 10


def run_program(
    runner: Runner,
    command: Command,
    job: AnyJob,
    *,
    on_message: OnMessage | None = None,
    raw_output: Path | None = None,
    stop: threading.Event | None = None,
    silence_s: float | None = None,
    lease: Lease | None = None,
) -> Summary:
    """Run `job` to its end and return its summary, the last message.

    Every line is appended to `raw_output` as it comes, before it is parsed; `on_message` gets each
    message, the summary too. When `stop` is set the program gets SIGINT, and SIGKILL when that does
    not help (see `Supervisor`). One that says nothing for `silence_s`, or that somebody holds
    (SIGSTOP), is killed, so that everything ends. With a `lease` it ends where that is not renewed.
    Raises what a `failure` message says; InfrastructureError for a program that dies or babbles.
    """
    with ExitStack() as stack:
        # Without a name: nothing is left of it where this process is killed.
        errors = stack.enter_context(tempfile.TemporaryFile())
        raw = stack.enter_context(_open_raw_file(raw_output))
        if lease is not None:
            command = replace(command, argv=[*command.argv, "--lease", str(lease.TERM_S)])
        program = runner.start(command, stderr=errors)
        stack.enter_context(_end_program(program))
        watch = stack.enter_context(Supervisor(program, stop, silence_s))
        _feed_job(program, job, lease)
        summary = _read(program, raw, watch, on_message, errors)
        code = wait_for_end(program, EXIT_PATIENCE_S)
        if summary is None:
            end = f"ended with code {code}"
            if code is None:
                end = "closed its output but went on"
            elif code < 0:
                end = f"was ended by {signal.Signals(-code).name}"
            raise InfrastructureError(
                f"the program {watch.killed_because or end} without a summary{_read_tail(errors)}",
                where=Path(command.argv[0]).name,
                remedy="read its last lines; free memory if it was killed; repeat the step",
            )
        return summary


def _feed_job(program: Running, job: AnyJob, lease: Lease | None) -> None:
    """Hand the job over and close, so that the program sees its end; a lease goes on."""
    assert program.stdin is not None  # Runner.start always opens the three streams
    # A program that died before it read says why in its exit code and standard error: see _died.
    with suppress(BrokenPipeError):
        program.stdin.write(job.model_dump_json())
        if lease is None:
            program.stdin.close()
        else:
            lease.attach(program.stdin)
            lease.renew()


def _read(
    program: Running,
    raw: IO[str] | None,
    watch: Supervisor,
    on_message: OnMessage | None,
    errors: IO[bytes],
) -> Summary | None:
    """Read to the end of the output; the summary, or None where none came."""
    assert program.stdout is not None  # as in _feed
    summary: Summary | None = None
    for line in program.stdout:
        watch.note_message()
        if raw is not None:
            raw.write(line)
            raw.flush()
        if not line.strip():
            continue
        try:
            message = parse_message(line)
        except ValidationError as error:
            shown = f"{line.strip()[:200]!r}{_read_tail(errors)}"
            raise make_babble_error(error, shown, "output of the native program") from error
        if isinstance(message, Failure):
            raise make_failure_error(message)
        if on_message is not None:
            on_message(message)
        if isinstance(message, Summary):
            summary = message
    return summary


def make_babble_error(error: ValidationError, line: str, where: str) -> InfrastructureError:
    """The error for a line of output that is no message; `where` names whose output it is."""
    problem = f"a line is not a message ({error.errors()[0]['msg']}): {line}"
    remedy = "make sure that Stithy and its native programs are of the same version"
    return InfrastructureError(problem, where=where, remedy=remedy)


def make_failure_error(failure: Refusal) -> StithyError:
    """The error that a `failure` stands for, by its code and exit code."""
    kinds: dict[int, type[StithyError]] = {
        Exit.USAGE: UserError,
        Exit.PRECONDITION: PreconditionError,
        Exit.INFRASTRUCTURE: InfrastructureError,
    }
    kind = Interrupted if failure.code == "interrupted" else kinds.get(failure.exit, StithyError)
    return kind(failure.problem, where=failure.where, remedy=failure.remedy)


def _read_tail(errors: IO[bytes]) -> str:
    """The last lines of standard error, as the end of a sentence; `` where there are none."""
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return ": " + " | ".join(lines[-STDERR_LINES:]) if lines else ""


@contextmanager
def _open_raw_file(path: Path | None) -> Iterator[IO[str] | None]:
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
def _end_program(program: Running) -> Iterator[None]:
    try:
        yield
    finally:
        if program.poll() is None:
            # SIGINT, patience, SIGKILL.
            program.send_signal(signal.SIGINT)
            if wait_for_end(program, EXIT_PATIENCE_S) is None:
                program.send_signal(signal.SIGKILL)
                program.wait()
        close_streams(program)


def close_streams(program: Running) -> None:
    """Close what a program is written to and read from, whether it still lives or not."""
    for stream in (program.stdin, program.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):  # closing flushes what a dead program no longer reads
                stream.close()
