"""Where a run stands as OpenMetrics text for a monitoring system, on loopback only."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from stithy.errors import UserError
from stithy.openmetrics import CONTENT_TYPE, END, MetricFamily, MetricPoint, make_family, written
from stithy.plan.steps import WindowPlan
from stithy.run.live import INVALID_SHOWN, LiveRun, LiveState
from stithy.run.serving import Address, LiveHandler, LiveServer, serve

PATH = "/metrics"
PLAIN_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What a program reads that does not ask for OpenMetrics; of these numbers it is the same text."""
Numbers = Iterator[tuple[MetricFamily, MetricPoint]]

RUN = {
    "steps": "steps of this session of the run, as far as they are decided",
    "step": "number of the current step, from 1; labels say which one it is",
    "left_s": "expected time until the run ends",
    "left_undecided_s": "the same if every block is needed",
    "windows_done": "windows that this session has measured or did not need",
    "windows_invalid": "invalid measured windows, those of earlier sessions included",
    "invalid_window": "1 for each of the last invalid windows; a label says why it is invalid",
    "question_blocks": "valid blocks at the last interim analysis of the primary question",
    "question_decided": "1 once the primary question is decided",
}
NOW = {
    "progress_share": "finished share of the current step's stage, or of the window",
    "transactions_per_min": "completed transactions of the last second, per minute",
    "response_p50_s": "median of response time of the headline transaction in it",
    "response_p95_s": "95th percentile of response time of the headline transaction in it",
    "response_p99_s": "99th percentile of response time of the headline transaction in it",
    "device_busy_share": "share of the last second in which a block device had a request",
    "device_read_latency_s": "mean time of its reads in the last second",
    "device_write_latency_s": "mean time of its writes in the last second",
    "cpus_busy_share": "share of the last second in which the CPUs of the host were at work",
}
DEVICE = {
    "utilisation_share": "device_busy_share",
    "read_latency_s": "device_read_latency_s", "write_latency_s": "device_write_latency_s",
}  # fmt: skip
"""What is served of a block device, by what its collector calls it."""
IDLE = ("idle_share", "iowait_share")


def require_loopback(address: Address) -> Address:
    """Return an address that no other machine reaches. Raises UserError for any other."""
    if address.is_loopback:
        return address
    raise UserError(
        "other machines could read it there, without a password",
        where=f"{address.option} {address}",
        remedy="name 127.0.0.1:9464, and let `ssh -L` or a proxy of your own lead to it",
    )


def write_numbers(live: LiveRun) -> str:
    """All numbers as OpenMetrics text; what is not known is not in it."""
    with live.hold() as state:
        numbers = [*_list_run(live, state), *_list_now(state), *_list_limits(state)]
    families: dict[MetricFamily, list[MetricPoint]] = {}
    for family, point in numbers:
        families.setdefault(family, []).append(point)
    return "".join(written(family, points) for family, points in families.items()) + END


def _list_run(live: LiveRun, state: LiveState) -> Numbers:
    if state.directory is None:
        return
    run = _label_run(state)
    values: dict[str, float | None] = {
        "steps": state.steps,
        "windows_done": state.windows_done,
        "windows_invalid": None if state.invalid is None else len(state.invalid),
    }
    if (interim := state.interim) is not None:
        values |= {"question_blocks": interim.blocks, "question_decided": interim.decided}
    if (step := state.step) is not None:
        values |= {
            "left_s": live.find_left_s(step.left_s),
            "left_undecided_s": live.find_left_s(step.left_s_undecided),
        }
        which = {"step": step.step.id, "kind": step.step.kind}
        labels = {**run, **which, **_label_candidate(state, step.step.candidate or "")}
        yield make_family(("run", "step"), RUN["step"]), MetricPoint(step.number, labels)
    for name, value in values.items():
        if value is not None:
            yield make_family(("run", name), RUN[name]), MetricPoint(float(value), run)
    for window, why in [*(state.invalid or {}).items()][-INVALID_SHOWN:]:
        labels = {**run, "window": window, "because": why}
        family = make_family(("run", "invalid_window"), RUN["invalid_window"])
        yield family, MetricPoint(1.0, labels)


def _list_now(state: LiveState) -> Numbers:
    if (second := state.second) is not None:
        labels = {**_label_window(state, second.window), "phase": second.phase}
        whole_s = second.window.ramp_up_s + second.window.duration_s
        yield _make_number("progress_share", min(1.0, (second.second + 1) / whole_s), labels)
        per_min = second.rate * (60 if second.label == "TPS" else 1)
        yield _make_number("transactions_per_min", per_min, labels)
        for name, value in (("p50", second.p50_s), ("p95", second.p95_s), ("p99", second.p99_s)):
            if value is not None:
                yield _make_number(f"response_{name}_s", value, labels)
    elif (progress := state.progress) is not None and progress.total > 0:
        labels = {**_label_run(state), "stage": progress.stage}
        yield _make_number("progress_share", min(1.0, progress.done / progress.total), labels)


def _list_limits(state: LiveState) -> Numbers:
    if state.sampled is None:
        return
    labels = _label_window(state, state.sampled.window)
    for device, samples in state.list_devices().items():
        for metric, name in DEVICE.items():
            value = samples[metric].sample.value if metric in samples else None
            if value is not None:
                yield _make_number(name, value, {**labels, "subject": device})
    if all(name in (shares := state.list_cpu_shares()) for name in IDLE):
        busy = max(0.0, 1.0 - sum(shares[name] for name in IDLE))
        yield _make_number("cpus_busy_share", busy, labels)


def _label_window(state: LiveState, window: WindowPlan) -> dict[str, str]:
    return {
        **_label_run(state), "window": window.id, **_label_candidate(state, window.candidate),
        "point": str(window.point), "block": str(window.block),
    }  # fmt: skip


def _label_candidate(state: LiveState, candidate: str) -> dict[str, str]:
    note = state.begun.notes.get(candidate) if state.begun else None
    return {"candidate": candidate, **({"note": note} if note else {})}


def _label_run(state: LiveState) -> dict[str, str]:
    return {"run": state.directory.name} if state.directory is not None else {}


def _make_number(
    name: str, value: float, labels: Mapping[str, str]
) -> tuple[MetricFamily, MetricPoint]:
    return make_family(("now", name), NOW[name]), MetricPoint(float(value), labels)


@contextmanager
def serve_numbers(address: Address, text: Callable[[], str]) -> Iterator[str]:
    """Inside, whoever asks at the address gets `text`; gives the address of the page.

    Raises PreconditionError where the port cannot be had.
    """

    class Numbers(LiveHandler):
        def tell(self, path: str) -> None:
            if path != PATH:
                self.answer(404, PLAIN_TYPE, f"the numbers are at {PATH}\n".encode())
                return
            wants = "application/openmetrics-text" in self.headers.get("Accept", "")
            self.answer(200, CONTENT_TYPE if wants else PLAIN_TYPE, text().encode())

    with serve(LiveServer(address, Numbers), "live numbers") as at:
        yield f"http://{at}{PATH}"
