"""Which CPUs the database server may use.

A server that takes every CPU leaves none for what emulates its drives, and then feels the
emulation's wants as the drives'. Real drives bring their own processors.
"""

import os

from stithy.errors import PreconditionError


def server_cpus(
    asked: int | None, *, emulated: bool, usable: frozenset[int] | None = None
) -> tuple[int, ...] | None:
    """Numbers of the CPUs to which the server is bound, rising; None where it may use any.

    `asked` as the study says. By default one is left over where drives are `emulated` and there are
    two at least. `usable` are the CPUs that this process may use. Raises PreconditionError where
    there are not as many.
    """
    there = sorted(os.sched_getaffinity(0) if usable is None else usable)
    if asked is None:
        # The first ones serve most interrupts, so it is one of them that is left over.
        return tuple(there[1:]) if emulated and len(there) > 1 else None
    if asked > len(there):
        raise PreconditionError(
            f"the study gives the server {asked} CPUs, and this process may use {len(there)}",
            where="database.cpus",
            remedy="ask for fewer, or leave it out",
        )
    return tuple(there[-asked:])
