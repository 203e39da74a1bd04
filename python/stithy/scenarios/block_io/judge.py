"""Did block I/O keep its rate, and do its numbers agree with each other?"""

from collections.abc import Sequence

from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.analysis.instruments import NOTED_SHARE, is_beyond
from stithy.fio.variants import LATE_MOST, judge
from stithy.metrics import ALL
from stithy.validity import Check, Flag, Reason, Row

MISSED = Flag(
    "rate missed",
    "The rate was missed below saturation: {achieved:,.0f} of {asked:,.0f} requests per second.",
    "Leave fio more CPU, use lower rates, or measure for longer: the maximum was another one.",
    invalidates=True,
)

SATURATED = Flag(
    "saturated",
    "The storage is saturated at this rate: {achieved:,.0f} of {asked:,.0f} requests per second.",
    "Latencies grow with the length of the measurement here. Compare candidates at lower rates.",
)

LATE = Flag(
    "requests began late",
    "{share:.1f %} of the requests began late, because all submitters were waiting.",
    "Latency is counted from the submission: that of arrivals at this rate is longer.",
)

OVERFULL = Flag(
    "more outstanding than possible",
    "IOPS x mean latency is {seen:.3g} requests outstanding, and at most {most:.3g} were.",
    "Rates or latencies are wrong. Measure for longer, and look for changes of the clock.",
    invalidates=True,
)

DRIVER_BUSY = Flag(
    "fio was busy",
    "fio kept {seen:.3g} of {most:.3g} requests outstanding: for the rest of the time it was busy "
    "itself.",
    "Leave fio more CPU, or use fewer threads. The storage may do more than this.",
)

SIZES = Flag(
    "request size not as asked",
    "Bandwidth differs by {share:.1f %} from IOPS x the block size of the profile.",
    "Rates or bandwidths are wrong. Measure for longer, and keep the job file of this window.",
    invalidates=True,
)

IDLE = Flag(
    "seconds without I/O",
    "Nothing was answered in {seconds:.0f} of {length} seconds.",
    "The storage stood still, or the machine did. The kernel log may say which.",
)

MESSAGES = Flag(
    "fio had messages",
    "fio did not fail, but wrote {messages:+message} besides its result.",
    "Read `errors.txt` and the begin of `fio.json` in the folder `fio/run` of this window.",
)

OUTSIDE = Flag(
    "latency outside of the storage",
    "A request took fio {seen:duration} on average, and the block layer {inside:duration}.",
    "The machine had no CPU for fio in between. Let nothing else run on it, or use lower rates.",
    invalidates=True,
)

SOME_OUTSIDE = Flag("some latency outside of the storage", OUTSIDE.sentence, OUTSIDE.advice)

IN_FLIGHT_MOST = 0.05
"""Own: Little's law is exact but for requests at both ends; published tables agree within 1 %."""

BUSY_MOST = 0.20
"""Own: a fifth of the time outside of any request is no longer the way through the kernel."""

SIZE_ERROR_MOST = 0.01
"""Own: sizes are counted, so nothing but chance, which is left out, makes a difference."""


def read_value(of: WindowRecord, metric: str, whose: str = ALL) -> float | None:
    """What fio measured in the window; None where it did not."""
    row: Row = of.values.get((f"fio.{metric}", whose), {})
    number: float | None = row.get("value")
    return number


def find_missed_rate(of: WindowRecord) -> Reason | None:
    """It was not kept. Source: `fio.curve.judge`."""
    asked, achieved = read_value(of, "asked_iops"), read_value(of, "iops")
    if asked is None or achieved is None:
        return None
    length_s = of.window["measure_to_s"] - of.window["measure_from_s"]
    state = judge(read_value(of, "maximum_share"), asked, achieved, length_s)
    if state == "kept":
        return None
    flag = SATURATED if state == "saturated" else MISSED
    return Reason(flag, {"achieved": achieved, "asked": asked})


