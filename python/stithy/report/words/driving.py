"""How the database was driven, as the page says it: the loop, the label of a profile, the reach."""

from collections.abc import Mapping, Sequence
from typing import Any

from stithy.plan.short import costs_of_short_windows
from stithy.results.manifest import LoadFacts
from stithy.workload import words
from stithy.workload.words import HAMMERDB, Reach

Row = Mapping[str, Any]

CLOSED = (
    "The users form a closed loop: each waits for its answer before it acts again, so a stall of "
    "the storage also stops the load, and response times during a stall are seen by as many "
    "transactions as there are users. Missed starts are the transactions that users would have "
    "begun at their usual pace while answers over ten times the median of their type held them up."
)
OPEN = (
    "The load is an open loop: transactions are due at a rate, whether those before are answered "
    "or not, so all that was due during a stall of the storage has waited since then, and its "
    "response time says so. A level is a number of connections. Unserved are the transactions that "
    "were due in the measurement and not begun by its end."
)


def short_windows(load: LoadFacts | None) -> tuple[str, ...]:
    """What windows shorter than usual cost, a sentence each."""
    return costs_of_short_windows(load.ramp_up_s, load.duration_s) if load else ()


def said(load: LoadFacts | None) -> str:
    """Loop and pace, connections, mix and keys, isolation, in one clause for every footer."""
    if load is None:
        return "How users acted is not recorded"
    is_open = load.rate_per_s is not None
    loop = words.loop(
        load.pace, load.think_s, load.rate_per_s, load.arrivals, deferred=load.deferred_delivery
    )
    parts = [
        loop[0].upper() + loop[1:],
        words.pool(load.connections, is_open=is_open),
        words.profile(load.profile),
        load.isolation.replace("-", " "),
    ]
    if load.touch_percent < 100:
        parts.insert(2, f"{load.touch_percent} % of the warehouses in reach")
    return ", ".join(parts)


def label(load: LoadFacts | None) -> str | None:
    """What must stand beside every number; None where nothing must."""
    return HAMMERDB if load is not None and load.profile == "hammerdb" else None


def level_name(load: LoadFacts | None) -> str:
    """What the levels of the horizontal axis are."""
    is_open = load is not None and load.rate_per_s is not None
    return "Connections of the open loop" if is_open else "Virtual users"


def level_unit(load: LoadFacts | None) -> str:
    """One of what a level counts."""
    return "connection" if load is not None and load.rate_per_s is not None else "user"


def paragraph(load: LoadFacts | None) -> str:
    """What kind of loop it was, and what that means for the numbers."""
    return OPEN if load is not None and load.rate_per_s is not None else CLOSED


def reached(rows: Sequence[Row]) -> str | None:
    """Touched data against memory, where users reach most; None where no window knows it.

    A memory limit that differs between windows is not in it: no single one would be true.
    """
    known = [each for each in rows if each["warehouses_touched"] is not None]
    if not known:
        return None
    row = max(known, key=lambda each: int(each["warehouses_touched"]))
    limits = {each["memory_limit_bytes"] for each in known if each["memory_limit_enforced"]}
    all_limited = all(each["memory_limit_enforced"] for each in known)
    limit_bytes = limits.pop() if all_limited and len(limits) == 1 else None
    sizes = (row["database_bytes"], row["shared_buffers_bytes"], limit_bytes)
    told = words.reach(Reach(row["warehouses_touched"], row["warehouses_total"], *sizes))
    differing = len({each["warehouses_touched"] for each in known}) > 1
    where = f"At {row['users']:,} users, " if differing else ""
    return f"{where}{told}." if where else f"{told[0].upper()}{told[1:]}."
