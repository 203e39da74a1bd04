"""Did the load driver and the emulated drives do what they were to do, in time?"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stithy.activity import count_users
from stithy.analysis.surroundings import OTHERS_CPU_SHARE
from stithy.metrics import ALL, Metric, Quantity, find_role
from stithy.validity import Row

ALLOWED_SHARE = 0.5
"""Own: twice the load leaves room for moments in which answers come in bunches."""

LATENESS_FLOOR_S = 1e-3
LATENESS_SHARE_OF_SERVICE = 0.05
"""Source: docs/explanation/method.md, "Driver headroom"."""


@dataclass(frozen=True)
class Headroom:
    """What a window asked, as shares of what the driver was shown to sustain.

    A share is None where it is not known; that of the users also where they act without pauses.
    """

    rate_per_s: float | None
    rate_share: float | None
    users_share: float | None

    @property
    def share(self) -> float | None:
        """The larger of the two; None where neither is known."""
        known = [each for each in (self.rate_share, self.users_share) if each is not None]
        return max(known) if known else None

    @property
    def is_little(self) -> bool:
        """Whether more was asked than half of what the driver can do."""
        return self.share is not None and self.share > ALLOWED_SHARE


def measure_headroom(window: Row) -> Headroom:
    """The head-room of one window, by its row of WINDOW.

    Edge cases: without numbers or without calibration nothing is known.
    Source: docs/explanation/method.md, "Driver headroom".
    """
    begin_s, end_s, done = window["measure_from_s"], window["measure_to_s"], window["transactions"]
    measured = None not in (begin_s, end_s, done) and end_s > begin_s
    # What was due and not begun was asked for, too.
    asked = done + (window["backlog"] or 0) if measured else None
    rate_per_s = None if asked is None else asked / (end_s - begin_s)
    rate_max, users_max = window["driver_rate_per_s_max"], window["driver_users_max"]
    return Headroom(
        rate_per_s,
        rate_per_s / rate_max if rate_per_s is not None and rate_max else None,
        count_users(window) / users_max if users_max else None,
    )


def is_late(row: Row) -> bool:
    """Whether the driver was later at the 99th percentile than a calibration allows."""
    late_s, service_s = row["lateness_p99_s"], row["service_p50_s"] or 0.0
    allowed_s = max(LATENESS_FLOOR_S, LATENESS_SHARE_OF_SERVICE * service_s)
    return late_s is not None and late_s > allowed_s


def list_refuted(rows: Sequence[Row]) -> dict[tuple[Any, Any], str]:
    """The calibrated limits (rate, users) that a window refutes, each with how it does.

    A driver that did more than its limit, or served more users on time, has another one: the host
    was not what it is when that was found. What was found while others used the CPUs is a least: it
    proves head-room, but not the want of it.
    Source: docs/explanation/method.md, "Driver headroom".
    """
    found: dict[tuple[Any, Any], str] = {}
    shares: dict[tuple[Any, Any], float] = {}
    for row in rows:
        limits, asked = _read_limits(row), measure_headroom(row)
        shown = _explain_refuted(row, asked)
        share = abs((asked.share or 1.0) - 1)
        if shown is not None and share > shares.get(limits, -1.0):
            found[limits], shares[limits] = shown, share
    return found


def drop_refuted(rows: Sequence[Row]) -> list[Row]:
    """The rows, without calibrated limits that one of them refutes; `list_refuted` says how."""
    known = list_refuted(rows)
    none = {"driver_rate_per_s_max": None, "driver_users_max": None}
    return [
        {**row, **none, "driver_refuted": known[limits]} if (limits := _read_limits(row)) in known
        else {**row, "driver_refuted": None}
        for row in rows
    ]  # fmt: skip


def _read_limits(row: Row) -> tuple[Any, Any]:
    return row["driver_rate_per_s_max"], row["driver_users_max"]


def _explain_refuted(row: Row, asked: Headroom) -> str | None:
    done = row["transactions"]
    rate_max, users_max = _read_limits(row)
    if asked.rate_per_s is not None and rate_max:
        rate_per_s = done / (row["measure_to_s"] - row["measure_from_s"])
        if rate_per_s > rate_max:
            return (
                f"it did {rate_per_s:,.0f} transactions per second in {row['window_id']}, more "
                f"than the {rate_max:,.0f} of the calibration"
            )
    if users_max and count_users(row) > users_max and done and not is_late(row):
        return (
            f"it served {count_users(row):,} users in {row['window_id']}, more than the "
            f"{users_max:,} of the calibration"
        )
    busy = row.get("driver_others_share") or 0.0
    if asked.is_little and busy > OTHERS_CPU_SHARE:
        share = f"{100 * busy:.0f} %"
        return f"other programs used {share} of the CPUs during the calibration"
    return None


NOTED_SHARE = 0.02
INVALID_SHARES = 0.25, 0.5
"""Own: what is noted moves a verdict. Beyond the second share a block is worth measuring again, and
beyond the third its second attempt does not count either.
Source: docs/explanation/method.md, "What each flag lets pass"."""

PATH_LEAST_SHARE = 0.01
"""Own: a path with less of the time that was waited for moves no percentile up to the 99th."""

FLOOR_MOST_S = 150e-6
"""Own: two quiet CPUs answer a flush that should take no time within 70 to 144 µs; what takes
longer lacks a CPU."""

ANSWERS_MIN = 200
"""Own: of a drive with fewer answers in a window no mean says anything, and no user feels it."""

LATE_SHARE = 0.01
"""Own: of a drive's answers, late by over 5 % and 50 µs each: so many move a 99th percentile."""