def find_late(of: WindowRecord) -> Reason | None:
    """Too many waited for a submitter, so latencies are not those of an open loop."""
    share = read_value(of, "late_share")
    if share is None or share <= LATE_MOST:
        return None
    return Reason(LATE, {"share": share})


def find_overfull(of: WindowRecord) -> Reason | None:
    """A closed loop's IOPS x mean latency is not what it keeps outstanding."""
    seen, most = read_value(of, "in_flight"), read_value(of, "outstanding")
    length_s = of.window["measure_to_s"] - of.window["measure_from_s"]
    if seen is None or not most or length_s <= 0:
        return None
    # Requests that began before the measurement count with all of their time.
    ends = 2 * (read_value(of, "mean_s") or 0.0) / length_s
    flag = None
    if seen > (1 + IN_FLIGHT_MOST + ends) * most:
        flag = OVERFULL
    elif seen < (1 - BUSY_MOST - ends) * most:
        flag = DRIVER_BUSY
    return Reason(flag, {"seen": seen, "most": most}) if flag else None


def find_wrong_sizes(of: WindowRecord) -> Reason | None:
    """Bandwidth is not IOPS x the mean block size."""
    worst = max(read_value(of, "size_error_share", way) or 0.0 for way in ("read", "write"))
    return Reason(SIZES, {"share": worst}) if worst > SIZE_ERROR_MOST else None


def find_idle(of: WindowRecord) -> Reason | None:
    """Whole seconds passed without an answer.

    Own: it is likely the storage's doing, so nothing becomes invalid by it.
    """
    seconds = read_value(of, "idle_s")
    if not seconds:
        return None
    row = of.values["fio.idle_s", ALL]
    return Reason(IDLE, {"seconds": seconds, "length": row["count"]})


def find_messages(of: WindowRecord) -> Reason | None:
    """fio warned of something: what it is, a person judges."""
    count = round(read_value(of, "messages") or 0)
    return Reason(MESSAGES, {"messages": count}) if count else None


OUTSIDE_SHARE = 0.05
OUTSIDE_S = 20e-6
"""Own: so far both may differ, for the ramp is in one of them alone, and the kernel's way to a
device and back takes some 10 µs."""

QUEUED_MOST = 128
"""Requests that the kernel has in the queue of a loop device; more of them wait before it."""


def find_outside(of: WindowRecord) -> Reason | None:
    """fio and the block layer, two layers with clocks of their own, disagree.

    Both count the same requests, with those of the ramp in one of them. Where the rate was not
    kept, or more is outstanding than the queue takes, requests wait before the block layer.
    """
    seen_s, inside_s = read_value(of, "mean_s"), _block_layer_mean_s(of.drives)
    waits = find_missed_rate(of) is not None or (read_value(of, "outstanding") or 0) > QUEUED_MOST
    if seen_s is None or inside_s is None or waits:
        return None
    delay = (seen_s - OUTSIDE_S) / inside_s - 1 - OUTSIDE_SHARE
    if delay <= NOTED_SHARE:
        return None
    flag = OUTSIDE if is_beyond(delay, of.window) else SOME_OUTSIDE
    return Reason(flag, {"seen": seen_s, "inside": inside_s}, delay)


def _block_layer_mean_s(drives: Sequence[Row]) -> float | None:
    rows = [
        drive
        for drive in drives
        if drive["operation"] in ("read", "write") and drive["answered"] and drive["device_mean_s"]
    ]
    count = sum(row["answered"] for row in rows)
    if not count:
        return None
    return float(sum(each["answered"] * each["device_mean_s"] for each in rows) / count)


CHECKED = (
    find_missed_rate,
    find_late,
    find_overfull,
    find_wrong_sizes,
    find_idle,
    find_messages,
    find_outside,
)

BLOCK_IO_CHECKS = WindowChecks(
    "block-io", 15, tuple(Check(("values", "io_seconds"), find) for find in CHECKED)
)

PLUGINS = (BLOCK_IO_CHECKS,)
