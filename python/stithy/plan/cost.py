"""What each step is expected to take: time, space on the candidate's storage, memory.

Estimates before anything was measured, from the study alone: likely values of a small machine with
an ordinary solid-state drive, and upper bounds that an old laptop should keep. The machine is never
asked. Space is planned for, not hoped for: it is the bound that a volume must have room for.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stithy.plan.steps import Cost, Plan, Step
from stithy.point import Point
from stithy.storage.provider import Role
from stithy.study.database import log_bytes
from stithy.study.load_keys import DURATION_S, RAMP_UP_S, Load
from stithy.study.model import Study
from stithy.units import format_duration
from stithy.workloads.workload import Workload

COPY_BYTES_PER_S = 120 * 2**20
"""A copy, made durable and proven equal; `COPY_BYTES_PER_S_MIN` is that of a busy hard disk."""
COPY_BYTES_PER_S_MIN = 30 * 2**20
ROWS_BYTES_PER_S = 100 * 2**20
"""Every row read and hashed by one process of the server; measured: 300 MB/s from memory."""
ALONE = 2.0
"""How much longer loading takes with a single loader; measured: as long with two CPUs, of which it
keeps one and the server the other; with more of them it loses more.
"""
TRANSACTIONS_PER_S_MAX = 10_000
"""Above what the machines do on which a study runs without other hosts; bounds the growth."""
TRANSACTIONS_PER_S_USER_MAX = 1_000
"""One user back to back at 1 ms a transaction."""
UNEVEN = 1.2
"""Arrivals by chance may be more in a window than on average."""
LEDGER_S = 2.0
"""Comparing the ledger of a short window; of a long one each million of orders takes seconds."""
CALIBRATE_S = 20.0
"""Some twenty trials of a rate, a second each; where users pause, as many again of their number."""
BASELINE_CHECK_S = 0.8
BASELINE_CHECK_MOST_S = 10.0
"""Most of it is fixed; the first one makes its file, on whatever disk temporary files are."""
QUIET_S = 3.0
"""Own: so long no look may meet other programs; a machine that is quiet costs a block no more."""
SLOWER = 4.0
"""How much longer than likely a step that works on the database may take."""


@dataclass(frozen=True)
class DatabaseSizes:
    """The sizes that all costs come from, bytes.

    `data_bytes` is the loaded database; `database_bytes` adds the write-ahead log at its largest;
    `growth_bytes` is what the longest window and the checks after it may add;
    `spilled_bytes` what temporary files may take. `log_bytes` are the log files that the master
    copy holds, so that no window has to create one.
    """

    data_bytes: int
    database_bytes: int
    growth_bytes: int
    spilled_bytes: int
    log_bytes: int
    units: int


def estimate_sizes(study: Study, workload: Workload, variants: Sequence[Study]) -> DatabaseSizes:
    """The sizes of a study's database with one dataset; `variants` are the study where it has it.

    All candidates and points of an engine get the same room for the log.
    """
    units = variants[0].workload.units
    # The users who work on the loaded database before it is kept do at most so much.
    worked_s = study.load.precondition.for_s if study.load.precondition else 0.0
    aged = worked_s * bound_transactions_per_s(study, workload) * workload.bytes_per_transaction
    data = workload.data_bytes(variants[0].workload.size) + round(aged)
    transactions = max(_count_transactions(variant, workload) for variant in variants)
    log = bound_log_bytes(study, variants[0].database.engine)
    return DatabaseSizes(
        data_bytes=data,
        database_bytes=data + log,
        growth_bytes=round(
            transactions * workload.bytes_per_transaction + workload.bytes_spilled * data
        ),
        spilled_bytes=round(data * max(SPILLED, workload.bytes_spilled)),
        # More than the log may hold is recycled while a window runs.
        log_bytes=min(log, round(transactions * workload.log_bytes_per_transaction)),
        units=units,
    )


def bound_log_bytes(study: Study, engine: str) -> int:
    """The most that an engine's log holds on any candidate: all get the same files and room."""
    window_s = study.load.ramp_up_s + study.load.duration_s
    every = (database for database in study.databases if database.engine == engine)
    return max(log_bytes(engine, database.settings, window_s) for database in every)


def estimate_logged_bytes(study: Study, workload: Workload) -> int:
    """The most that a window logs, bytes, however much of it is recycled meanwhile."""
    return round(_count_transactions(study, workload) * workload.log_bytes_per_transaction)


def _count_transactions(study: Study, workload: Workload) -> float:
    window_s = study.load.ramp_up_s + study.load.duration_s
    return window_s * bound_transactions_per_s(study, workload)


