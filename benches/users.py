"""Thousands of virtual users over few connections: is the driver on time, and what does it take?

Each case is one run of the hammer against an instance of its own resource, beside it on the same
machine, as a study on one machine has it. `--long` measures ten minutes of keyed users instead of
one, `--hour` watches the driver's memory for an hour; `--quick` looks only briefly.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import measurements
from instance import SETTINGS, Instance, started
from kept import NOT_VALID, TARGET_MISSED, keep
from stithy.results.hlog import decode
from stithy.wire.jobs import Keyed, Pace, RunJob, WireThink
from stithy.wire.program import HAMMER, find_program
from stithy.workloads.order_entry import Choice

WORKLOAD = Choice(warehouses=10)
KEYED_CYCLE_S = 20.7
"""Mean keying and thinking; clauses 5.2.4.2 and 5.2.5.7 of the specification."""
NEW_ORDER_SHARE = 10 / 23
RATE_TOLERANCE = 0.02
GROWTH_MOST = 0.02


@dataclass(frozen=True)
class Case:
    """A number of users, how they act, and what the driver may take for them.

    `cpu_share_most` is a share of one core; None where no target is set, as for the other bounds.
    """

    name: str
    users: int
    connections: int
    pace: Pace
    users_per_warehouse: int | None
    ramp_up_s: float
    duration_s: float
    lateness_p99_most_s: float
    memory_most_bytes: int
    cpu_share_most: float | None = None
    start_most_s: float | None = None


@dataclass(frozen=True)
class Taken:
    """What a case took.

    `start_s` is from the program's start to the last seated user; `memory_bytes` the resident set,
    second by second; `new_order_ratio` the measured rate over the arithmetic one, None where the
    pace is not keyed.
    """

    summary: dict  # type: ignore[type-arg]  # plain JSON
    start_s: float
    memory_bytes: tuple[int, ...]
    memory_most_bytes: int
    cpu_share: float
    new_order_ratio: float | None

    @property
    def lateness_p99_s(self) -> float:
        """The driver's lateness."""
        return decode(self.summary["lateness"]).percentile_s(99) or 0.0

    @property
    def errors(self) -> int:
        """Unexpected errors of the whole run."""
        return sum(int(error["count"]) for error in self.summary["errors"])


def keyed(duration_s: float) -> Case:
    """The specified waits, 1,500 users to a warehouse."""
    return Case(
        "15,000 keyed users, 64 connections, 10 warehouses",
        users=15_000,
        connections=64,
        pace=Keyed(),
        users_per_warehouse=1_500,
        ramp_up_s=10.0,
        duration_s=duration_s,
        lateness_p99_most_s=0.005,
        memory_most_bytes=300 * 10**6,
        cpu_share_most=0.20,
    )


def idle(duration_s: float) -> Case:
    """Users who mostly think."""
    return Case(
        "100,000 users, think 60 s, 64 connections",
        users=100_000,
        connections=64,
        pace=WireThink(mean_s=60.0),
        users_per_warehouse=None,
        ramp_up_s=10.0,
        duration_s=duration_s,
        lateness_p99_most_s=0.010,
        memory_most_bytes=10**9,
        start_most_s=5.0,
    )


def hour() -> Case:
    """Long enough for anything that grows to be seen."""
    return Case(
        "3,000 keyed users for an hour",
        users=3_000,
        connections=64,
        pace=Keyed(),
        users_per_warehouse=300,
        ramp_up_s=10.0,
        duration_s=3_600.0,
        lateness_p99_most_s=0.005,
        memory_most_bytes=300 * 10**6,
    )


def main(words: list[str]) -> int:
    """Measure, show, keep; 99 where a target is missed, 5 where a run is not valid."""
    cases = list(chosen(words))
    with started() as instance:
        load(instance)
        done = []
        for case in cases:
            print(f"users: {case.name}, {case.duration_s:.0f} s", file=sys.stderr, flush=True)
            taken = measured(instance, case)
            done.append((case, taken))
            for line in lines(case, taken):
                print(line)
        broken = measurements.broken_conditions(instance, after_load=False, workload=WORKLOAD)
    print(f"consistency conditions after the runs: {broken or 'all hold'}")
    if "--quick" not in words:
        keep_all(done, broken)
    if broken or any(taken.errors or not taken.summary["complete"] for _, taken in done):
        return NOT_VALID
    met = all(met for case, taken in done for _, met in verdicts(case, taken))
    return 0 if met else TARGET_MISSED


def chosen(words: list[str]) -> Iterator[Case]:
    """The cases that the command's words ask for."""
    if "--hour" in words:
        yield hour()
    elif "--long" in words:
        yield keyed(600.0)
    elif "--quick" in words:
        yield keyed(10.0)
        yield idle(10.0)
    else:
        yield keyed(60.0)
        yield idle(30.0)


def load(instance: Instance) -> None:
    """Ten warehouses, vacuumed."""
    measurements.prepare(instance, workload=WORKLOAD)
    instance.sql("VACUUM (FREEZE, ANALYZE)", measurements.DRIVEN)
    instance.sql("CHECKPOINT")


