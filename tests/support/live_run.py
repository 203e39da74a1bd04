"""A run that goes on as told: events as a study with a fault has them, for whoever watches."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from fakes.clock import FakeClock
from stithy.cli.talk.page import LiveFeed, make_handler
from stithy.collectors.collector import Sample, TimedSample
from stithy.plan.steps import Question, Step, WindowPlan
from stithy.run import events
from stithy.run.activity import Span
from stithy.run.live import LiveRun
from stithy.run.serving import Address, LiveServer, serve
from support.examples import STEP, WINDOW

CANDIDATES = ("disk", "a candidate with a rather long name")
QUESTION = "Do the users feel it when a drive of the array is gone?"
BEGUN = events.RunStarted(
    "/var/tmp/runs/demo-20261129T120000Z", 42, 5400.0, 9000.0,
    notes={"disk": "EMULATED drive"}, question=QUESTION,
    asked=Question(WINDOW.point, "nopm", 0.05, CANDIDATES, 5, 30, ()), candidates=CANDIDATES,
)  # fmt: skip
EFFECT = events.InterimEffect(*CANDIDATES, 1.09, 1.02, 1.17, 1.0, (0.95, 1.05))
INTERIM = events.InterimAnalysis(
    "disk served 1.09 times as many (95 % interval 1.02 to 1.17): undecided.", 5, False, EFFECT
)
ENDED = events.RunEnded("finished", None, None, ("disk is better.", "Caution: a caution."))


def plan_window(candidate: str, number: int) -> Step:
    """Plan a window of a fault."""
    window = replace(
        WINDOW, id=f"w-{candidate.split()[0]}-u4-b{number}", candidate=candidate, block=number,
        activities=("hammer", "fault-drive-gone"),
    )  # fmt: skip
    return replace(STEP, id=window.id, candidate=candidate, window=window)


def sample_window(window: WindowPlan, second: int, clock: FakeClock) -> events.WindowSampled:
    """Sample two devices and the CPUs; from the tenth second on a fault lasts for five."""
    now_s, start_s = clock.now_s(), clock.now_s() - second
    rows = [
        ("block", device, metric, value * (1 + device.startswith("nvme1")), unit)
        for device in ("nvme0n1", "nvme1n1")
        for metric, value, unit in (
            ("utilisation_share", 0.31, ""), ("reads_per_s", 1203.0, "1/s"),
            ("writes_per_s", 410.0, "1/s"), ("read_bytes_per_s", 9.6e6, "B/s"),
            ("write_bytes_per_s", 3.3e6, "B/s"), ("read_latency_s", 0.00031, "s"),
            ("write_latency_s", 0.0012, "s"),
        )
    ] + [("cpu", "", name, share, "") for name, share in (
        ("user_share", 0.3), ("nice_share", 0.0), ("system_share", 0.1), ("idle_share", 0.5),
        ("iowait_share", 0.1), ("irq_share", 0.0), ("steal_share", 0.0))]  # fmt: skip
    samples = tuple(
        TimedSample(now_s, collector, unit, Sample(subject, metric, value))
        for collector, subject, metric, value, unit in rows
    )
    ends_s = start_s + 15 if second >= 15 else None
    spans = (Span("fault", start_s + 10, ends_s, "drive-gone"),) if second >= 10 else ()
    return events.WindowSampled(window, samples, spans, start_s)


def pass_window(live: LiveRun, clock: FakeClock, step: Step, seconds: int) -> None:
    """Let so many seconds of a window pass."""
    window = step.window
    assert window is not None
    live.show(events.StepStarted(step, 7 + window.block, 42, 4800.0, 8000.0))
    for second in range(seconds):
        clock.sleep_s(1.0)
        phase = "ramp-up" if second < window.ramp_up_s else "measure"
        slow = 0.3 if 10 <= second < 15 else 1.0
        rate = slow * (90_000 + 7_000 * ((second * 7) % 5) + 9_000 * (window.candidate == "disk"))
        p95_s = None if slow < 1 else 0.004 + 0.001 * ((second * 3) % 4)
        others = [p95_s and p95_s * share for share in (0.4, 1.9)]
        live.show(events.SecondPassed(window, second, phase, rate, p95_s, "TPM", *others))
        live.show(sample_window(window, second, clock))


def watch_fault(clock: FakeClock) -> LiveRun:
    """A run in its third window, of which the first is invalid, with a fault just now."""
    live = LiveRun(clock, lambda directory, windows: dict.fromkeys(windows, "driver late, errors"))
    live.show(BEGUN)
    live.show(events.Note("the page cache was dropped before each window"))
    first, second = plan_window(CANDIDATES[0], 0), plan_window(CANDIDATES[1], 0)
    pass_window(live, clock, first, 25)
    live.show(events.StepFinished(first, 31.0, "92,400 NOPM"))
    pass_window(live, clock, second, 13)
    live.show(INTERIM)
    return live


class CutServer(LiveServer):
    """A server whose connections end with it, as those of a process that is killed."""

    def process_request(self, request: Any, client_address: object) -> None:
        """Remember the connection."""
        self.__dict__.setdefault("connections", []).append(request)
        super().process_request(request, client_address)

    def cut(self) -> None:
        """End all connections."""
        for connection in self.__dict__.get("connections", ()):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serve_run(
    live: LiveRun, port: int = 0, feed: LiveFeed | None = None
) -> Iterator[tuple[str, int]]:
    """Inside, a page shows the run, which tells no end by itself; gives its address and port."""
    handler = make_handler(feed or LiveFeed(live, 0.05), None)
    server = CutServer(Address("127.0.0.1", port), handler)
    with serve(server, "page of a test") as at:
        yield f"http://{at}/", at.port
    server.cut()
