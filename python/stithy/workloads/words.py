"""How users were driven, in the words that the report and the command line share."""

from collections.abc import Collection

from stithy.units import format_duration, format_rate, format_size

NULL = "NULL STUDY: both candidates are identical"
EMULATED = "EMULATED drive"
"""What every output says of such a run, and of such a candidate."""

IDLE = "No users: the database is idle"
"""Instead of loop and pace, where nobody works."""

SEVERAL_POOLS = "over pools of several sizes"

PACE = frozenset({"pace", "think_s", "rate_per_s", "arrivals"})
"""What of a load says when users act, by the manifest's names."""


def describe_loop(
    pace: str,
    think_s: float | None,
    rate_per_s: float | None,
    arrivals: str | None = None,
    *,
    varied: Collection[str] = (),
) -> str:
    """Kind of loop and pace: `closed loop, think 2 s`, `open loop, 500/s Poisson`.

    `varied`: what of it is not the same at all points, by the manifest's names.
    """
    if PACE.intersection(varied):
        kind = "open" if pace == "rate" else "closed"
        return f"{kind} loop, at several paces"
    law = {"poisson": " Poisson", "constant": " at constant intervals"}.get(arrivals or "", "")
    if rate_per_s is not None:
        return f"open loop, {format_rate(rate_per_s)}{law}"
    if pace == "rate":
        return f"open loop,{law} at shares of the measured maximum"
    if pace == "think" and think_s is not None:
        return f"closed loop, think {format_duration(think_s)}"
    words = {"none": "back to back", "keyed": "keyed as specified"}
    return f"closed loop, {words.get(pace, f'pace {pace}')}"


def describe_pool(connections: int | None, *, is_open: bool = False) -> str:
    """What users share: `over 64 connections`, or one each."""
    if connections is not None:
        return f"over {connections:,} {'connection' if connections == 1 else 'connections'}"
    return "users are connections" if is_open else "one connection per user"


LOCAL = "local"
"""Where a load driver is that is on the server's machine."""


def describe_network(network: str, *, varied: bool) -> list[str]:
    """Say over what users come; nothing of those who are on the server's machine."""
    if varied:
        return ["over several networks"]
    return [] if network == LOCAL else [f"over a network of {network}"]


def describe_headroom(connections: int, rate_per_s_max: float | None) -> str:
    """What a calibration found: the highest rate on time, None where every rate was late."""
    over = describe_pool(connections)
    if rate_per_s_max is None:
        return f"late at every rate {over}: this host is busy, or too slow for the driver"
    return f"on time up to {rate_per_s_max:,.0f} transactions per second {over}"


def describe_reach(
    touched: int,
    total: int,
    units: str,
    database_bytes: int | None,
    buffer_pool_bytes: int | None,
    memory_limit_bytes: int | None = None,
    *,
    buffers: str,
) -> str:
    """Touched data against memory: `users reach about 338 MiB of 1.1 GiB; the database has …`.

    `touched` of `total` units of the workload, several of which are called `units`; `buffers`: what
    the engine calls its buffer pool. Sizes are None where they are not known.
    """
    part = f"{touched:,} of {total:,} {units}"
    if database_bytes is None:
        data = part
    elif touched == total:
        data = f"all {format_size(database_bytes)}"
    else:
        data = f"about {format_size(database_bytes * touched / total)} of "
        data += f"{format_size(database_bytes)} ({part})"
    known = []
    if buffer_pool_bytes is not None:
        known.append(f"{format_size(buffer_pool_bytes)} of {buffers}")
    if memory_limit_bytes is not None:
        known.append(f"a memory limit of {format_size(memory_limit_bytes)}")
    server = f"; the database has {' and '.join(known)}" if known else ""
    return f"users touch {data}{server}"
