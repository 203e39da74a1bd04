"""The server of a database that nobody works on, for as long as its backups need it."""

from collections.abc import Iterator
from contextlib import contextmanager

from stithy.plan.steps import WindowPlan
from stithy.run.activity import Subject
from stithy.run.context import Context
from stithy.run.volumes import parts_of


@contextmanager
def running(context: Context, window: WindowPlan) -> Iterator[Subject]:
    """It runs within its memory limit, and is watched."""
    servers, log = context.servers, context.session.directory.window(window.id).server_log
    parts = parts_of(context.volumes.of(window.candidate))
    with servers.limited(window.candidate, window.point) as limit:
        cgroup = limit.group.path if limit.group else None
        with servers.running(
            window.candidate, log, point=window.point, memory_cgroup=cgroup
        ) as instance:
            yield Subject(
                database=instance,
                memory_cgroup=cgroup,
                cpus=servers.cpus,
                pids=frozenset({instance.pid}),
                log_folder=parts.log or parts.data / servers.engine.log_folder,
            )