def bound_transactions_per_s(study: Study, workload: Workload) -> float:
    """The most transactions a second that are planned for, at any level."""
    load = study.load
    asked = bound_paced_per_s(load, workload, load.users_max)
    if load.rate_per_s is None:  # a share of a maximum is no more than its users can do
        asked = min(asked, load.connections_max * TRANSACTIONS_PER_S_USER_MAX)
    return min(TRANSACTIONS_PER_S_MAX, asked)


def bound_paced_per_s(load: Load, workload: Workload, users: int) -> float:
    """The most transactions a second that so many users ask for; infinite without pauses.

    Who thinks between transactions, or acts at a rate, does not more however fast the storage is.
    """
    if load.rate_per_s is not None:
        return UNEVEN * load.rate_per_s
    if load.pace.think_s is not None:
        return UNEVEN * users / load.pace.think_s
    is_keyed, pause_s = load.pace.kind == "keyed", workload.pause_s
    return UNEVEN * users / pause_s if is_keyed and pause_s is not None else math.inf


def sum_held_bytes(size: DatabaseSizes) -> int:
    """What a candidate's volume holds at most: its database, grown."""
    return size.database_bytes + size.growth_bytes


LOG_SLACK_BYTES = 256 * 2**20
"""Own: segments that a server makes before it has recycled the old ones."""
UNDO_BYTES_MIN = 256 * 2**20
"""Own: its new files, several times over; they grow by what a window changes and nobody purges."""
TEMP_BYTES_MIN = 512 * 2**20
SPILLED = 0.25
"""Own: what sorts of the workloads here spill, the second of the database where that is more."""


def sum_role_bytes(
    study: Study, sizes: Sequence[DatabaseSizes], inside_bytes: int = 0
) -> dict[Role, int]:
    """What each role of a candidate may come to hold, bytes, where it has a volume of its own.

    It holds the database of one of the datasets at a time, with the `inside_bytes` that its server
    keeps beside it; of several instances each comes to that.
    """
    log = max(bound_log_bytes(study, engine) for engine in study.engines)
    held = max(map(sum_held_bytes, sizes))
    return {
        "data": held + inside_bytes,
        "log": log + LOG_SLACK_BYTES,
        "undo": UNDO_BYTES_MIN + max(size.growth_bytes for size in sizes),
        "temp": max(TEMP_BYTES_MIN, *(size.spilled_bytes for size in sizes)),
        "backup": held,
        "target": held,
    }


WRITTEN_BYTES_PER_S = 100 * 2**20
WRITTEN_BYTES_PER_S_MIN = 5 * 2**20
"""How fast files are written or read back as a whole: likely, and at least."""


def estimate_writing(size_bytes: int, held: int, memory: int) -> Cost:
    """Writing so much before the first window, or reading it back after the last."""
    likely_s, bound_s = size_bytes / WRITTEN_BYTES_PER_S, size_bytes / WRITTEN_BYTES_PER_S_MIN
    return Cost(1 + likely_s, 10 + bound_s, held, memory)


def provision(held: int) -> Cost:
    """Making a volume; its space is what it will hold at most, later on."""
    return Cost(time_s=1.0, time_s_max=10.0, space_bytes=held, memory_bytes=0)


def prepare(size: DatabaseSizes, workload: Workload, memory: int) -> Cost:
    """Making a server, loading, and the clean-up after it."""
    return _estimate_loading(size, size.units * workload.load_s_per_unit, memory)


def prepare_alone(size: DatabaseSizes, workload: Workload, memory: int) -> Cost:
    """The same with a single loader, which puts every row into the same place each time."""
    return _estimate_loading(size, ALONE * size.units * workload.load_s_per_unit, memory)


def _estimate_loading(size: DatabaseSizes, loading_s: float, memory: int) -> Cost:
    likely_s = 6.0 + loading_s
    return Cost(likely_s, SLOWER * likely_s, size.database_bytes, memory)


def estimate_checksums(size: DatabaseSizes, memory: int) -> Cost:
    """Reading every row, with a server that is started for it."""
    likely_s = 1.0 + size.data_bytes / ROWS_BYTES_PER_S
    return Cost(likely_s, SLOWER * likely_s, size.database_bytes, memory)


def add_costs(parts: Sequence[Cost]) -> Cost:
    """Of one step that does all of these."""
    return Cost(
        sum(part.time_s for part in parts),
        sum(each.time_s_max for each in parts),
        max(each.space_bytes for each in parts),
        max(each.memory_bytes for each in parts),
    )


def calibrate(study: Study, size: DatabaseSizes, memory: int) -> Cost:
    """Finding out what the driver keeps up with; nothing is written."""
    likely_s = CALIBRATE_S * (2 if study.load.pauses else 1)
    return Cost(likely_s, SLOWER * likely_s, size.database_bytes, memory)


