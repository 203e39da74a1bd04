"""The memory limit of one server's life: made for it, read at its end, removed after it.

Each start gets a group of its own, so that its highest use is its own, and no page that an earlier
server left behind is charged to it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stithy.hosts.cgroup import Limit, make_group
from stithy.run.context import Context
from stithy.run.events import Note
from stithy.run.undoing.register import Making
from stithy.units import format_size


@contextmanager
def limited(context: Context, candidate: str) -> Iterator[Limit]:
    """The study's limit for a server on this candidate; whether it holds is in the result."""
    context.state.starts += 1
    made: list[Making] = []

    def record(path: Path) -> None:
        made.append(context.record("cgroup", {"path": str(path), "candidate": candidate}))

    wanted, widened = limit_of(context, candidate)
    name = f"stithy-{context.run_id}-{context.state.starts}"
    limit = make_group(name, wanted, runner=context.runner, record=record)
    if limit.group is not None:
        limit = Limit(limit.group, widened)
    _tell_once(context, candidate, limit)
    try:
        yield limit
    finally:
        for making in made:
            context.unmake(making)


def limit_of(context: Context, candidate: str) -> tuple[int, str | None]:
    """The limit in bytes, and how it was widened.

    Pages of a volume in memory are charged to whoever writes them, so the limit grows by what the
    server's files may come to: else the server would be killed for its own files. The master copy
    is not among them, the server never writes it.
    """
    memory_bytes = context.file.study.database.memory_bytes
    volume = context.volume(candidate)
    if not volume.memory_backed:
        return memory_bytes, None
    held = context.plan.database_bytes + context.plan.growth_bytes
    return memory_bytes + held, (
        f"the limit of {format_size(memory_bytes)} was widened by {format_size(held)}, what its "
        f"files may come to, because the pages of {volume.filesystem} are memory"
    )


def _tell_once(context: Context, candidate: str, limit: Limit) -> None:
    before = context.state.limits.get(candidate)
    context.state.limits[candidate] = (limit.group is not None, limit.note)
    if limit.note and before != context.state.limits[candidate]:
        context.tell(Note(f"{candidate}: {limit.note}"))