def measured(instance: Instance, case: Case) -> Taken:
    """One run of the hammer, watched from outside."""
    job = RunJob(
        url=instance.url(measurements.DRIVEN),
        workload=WORKLOAD.model_copy(
            update={
                "users_per_warehouse": case.users_per_warehouse,
                "deferred_delivery": isinstance(case.pace, Keyed),
            }
        ),
        seed=1,
        users=case.users,
        connections=case.connections,
        pace=case.pace,
        ramp_up_s=case.ramp_up_s,
        duration_s=case.duration_s,
        isolation="read-committed",
        error_limit=10,
        hlog_stem=None,
        ledger=None,
    )
    begun_s = time.monotonic()
    command = [str(find_program(HAMMER))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(job.model_dump_json().encode())
        process.stdin.close()
        watch = Watch(process.pid)
        messages, first_s = [], None
        for line in process.stdout:
            messages.append(json.loads(line))
            if first_s is None and messages[-1]["message"] == "second":
                # The first second is told when it is over.
                first_s = time.monotonic() - begun_s - 1.0
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if messages[-1]["message"] != "run-summary" or first_s is None:
        raise SystemExit(f"the hammer did not come to a summary: {messages[-1]}")
    summary = messages[-1]
    return Taken(
        summary=summary,
        start_s=first_s,
        memory_bytes=watch.stop(),
        memory_most_bytes=usage.ru_maxrss * 1024,
        cpu_share=summary["driver"]["cpu_s"] / case.duration_s,
        new_order_ratio=new_order_ratio(case, summary) if isinstance(case.pace, Keyed) else None,
    )


class Watch:
    """Reads the resident set of a process once a second."""

    def __init__(self, pid: int) -> None:
        """Begin."""
        self._file = Path(f"/proc/{pid}/statm")
        self._read: list[int] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        while not self._ended.wait(1.0):
            try:
                resident = int(self._file.read_text().split()[1])
            except (OSError, IndexError):
                return
            if resident:
                self._read.append(resident * page_bytes)

    def stop(self) -> tuple[int, ...]:
        """What was read."""
        self._ended.set()
        self._thread.join()
        return tuple(self._read)


def new_order_ratio(case: Case, summary: dict) -> float:  # type: ignore[type-arg]  # plain JSON
    """New orders a second over users / (keying + thinking + response) x their share of the mix.

    Nobody waits for a deferred delivery: its response time is not the user's.
    """
    seconds = summary["measure_to_s"] - summary["measure_from_s"]
    kinds = {kind["name"]: decode(kind["response"]) for kind in summary["transactions"]}
    count = sum(kind.count for kind in kinds.values())
    awaited = [kind for name, kind in kinds.items() if name != "delivery"]
    response_s = sum(kind.count * (kind.mean_s or 0.0) for kind in awaited) / count
    arithmetic = case.users * NEW_ORDER_SHARE / (KEYED_CYCLE_S + response_s)
    return float(kinds["new-order"].count / seconds / arithmetic)


def verdicts(case: Case, taken: Taken) -> Iterator[tuple[str, bool]]:
    """Each target in words, and whether it is met."""
    late_ms, most_ms = taken.lateness_p99_s * 1000, case.lateness_p99_most_s * 1000
    yield f"lateness p99 {late_ms:.2f} ms, at most {most_ms:g}", late_ms <= most_ms
    memory, most = taken.memory_most_bytes, case.memory_most_bytes
    yield f"memory {memory / 1e6:.0f} MB, at most {most / 1e6:.0f}", memory <= most
    if case.cpu_share_most is not None:
        share, limit = 100 * taken.cpu_share, 100 * case.cpu_share_most
        yield f"CPU {share:.1f} % of a core, at most {limit:.0f}", share <= limit
    if case.start_most_s is not None:
        start_s, limit = taken.start_s, case.start_most_s
        yield f"seated after {start_s:.2f} s, at most {limit:g}", start_s <= limit
    if taken.new_order_ratio is not None:
        off = abs(taken.new_order_ratio - 1)
        of_arithmetic = f"new orders {taken.new_order_ratio:.4f} of the arithmetic rate"
        yield f"{of_arithmetic}, within {RATE_TOLERANCE}", off <= RATE_TOLERANCE
    if case.duration_s >= 600:
        growth = flatness(case, taken)
        yield (
            f"memory grew by {100 * growth:+.1f} % from first to last fifth, at most "
            f"{100 * GROWTH_MOST:g}",
            growth <= GROWTH_MOST,
        )


def flatness(case: Case, taken: Taken) -> float:
    """Growth of the mean resident set from the first to the last fifth of the measurement."""
    read = taken.memory_bytes[int(case.ramp_up_s) :]
    fifth = len(read) // 5
    first, last = sum(read[:fifth]) / fifth, sum(read[-fifth:]) / fifth
    return last / first - 1


def lines(case: Case, taken: Taken) -> Iterator[str]:
    """What a person reads of a case."""
    summary = taken.summary
    kinds = summary["transactions"]
    done = sum(decode(kind["response"]).count for kind in kinds)
    waits = [decode(kind["pool_wait"]).percentile_s(99) or 0.0 for kind in kinds]
    yield f"{case.name}, {case.duration_s:.0f} s: {done / case.duration_s:,.0f} transactions/s"
    for words, met in verdicts(case, taken):
        yield f"  {words}: {'met' if met else 'MISSED'}"
    yield (
        f"  CPU {100 * taken.cpu_share:.1f} % of a core; longest wait for a connection (p99 of a "
        f"type) {max(waits) * 1000:.1f} ms; backlog {summary['backlog']}; errors {taken.errors}"
    )


def keep_all(done: list[tuple[Case, Taken]], broken: list[int]) -> None:
    """Every case with what it took and what that comes to."""
    rows = [
        {
            "case": asdict(case) | {"pace": case.pace.model_dump()},
            "taken": asdict(taken),
            "verdicts": dict(verdicts(case, taken)),
        }
        for case, taken in done
    ]
    keep("users", {"settings": SETTINGS}, {"broken": broken, "cases": rows})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
