"""Where a run stands, as numbers for a monitoring system: made of its events alone.

Nothing of it reaches results, and nothing is asked of the server or the hammer. Of windows that are
measured, the command line's judge says which are invalid, in the pause after each. The numbers are
served as OpenMetrics text, on loopback only.
"""

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from stithy.clock import Clock
from stithy.errors import PreconditionError, StithyError, UserError, give_reason
from stithy.openmetrics import CONTENT_TYPE, END, MetricFamily, MetricPoint, make_family, written
from stithy.results.layout import RunDirectory
from stithy.run.deciding import Invalid
from stithy.run.events import (
    Event,
    InterimAnalysis,
    RunStarted,
    SecondPassed,
    StepFinished,
    StepProgress,
    StepSkipped,
    StepStarted,
)

Numbers = Iterator[tuple[MetricFamily, MetricPoint]]

RUN = {
    "steps": "steps of this session of the run, as far as they are decided",
    "step": "number of the current step, from 1; labels say which one it is",
    "left_s": "expected time until the run ends",
    "left_undecided_s": "the same if every block is needed",
    "windows_done": "windows that this session has measured or did not need",
    "windows_invalid": "invalid measured windows, those of earlier sessions included",
    "question_blocks": "valid blocks at the last interim analysis of the primary question",
    "question_decided": "1 once the primary question is decided",
}
NOW = {
    "progress_share": "finished share of the current step's stage, or of the window",
    "transactions_per_min": "completed transactions of the last second, per minute",
    "response_p95_s": "95th percentile of response time of the headline transaction in it",
}


@dataclass
class _State:
    """What the events have told so far."""

    directory: Path | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    steps: int | None = None
    step: StepStarted | None = None
    step_began_s: float = 0.0
    second: SecondPassed | None = None
    progress: StepProgress | None = None
    interim: InterimAnalysis | None = None
    windows_done: int = 0
    invalid: dict[str, str] | None = field(default_factory=dict)


class LiveNumbers:
    """Hears the events of a run, and tells where it stands; events and questions may cross."""

    def __init__(self, clock: Clock, invalid: Invalid) -> None:
        """`clock` tells how much of the expected time is over."""
        self._clock = clock
        self._invalid = invalid
        self._state = _State()
        self._lock = threading.Lock()

    def show(self, event: Event) -> None:
        """Hear one event; an `Observer`."""
        # Judging reads files: whoever asks meanwhile must not wait for it.
        judged = self._count_invalid(event)
        with self._lock:
            self._hear(event)
            if judged is not None:
                self._state.invalid = {**(self._state.invalid or {}), **judged}

    def text(self) -> str:
        """All numbers as OpenMetrics text; what is not known is not in it."""
        with self._lock:
            numbers = [*self._run(), *self._list_now()]
        return "".join(written(family, [point]) for family, point in numbers) + END

    def _hear(self, event: Event) -> None:
        state = self._state
        match event:
            case RunStarted():  # or a run of `--sensitivity`, after the one before it
                self._state = _State(Path(event.directory), event.notes, event.steps)
            case StepStarted():
                state.step, state.steps = event, event.steps
                state.step_began_s = self._clock.monotonic_s()
                state.second = state.progress = None
            case StepFinished() | StepSkipped():
                state.windows_done += event.step.kind == "window"
                state.second = state.progress = None
            case SecondPassed():
                state.second = event
            case StepProgress():
                state.progress = event
            case InterimAnalysis():
                state.interim = event
            case _:
                pass

    def _count_invalid(self, event: Event) -> Mapping[str, str] | None:
        if isinstance(event, RunStarted):
            directory = RunDirectory(Path(event.directory))
            windows = sorted(
                path.parent.name for path in directory.windows.glob("*/window.parquet")
            )
        elif isinstance(event, StepFinished) and event.step.kind == "window":
            if self._state.directory is None:
                return None
            directory, windows = RunDirectory(self._state.directory), [event.step.id]
        else:
            return None
        with suppress(StithyError):  # a result that cannot be read is reported by the report
            return self._invalid(directory, windows) if windows else {}
        return None

    def _run(self) -> Numbers:
        state, run = self._state, self._make_labels()
        if state.directory is None:
            return
        values: dict[str, float | None] = {
            "steps": state.steps,
            "windows_done": state.windows_done,
            "windows_invalid": None if state.invalid is None else len(state.invalid),
        }
        if (interim := state.interim) is not None:
            values |= {"question_blocks": interim.blocks, "question_decided": interim.decided}
        if (step := state.step) is not None:
            values |= {
                "left_s": self._find_left_s(step.left_s),
                "left_undecided_s": self._find_left_s(step.left_s_undecided),
            }
            which = {"step": step.step.id, "kind": step.step.kind}
            labels = {**run, **which, **self._label_candidate(step.step.candidate or "")}
            yield make_family(("run", "step"), RUN["step"]), MetricPoint(step.number, labels)
        for name, value in values.items():
            if value is not None:
                yield make_family(("run", name), RUN[name]), MetricPoint(float(value), run)

    def _find_left_s(self, left_s: float | None) -> float | None:
        if left_s is None:
            return None
        return max(0.0, left_s - (self._clock.monotonic_s() - self._state.step_began_s))

    def _list_now(self) -> Numbers:
        if (second := self._state.second) is not None:
            window = second.window
            labels = {
                **self._make_labels(), "window": window.id,
                **self._label_candidate(window.candidate),
                "point": str(window.point), "block": str(window.block), "phase": second.phase,
            }  # fmt: skip
            whole_s = window.ramp_up_s + window.duration_s
            yield _make_number("progress_share", min(1.0, (second.second + 1) / whole_s), labels)
            per_min = second.rate * (60 if second.label == "TPS" else 1)
            yield _make_number("transactions_per_min", per_min, labels)
            if second.p95_s is not None:
                yield _make_number("response_p95_s", second.p95_s, labels)
        elif (progress := self._state.progress) is not None and progress.total > 0:
            labels = {**self._make_labels(), "stage": progress.stage}
            yield _make_number("progress_share", min(1.0, progress.done / progress.total), labels)

    def _label_candidate(self, candidate: str) -> dict[str, str]:
        note = self._state.notes.get(candidate)
        return {"candidate": candidate, **({"note": note} if note else {})}

    def _make_labels(self) -> dict[str, str]:
        directory = self._state.directory
        return {"run": RunDirectory(directory).name} if directory is not None else {}