AMPLIFIED = {90.0: 3.0, 95.0: 3.0, 99.0: 5.0, 99.9: 10.0}
QUEUE_FACTOR = 20.0
"""Own: how many times as much as a mean a delay changes a percentile at most if it strikes one of
30 requests or more, and in addition where all of a response time is a queue; by simulation.
Source: docs/explanation/method.md, "What each flag lets pass"."""


def find_allowed_share(window: Row) -> float:
    """Find the delay beyond which a window is invalid, by which attempt at its block it is."""
    return INVALID_SHARES[min(1, window["attempt"])]


def is_beyond(delay_share: float, window: Row) -> bool:
    """Whether a delay makes a window invalid."""
    return abs(delay_share) > find_allowed_share(window)


Floors = Mapping[str, float]
"""By operation the time that this machine delivers where a drive should take a shorter one."""


def list_judged(rows: Iterable[Row]) -> list[Row]:
    """The rows of the table `drives` that say what an operation took, of enough answers."""
    known = (row for row in rows if row["operation"] in ("read", "write", "flush"))
    return [
        row for row in known if row["added_mean_s"] is not None and row["answered"] >= ANSWERS_MIN
    ]


def find_machine_floors(rows: Iterable[Row]) -> Floors:
    """The shortest mean time of each operation in any window of a run, where a shorter one was due.

    It replaces a profile's time below it, for all candidates alike. What is above `FLOOR_MOST_S` is
    no floor, but a lack of CPU.
    """
    short = [row for row in list_judged(rows) if find_asked_s(row, {}) < FLOOR_MOST_S]
    least: dict[str, float] = {}
    for row in short:
        least_s = least.get(row["operation"], FLOOR_MOST_S)
        least[row["operation"]] = min(least_s, row["device_mean_s"])
    longer = 1 + NOTED_SHARE
    replaced = {row["operation"] for row in short
                if longer * find_asked_s(row, {}) < least[row["operation"]]}  # fmt: skip
    return {name: least_s for name, least_s in least.items() if name in replaced}


def find_asked_s(row: Row, floors: Floors) -> float:
    """The mean time of profile and faults, or that of the machine where this is longer."""
    asked = row["device_mean_s"] - row["added_mean_s"]
    return float(max(asked, floors.get(row["operation"], 0.0)))


class DelayedPath(NamedTuple):
    """Requests that somebody waited for: their time as it was asked, and what was added to it.

    `parts`: of which drives and operations; `all` is the lateness of a drive's answers. Where
    `operation` is `commit`, a flush with the write before it, the writes are part of it unless
    they counted less than they were delayed. `role` None: all paths together.
    """

    asked_s: float
    added_s: float
    parts: tuple[tuple[str, str], ...]
    role: str | None = None
    operation: str = ALL

    @property
    def share(self) -> float:
        """The delay; negative where drives were too fast."""
        return self.added_s / self.asked_s


_Delay = tuple[int, float, float, tuple[str, ...]]
"""Requests, the time each was to take, what was added to it, and of which operations both are."""


