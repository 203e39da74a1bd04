"""What the live page says of a run: all its texts and tables, made of the state alone."""

from datetime import datetime
from typing import Any, cast

from stithy.cli.talk.display import describe_event
from stithy.cli.talk.planned import describe_asked
from stithy.collectors.collector import TimedSample
from stithy.metrics import Unit
from stithy.report.drawing.palette import choose_styles
from stithy.report.words.escape import change_texts, escape_unseen
from stithy.report.words.wording import begin_sentence, format_measured, format_plural
from stithy.run.events import InterimEffect, StepFinished
from stithy.run.live import INVALID_SHOWN, LiveRun, LiveState
from stithy.units import MINUS, format_duration, format_measured_duration, format_share

BUSY = "utilisation_share"
DEVICE_METRICS = (
    BUSY, "reads_per_s", "writes_per_s", "read_bytes_per_s", "write_bytes_per_s",
    "read_latency_s", "write_latency_s",
)  # fmt: skip
"""The columns of the table of block devices."""
CPU_SHARES = {
    "in user mode": ("user_share", "nice_share"), "in the kernel": ("system_share", "irq_share"),
    "waiting for a block device": ("iowait_share",), "idle": ("idle_share",),
    "taken by the hypervisor": ("steal_share",),
}  # fmt: skip
DEVICES_MOST = 12
"""Own: of dozens that are members of arrays the busiest are enough to watch."""
SPANS_MOST = 40
"""Own: the last cycles of a neighbour; the report has all."""
ABSENT = "–"
NO_INTERIM = "No interim analysis yet."
ENDS = {"finished": "The run has finished", "interrupted": "The run was interrupted"}


def describe_live(live: LiveRun) -> dict[str, Any]:
    """Describe the run as it is now: texts, tables and what figures need, by their places."""
    with live.hold() as state:
        begun, step, interim = state.begun, state.step, state.interim
        verdict, dot, more = (interim.text if interim else NO_INTERIM).partition(". ")
        labels = {kept[-1].passed.label for kept in state.seconds.values()}
        view = {
            "run": state.directory.name if state.directory else "",
            "question": begun.question if begun else "The run is being checked",
            "asked": describe_asked(begun.asked) if begun and begun.asked else "",
            "verdict": f"{verdict}{dot.strip()}", "verdict_more": more,
            "left_s": step and live.find_left_s(step.left_s),
            "left_undecided_s": step and live.find_left_s(step.left_s_undecided),
            "seconds": bool(labels),
            "rate_title": f"Throughput each second, {' or '.join(sorted(labels))}",
            "happened": [
                [f"{datetime.fromtimestamp(at_s):%H:%M:%S}",
                 f"{event.step.id}: {event.result} ({format_duration(event.duration_s)})"
                 if isinstance(event, StepFinished)
                 else begin_sentence((describe_event(event) or "").strip())]
                for at_s, event in reversed(state.happened)
            ],
            **_describe_effect(interim.effect if interim else None), **_describe_step(state),
            **_describe_candidates(state), **_describe_window(state), **_describe_validity(state),
            **_describe_end(state),
        }  # fmt: skip
    shown: dict[str, Any] = change_texts(view, escape_unseen)
    return shown


def _describe_effect(effect: InterimEffect | None) -> dict[str, Any]:
    """Describe the interval, and what is drawn of it."""
    if effect is None:
        return {"effect": None, "effect_caption": ""}
    caption = (
        f"{effect.b} {'÷' if effect.none else MINUS} {effect.a}: the dot is the effect so far, the "
        "bar its conservative 95 % interval, the line no effect, and the band the margin."
    )
    return {"effect": vars(effect), "effect_caption": caption}


def _describe_step(state: LiveState) -> dict[str, Any]:
    step, second, progress = state.step, state.second, state.progress
    stage, done, total, measured = "", 0, 0, state.measured.total()
    if second is not None:
        window = second.window
        stage = f"{begin_sentence(second.phase)} of {window.id}: second"
        done, total = second.second + 1, round(window.ramp_up_s + window.duration_s)
    elif progress is not None:
        stage, done, total = f"{begin_sentence(progress.stage)}:", progress.done, progress.total
    return {
        "step": f"{step.number} of {step.steps}: {step.step.id}" if step else ABSENT,
        "windows": f"{measured:,} measured, {state.windows_done - measured:,} not needed",
        "waiting": begin_sentence((describe_event(state.busy) or "").strip()) if state.busy else "",
        "stage": f"{stage} {done:,} of {total:,}" if total > 0 else "",
        "progress": min(1.0, done / total) if total > 0 else None,
    }  # fmt: skip


