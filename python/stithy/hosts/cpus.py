"""Which CPUs the database server may use, and which are for all that is not the server.

A server that takes every CPU leaves none for what emulates its drives, and then feels the
emulation's wants as the drives'. Real drives bring their own processors, and real users come from
other machines: so neither drives nor driver may take a cycle of the server's CPUs, either. Where
the scheduler is left to choose, it wakes a drive on the CPU of the server that waits for it, or on
another, for seconds at a time, and the throughput jumps by half from one mode to the other
(benches/NOTES.md, "Two speeds").
"""

import os

from stithy.errors import PreconditionError


def server_cpus(
    asked: int | None, *, emulated: bool, usable: frozenset[int] | None = None
) -> tuple[int, ...] | None:
    """Numbers of the CPUs to which the server is bound, rising; None where it may use any.

    `asked` as the study says. By default a quarter, and one at least, is left over where drives are
    `emulated` and there are two at least. `usable` are the CPUs that this process may use. Raises
    PreconditionError where there are not as many.
    """
    there = sorted(os.sched_getaffinity(0) if usable is None else usable)
    if asked is None:
        # The first ones serve most interrupts, so it is they that are left over.
        return tuple(there[max(1, len(there) // 4) :]) if emulated and len(there) > 1 else None
    if asked > len(there):
        raise PreconditionError(
            f"the study gives the server {asked} CPUs, and this process may use {len(there)}",
            where="database.cpus",
            remedy="ask for fewer, or leave it out",
        )
    return tuple(there[-asked:])


def other_cpus(
    servers: tuple[int, ...] | None, usable: frozenset[int] | None = None
) -> tuple[int, ...] | None:
    """Numbers of the CPUs that are not the server's, rising; None where there is no such CPU."""
    there = sorted(os.sched_getaffinity(0) if usable is None else usable)
    if servers is None:
        return None
    return tuple(cpu for cpu in there if cpu not in servers) or None
