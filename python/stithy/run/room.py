"""Whether all candidates and the master copy fit together, by file system and in memory."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stithy.errors import PreconditionError
from stithy.plan.cost import sum_space
from stithy.plan.expand import suggest_less_room
from stithy.plan.steps import Plan
from stithy.run.volumes import KEEPER
from stithy.storage.provider import Room
from stithy.study.model import Study
from stithy.units import format_size

RESERVE_BYTES = 64 * 2**20
"""Left free on every file system: other programs write there too."""


def check_room(
    study: Study, plan: Plan, rooms: Mapping[str, Sequence[Room]], available: int
) -> None:
    """Raise unless all candidates fit together, by file system and in the `available` memory."""
    needs = {**sum_space(plan), KEEPER: plan.masters_bytes}
    shares = [
        _Share(name, room, needs[name] if room.takes_bytes is None else room.takes_bytes)
        for name, parts in rooms.items()
        for room in parts
    ]
    for place in dict.fromkeys(share.room.filesystem_id for share in shares):
        here = [share for share in shares if share.room.filesystem_id == place]
        needed = sum(share.size_bytes for share in here) + RESERVE_BYTES
        free = here[0].room.free_bytes
        if free is not None and needed > free:
            what = f"on {here[0].room.mount_point}"
            raise _make_room_problem(study, plan, here, needed, free, what)
    in_memory = [share for share in shares if share.room.memory_backed]
    server = max((database.memory_bytes for database in study.databases), default=0)
    needed = sum(share.size_bytes for share in in_memory) + server
    if in_memory and needed > available:
        what = "of memory, the server's included" if study.databases else "of memory"
        raise _make_room_problem(study, plan, in_memory, needed, available, what)


class _Share(NamedTuple):
    """What a candidate takes of one room."""

    candidate: str
    room: Room
    size_bytes: int


def _make_room_problem(
    study: Study, plan: Plan, shares: list[_Share], needed: int, free: int, what: str
) -> PreconditionError:
    names = list(dict.fromkeys(share.candidate for share in shares if share.candidate != KEEPER))
    kept = any(share.candidate == KEEPER for share in shares)
    results = f"--out, for the {'master copy' if plan.masters_bytes else 'results'}" if kept else ""
    images = any(share.room.takes_bytes is not None for share in shares)
    less = suggest_less_room(study)
    ways = [
        "make room",
        "give drives a smaller `size` or a directory as `backing`"
        if images
        else "name another directory",
        *(["name another --out"] if kept else []),
        *([f"use {less}"] if less else []),
    ]
    candidates = f"candidate{'s' if len(names) > 1 else ''} {' and '.join(names)}" if names else ""
    return PreconditionError(
        f"{format_size(needed)} may be needed {what}, {format_size(free)} are free",
        where=", and ".join(where for where in (candidates, results) if where),
        remedy=f"{', '.join(ways[:-1])}, or {ways[-1]}",
    )