def _describe_candidates(state: LiveState) -> dict[str, Any]:
    rows, styles, second = [], [], state.second
    now = state.step.step if state.step and not state.ended else None
    candidates, notes = (state.begun.candidates, state.begun.notes) if state.begun else ((), {})
    for name, style in choose_styles(candidates).items():
        doing, rate, times = ABSENT, ABSENT, [ABSENT] * 3
        is_active = now is not None and now.candidate == name
        if now is not None and is_active:
            window = now.window if now.kind == "window" else None
            beside = f", {', '.join(window.activities)}" if window else ""
            at = f"{window.point.in_words()}, block {window.block + 1}" if window else now.kind
            doing = f"{at}{beside}"
        if second is not None and second.window.candidate == name:
            rate = f"{second.rate:,.0f} {second.label}"
            times = [
                ABSENT if value_s is None else format_measured_duration(value_s)
                for value_s in (second.p50_s, second.p95_s, second.p99_s)
            ]
        invalid = "not known" if state.invalid is None else f"{state.faulty[name]:,}"
        rows.append([name, doing, rate, *times, f"{state.measured[name]:,}", invalid])
        dash = " ".join(map(str, style.dash)) if style.dash[1] else "none"
        styles.append({
            "name": name, "colour": style.colour, "outline": style.outline, "dash": dash,
            "note": notes.get(name, ""), "active": is_active,
        })  # fmt: skip
    return {"candidates": rows, "styles": styles}


def _describe_window(state: LiveState) -> dict[str, Any]:
    """Describe what collectors read, and the faults and phases so far."""
    if (sampled := state.sampled) is None:
        why = "Nothing is sampled now: no window is being measured."
        return {"phases": [], "shades": [], "devices": [], "devices_note": why, "cpus": ""}
    devices, shares = state.list_devices(), state.list_cpu_shares()
    missing = next((of.sample.missing_because for of in devices.get("", {}).values()), None)
    rows = [
        [name, *(_show_sample(samples[metric]) for metric in DEVICE_METRICS)]
        for name, samples in sorted(
            devices.items(), key=lambda item: -(item[1][BUSY].sample.value or 0.0)
        )
    ]
    started_s = sampled.started_at_s
    ran_s = 0.0 if started_s is None else sampled.samples[-1].at_s - started_s
    spans = [
        (span, span.from_s - started_s, None if span.to_s is None else span.to_s - started_s)
        for span in sampled.spans[-SPANS_MOST:] if started_s is not None
    ]  # fmt: skip
    cpus = [
        f"{format_share(sum(shares[name] for name in names))} {text}"
        for text, names in CPU_SHARES.items()
        if all(name in shares for name in names)
    ]
    hidden = max(0, len(rows) - DEVICES_MOST)
    return {
        "phases": [
            [span.name, f"{from_s:,.1f} s", "now" if to_s is None else f"{to_s:,.1f} s",
             span.outcome or "under way"]
            for span, from_s, to_s in spans
        ],
        "shades": [[from_s, ran_s if to_s is None else to_s] for _, from_s, to_s in spans],
        "devices": [] if missing else rows[:DEVICES_MOST],
        "devices_note": f"Block devices are not sampled: {missing}." if missing
        else f"Under {sampled.window.candidate}{f', but for {hidden} idler ones' * bool(hidden)}.",
        "cpus": f"CPUs of the host in the last second: {', '.join(cpus)}." if cpus else "",
    }  # fmt: skip


def _show_sample(reading: TimedSample) -> str:
    if reading.sample.value is None:
        return ABSENT
    if reading.sample.metric == BUSY:
        return format_share(reading.sample.value)
    return format_measured(reading.sample.value, cast("Unit", reading.unit))


def _describe_validity(state: LiveState) -> dict[str, Any]:
    invalid = state.invalid or {}
    count, more = len(invalid), max(0, len(invalid) - INVALID_SHOWN)
    text = "Every window measured so far is valid."
    if state.invalid is None:
        text = "A result could not be read: the report says what is valid."
    elif invalid:
        are = format_plural(count, "measured window is", "measured windows are")
        text = f"{are} invalid. Invalid windows support no verdict."
        text += f" The table lacks the first {more:,}." if more else ""
    elif not state.windows_done:
        text = "No window is measured yet."
    rows = [[name, why] for name, why in reversed([*invalid.items()][more:])]
    number = "not known" if state.invalid is None else f"{count:,}"
    return {"validity": text, "invalid": rows, "invalid_count": number}


def _describe_end(state: LiveState) -> dict[str, Any]:
    """Describe how the run ended; nothing while it goes on."""
    if (ended := state.ended) is None:
        return {"ended": ""}
    run = state.directory.name.replace("/", "-") if state.directory else "run"
    return {
        "ended": ENDS.get(ended.end, "The run has failed"), "error": ended.error or "",
        "findings": list(ended.findings), "path": str(ended.report) if ended.report else "",
        "report_name": f"{run}.html",
    }  # fmt: skip