def estimate_copying(size: DatabaseSizes, memory: int) -> Cost:
    """Copying a loaded database, made durable and proven equal."""
    copied = size.data_bytes + size.log_bytes
    likely_s = 1.0 + copied / COPY_BYTES_PER_S
    bound_s = 10.0 + copied / COPY_BYTES_PER_S_MIN
    return Cost(likely_s, bound_s, size.database_bytes, memory)


def estimate_baseline_check(wait_s: float) -> Cost:
    """A wait for a quiet machine of at most `wait_s`, and a moment of work that compares nobody."""
    likely_s, bound_s = BASELINE_CHECK_S + min(QUIET_S, wait_s), BASELINE_CHECK_MOST_S + wait_s
    return Cost(likely_s, bound_s, space_bytes=0, memory_bytes=0)


def estimate_idle(idle_s: float) -> Cost:
    """The idle machine for so long, and the last rows of meters that are files."""
    return Cost(idle_s + 3.0, idle_s + 30.0, space_bytes=0, memory_bytes=0)


def estimate_preconditioning(study: Study, size: DatabaseSizes, memory: int) -> Cost:
    """Users who work on the loaded database before it is kept; a server is started for them."""
    asked = study.load.precondition
    work_s = asked.for_s if asked else 0.0
    around_s = CALIBRATE_S / 4
    return Cost(work_s + around_s, work_s + SLOWER * around_s, size.database_bytes, memory)


def estimate_window(
    study: Study, size: DatabaseSizes, workload: Workload, held: int, memory: int
) -> Cost:
    """Starting and warming up, ramp-up, measurement, the quick check and the ledger behind it."""
    measured_s = study.load.ramp_up_s + study.load.duration_s
    conditions = workload.conditions
    around_s = 4.0 + (size.units * conditions.quick_s_per_unit if conditions else 0.0)
    around_s += LEDGER_S if study.load.ledger else 0.0
    return Cost(measured_s + around_s, measured_s + SLOWER * around_s, held, memory)


def check(size: DatabaseSizes, workload: Workload, held: int, memory: int) -> Cost:
    """All consistency conditions, as far as the workload has any."""
    conditions = workload.conditions
    likely_s = 1.0 + (size.units * conditions.s_per_unit if conditions else 0.0)
    return Cost(likely_s, SLOWER * likely_s, held, memory)


def tear_down(held: int) -> Cost:
    """Stopping and removing what was made."""
    return Cost(time_s=1.0, time_s_max=15.0, space_bytes=held, memory_bytes=0)


def list_certain(steps: Sequence[Step]) -> list[Step]:
    """The steps that are done in any case, however early the primary question is decided."""
    return [step for step in steps if not step.if_undecided]


def sum_s(steps: Iterable[Step]) -> tuple[float, float]:
    """The time of all these steps: likely, and the bound."""
    costs = [step.cost for step in steps]
    return sum(cost.time_s for cost in costs), sum(cost.time_s_max for cost in costs)


def list_times(steps: Sequence[Step]) -> dict[str, float]:
    """The times of all these steps as JSON has them."""
    time_s, time_s_max = sum_s(steps)
    least_s, _ = sum_s(list_certain(steps))
    return {"time_s_least": least_s, "time_s": time_s, "time_s_max": time_s_max}


def estimate_again_s(steps: Iterable[Step]) -> float:
    """The likely time of the longest block, if it must be measured once more."""
    blocks: dict[tuple[Point, int], float] = {}
    for step in steps:
        if step.window is not None:
            key = (step.window.point, step.window.block)
            blocks[key] = blocks.get(key, 0.0) + step.cost.time_s
    return max(blocks.values(), default=0.0)


def sum_space(plan: Plan) -> dict[str, int]:
    """The room that each candidate needs, bytes: the most that any step leaves on its volume."""
    needs: dict[str, int] = {}
    for step in plan.steps:
        if step.candidate is not None:
            needs[step.candidate] = max(needs.get(step.candidate, 0), step.cost.space_bytes)
    return needs


def bound_memory_bytes(plan: Plan) -> int:
    """The most memory that a step may use, for its server and for storage in memory, bytes."""
    return max(step.cost.memory_bytes for step in plan.steps)


def explain_short_windows(ramp_up_s: float, duration_s: float) -> tuple[str, ...]:
    """A sentence for each part of the windows that is shorter than its default; in seconds."""
    shown = []
    if ramp_up_s < RAMP_UP_S:
        shown.append(
            f"A ramp-up of {format_duration(ramp_up_s)} instead of {format_duration(RAMP_UP_S)}: "
            "caches, log and drive may not be settled when the measurement begins."
        )
    if duration_s < DURATION_S:
        shown.append(
            f"Windows of {format_duration(duration_s)} instead of {format_duration(DURATION_S)}: "
            "they vary more, so a verdict takes more blocks. Few of them contain a checkpoint or a "
            "stall. High percentiles rest on few answers."
        )
    return tuple(shown)
