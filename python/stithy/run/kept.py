"""Copies of loaded databases beside them, on a candidate's storage, by an engine's own means."""

import os
from pathlib import Path

from stithy.engines.backup import BackupJob, BackupMethod, BackupOptions, Source
from stithy.engines.engine import get_engine
from stithy.engines.instance import Instance
from stithy.engines.served import ANSWER_PATIENCE_S, run_as_user
from stithy.errors import InfrastructureError
from stithy.hosts.runner import Command
from stithy.plan.steps import Dataset
from stithy.run.context import Context
from stithy.run.datasets import move_parts
from stithy.run.volumes import get_parts, own
from stithy.storage.consent import KEPT

PROCESSES_MAX = 8


def copy_kept(context: Context, candidate: str, dataset: Dataset, number: int | None) -> None:
    """Fill the empty directories of a database with the copy that is kept beside it."""
    parts = get_parts(context.volumes.of(candidate), number)
    method, job = _find_kept(context, candidate, dataset, number)
    for command in method.restore(job, parts.data):
        _run_tool(context, command, job.folder)
    move_parts(context.servers.find_held(candidate).engine, parts)


def keep_copy(
    context: Context, candidate: str, dataset: Dataset, number: int | None, instance: Instance
) -> None:
    """Copy the database of a running server beside it."""
    method, job = _find_kept(context, candidate, dataset, number)
    volumes = context.volumes
    job.folder.mkdir(mode=0o700)
    own(job.folder, volumes.host.user)
    source = Source(instance.url, get_parts(volumes.of(candidate), number).data)
    _run_tool(context, method.back_up(job, source), job.folder)


def _find_kept(
    context: Context, candidate: str, dataset: Dataset, number: int | None
) -> tuple[BackupMethod, BackupJob]:
    found = context.servers.find_held(candidate)
    method = get_engine(context.study_of(dataset.name).database.engine).native_copy
    assert method is not None  # as the caller knows
    name = f"{context.plan.datasets.index(dataset) + 1}-{number or 1}"
    folder = context.volumes.of(candidate).path / KEPT / name
    options = BackupOptions(processes=min(os.cpu_count() or 1, PROCESSES_MAX))
    return method, BackupJob(found.installation.programs, options, folder)


def _run_tool(context: Context, command: Command, where: Path) -> None:
    finished = run_as_user(context.host, command, ANSWER_PATIENCE_S)
    if finished.code != 0:
        program, lines = Path(command.argv[0]).name, finished.stderr.strip().splitlines()
        raise InfrastructureError(
            f"{program} ended with code {finished.code}: {' | '.join(lines[-3:])}",
            where=str(where),
            remedy="free space there, or look for errors of the device in the kernel log",
        )
