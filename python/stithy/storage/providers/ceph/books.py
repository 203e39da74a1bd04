"""What a cluster that is there says of a pool: what it stores, whether it compresses, copies.

Its books are of whole pools: they tell the space of an image where the pool holds no other.
"""

from collections.abc import Callable
from typing import Any

from stithy.clock import Clock

Ask = Callable[..., Any]
"""Gives what a command of `ceph`, by its words, answers in JSON. Raises InfrastructureError."""

EMPTY_BYTES = 2**20
"""A pool without images has the names of those that it had."""

REPORTED_S = 6.0
"""OSDs report to the manager every 5 s. Source: mgr_stats_period of Ceph."""

SETTLED_S = 60.0
COMPRESSION = "compression_mode"


def redundancy_of(ask: Ask, pool: str) -> float:
    """Bytes on drives for a byte in a pool: its copies, or the shards of its erasure code."""
    known = next(each for each in ask("osd", "pool", "ls", "detail") if each["pool_name"] == pool)
    if not known["erasure_code_profile"]:
        return float(known["size"])
    code = ask("osd", "erasure-code-profile", "get", known["erasure_code_profile"])
    return (int(code["k"]) + int(code["m"])) / int(code["k"])


def compresses(ask: Ask, pool: str) -> bool:
    """Whether a pool compresses, by its own options or those of all OSDs."""
    known = next(each for each in ask("osd", "pool", "ls", "detail") if each["pool_name"] == pool)
    mode = known.get("options", {}).get(COMPRESSION) or ask(
        "config", "get", "osd", f"bluestore_{COMPRESSION}"
    )
    return str(mode) != "none"


def used_bytes(ask: Ask, pool: str) -> int | None:
    """What a pool takes of all drives, copies and all; None where no manager says it."""
    if not ask("mgr", "stat").get("available"):
        return None
    pools = {each["name"]: each["stats"] for each in ask("df", "detail")["pools"]}
    return int(pools[pool]["bytes_used"]) if pool in pools else None


def settled_bytes(ask: Ask, pool: str, clock: Clock) -> int | None:
    """The same once OSDs have reported what was written; None where it goes on changing."""
    until_s, before = clock.monotonic_s() + SETTLED_S, used_bytes(ask, pool)
    while before is not None and clock.monotonic_s() < until_s:
        clock.sleep_s(REPORTED_S)
        now = used_bytes(ask, pool)
        if now == before:
            return now
        before = now
    return None