def find_delayed_path(
    rows: Sequence[Row], floors: Floors, *, every_write: bool = False
) -> DelayedPath | None:
    """Find what was delayed most: a path, all that was waited for, or the answers of a late drive.

    None where nothing was waited for. `rows`: of the table `drives`. `every_write`: each is waited
    for, as by fio, and not only those of commits.
    Own: what users waited for is a mean of its paths, so no more delayed than the most delayed one.
    Reads are spread over the drives of an array, and so one path; a commit waits for each drive.
    """
    log = "log" if any(find_role(row["role"]) == "log" for row in rows) else "data"
    found: dict[tuple[str, str], list[DelayedPath]] = {}
    for drive in dict.fromkeys(row["role"] for row in rows):
        known: dict[str, _Delay] = {
            name: (row["answered"], asked := find_asked_s(row, floors),
                   row["device_mean_s"] - asked, (name,))
            for row in list_judged(rows) if row["role"] == drive for name in [row["operation"]]
        }  # fmt: skip
        if not every_write:
            commit = _merge_commit(known) if find_role(drive) == log and "flush" in known else {}
            known = {name: each for name, each in known.items() if name == "read"} | commit
        for name, (count, asked, added, operations) in known.items():
            key = (find_role(drive) if name == "read" else drive, name)
            parts = tuple((drive, of) for of in operations)
            found.setdefault(key, []).append(DelayedPath(count * asked, count * added, parts))
    paths = [_sum_paths(each, *key) for key, each in found.items()]
    whole = _sum_paths(paths)
    felt = [path for path in (*paths, whole) if path.asked_s > PATH_LEAST_SHARE * whole.asked_s]
    for late in filter(is_scattered, rows):
        own = (row for row in list_judged(rows) if row["role"] == late["role"])
        asked = sum(row["answered"] * find_asked_s(row, floors) for row in own) or math.inf
        added = late["answered"] * late["late_mean_s"]
        felt.append(DelayedPath(asked, added, ((late["role"], ALL),), late["role"]))
    return max(felt, key=lambda path: abs(path.share), default=None)


def _sum_paths(
    paths: Sequence[DelayedPath], role: str | None = None, operation: str = ALL
) -> DelayedPath:
    parts = tuple(part for path in paths for part in path.parts)
    asked_s, added_s = sum(path.asked_s for path in paths), sum(path.added_s for path in paths)
    return DelayedPath(asked_s, added_s, parts, role, operation)


def _merge_commit(known: Mapping[str, _Delay]) -> dict[str, _Delay]:
    """Flushes with the write before each.

    That write was delayed by no more than reads and flushes, which come one by one, too: those of a
    checkpoint wait for each other in front of any drive, and nobody waits for them.
    """
    count, asked, added, operations = known["flush"]
    _, asked_of_write, of_write, written = known.get("write", (0, 0.0, 0.0, ()))
    singly = max(delay[2] for name, delay in known.items() if name != "write")
    counted = max(0.0, min(of_write, singly))
    if counted >= of_write:
        operations = (*written, *operations)
    return {"commit": (count, asked + asked_of_write, added + counted, operations)}


def is_scattered(row: Row) -> bool:
    """Whether so many answers of a drive were late that a mean, which it makes up for, hides it."""
    late, answered = row["late_answers"], row["answered"]
    return late is not None and answered >= ANSWERS_MIN and late > LATE_SHARE * answered


class Delayed(NamedTuple):
    """A window: by which share it and its response times were delayed, and its value of a quantity.

    Where users queue for connections a delay lengthens the queue, too.
    """

    delay_share: float
    response_share: float
    value: float


def bound_pair(quantity: Quantity, a: Delayed, b: Delayed) -> tuple[float, float]:
    """By how much the log ratio `ln(b/a)`, or the difference, can be below and above what is seen.

    A delayed candidate can only be better than it looked, where a direction is good and no drive
    was too fast.
    """
    known = quantity.known
    of_a, of_b = (_convert_delay(known, each) for each in (a, b))
    if known.better is None or min(a.delay_share, b.delay_share) < 0:
        return of_a + of_b, of_a + of_b
    return (of_a, of_b) if known.better == "higher" else (of_b, of_a)


def _convert_delay(known: Metric, window: Delayed) -> float:
    is_response = known.source == "transactions" and known.unit == "s"
    share = window.response_share if is_response else window.delay_share
    changed = AMPLIFIED.get(known.percent or 0.0, 1.0) * abs(share)
    return math.log1p(changed) if known.negligible is None else changed * abs(window.value)