def _make_number(
    name: str, value: float, labels: Mapping[str, str]
) -> tuple[MetricFamily, MetricPoint]:
    return make_family(("now", name), NOW[name]), MetricPoint(float(value), labels)


PATH = "/metrics"
PLAIN_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What a program reads that does not ask for OpenMetrics; of these numbers it is the same text."""
PATIENCE_S = 5.0
"""A program that connects and says nothing is not waited for any longer."""
EXAMPLE = "127.0.0.1:9464"


@dataclass(frozen=True)
class Address:
    """A host of this machine and a port; port 0 is any that is free."""

    host: str
    port: int

    def __str__(self) -> str:
        """As it stands in an address of the web."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """The address that a person wrote: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464`.

    Raises UserError for anything else, and for every address that is not on loopback.
    """
    host, _, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535):
        raise _make_problem(text, "this is not an address with a port")
    try:
        known = ipaddress.ip_address(host)
    except ValueError:
        raise _make_problem(text, "its host is not an IP address") from None
    if not known.is_loopback:
        remedy = f"name {EXAMPLE}, and let `ssh -L` or a proxy of your own lead to it"
        problem = "other machines could read it there, without a password"
        raise UserError(problem, where=f"--metrics {text}", remedy=remedy)
    return Address(host, int(port))


def _make_problem(text: str, problem: str) -> UserError:
    return UserError(problem, where=f"--metrics {text}", remedy=f"write it as {EXAMPLE}")


@contextmanager
def serve_numbers(address: Address, text: Callable[[], str]) -> Iterator[str]:
    """Inside, whoever asks at the address gets `text`; gives the address of the page.

    Raises PreconditionError where the port cannot be had.
    """
    server = _open_server(address, text)
    thread = threading.Thread(target=server.serve_forever, name="live numbers", daemon=True)
    thread.start()
    try:
        yield f"http://{Address(address.host, server.server_address[1])}{PATH}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _open_server(address: Address, text: Callable[[], str]) -> ThreadingHTTPServer:
    kind = _Server6 if ":" in address.host else _Server
    try:
        return kind((address.host, address.port), _make_handler(text))
    except OSError as error:
        raise PreconditionError(
            f"this address cannot be used: {give_reason(error)}",
            where=f"--metrics {address}",
            remedy="name another port, or end the program that uses this one (`ss -ltnp` names it)",
        ) from error


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a program that is slow to read does not hold up the end of the run

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that went away before it had its answer is nothing to tell of."""


class _Server6(_Server):
    address_family = socket.AF_INET6


def _make_handler(text: Callable[[], str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Answers one program."""

        timeout = PATIENCE_S

        def do_GET(self) -> None:
            """Tell the numbers, or that there is nothing else."""
            if self.path.partition("?")[0] != PATH:
                self._answer(404, PLAIN_TYPE, f"the numbers are at {PATH}\n")
                return
            wants = "application/openmetrics-text" in self.headers.get("Accept", "")
            self._answer(200, CONTENT_TYPE if wants else PLAIN_TYPE, text())

        def _answer(self, status: int, kind: str, shown: str) -> None:
            body = shown.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def version_string(self) -> str:
            """Who answers, without the versions that a stranger need not know."""
            return "stithy"

        def log_message(self, format: str, *args: object) -> None:
            """Who asks, and how often, is no talk for the terminal."""

    return Handler
