"""The server of a database that nobody works on, for as long as its backups need it."""

from collections.abc import Iterator
from contextlib import contextmanager

from stithy.plan.steps import WindowPlan
from stithy.run.activity import Subject
from stithy.run.context import Context


@contextmanager
def running(context: Context, window: WindowPlan) -> Iterator[Subject]:
    """It runs within its memory limit, and is watched."""
    servers, log = context.servers, context.session.directory.window(window.id).server_log
    with servers.limited(window.candidate, window.point) as limit:
        cgroup = limit.group.path if limit.group else None
        with servers.running(
            window.candidate, log, point=window.point, memory_cgroup=cgroup
        ) as instance:
            yield servers.watched(window, instance, cgroup)
