"""One backup of a running server, and one restore into a directory of its own.

The programs run as the server's user, for as long as they need or until the run is to stop. The
database that is backed up is only read, by its own server.
"""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from stithy.database.backup import Method, Options, Source, Tools, method_of
from stithy.database.engine import Instance
from stithy.errors import Interrupted
from stithy.hosts.processes import end
from stithy.hosts.runner import Command
from stithy.plan.scenarios.backup import spec_of
from stithy.plan.steps import WindowPlan
from stithy.run.context import Context
from stithy.run.volumes import parts_of
from stithy.storage.copy import sync_filesystem
from stithy.study.model import Study

FOLDER, RESTORED = "backup", "restored"
"""Directories of a candidate: the last backup, on the volume of its role; and what was restored."""

PAUSE_S = 0.02
LAST_LINES = 3


@dataclass(frozen=True)
class Cycle:
    """A backup or a restore, Unix time. `failed_because` None: it succeeded."""

    from_s: float
    to_s: float
    source_bytes: int
    size_bytes: int | None = None
    failed_because: str | None = None

    @property
    def duration_s(self) -> float:
        """How long it took."""
        return self.to_s - self.from_s


@dataclass(frozen=True)
class Backups:
    """What backs a candidate's database up, by the method of a study."""

    context: Context
    candidate: str
    method: Method
    options: Options

    def take(self, instance: Instance, log: Path) -> Cycle:
        """Back the server up, instead of the backup before. Raises Interrupted, nothing else."""
        context = self.context
        began_s, size = context.session.clock.now_s(), self._database_bytes()
        target = context.volumes.make_tree(self.candidate, FOLDER, "backup")
        command = self.method.take(self._tools, Source(instance.url), target, self.options)
        because = self._run(command, log)
        return Cycle(began_s, context.session.clock.now_s(), size, size_of(target), because)

    @contextmanager
    def restored(self, log: Path) -> Iterator[tuple[Cycle, Instance | None]]:
        """A second server on what the last backup holds; None where it cannot be restored.

        The time is until the server answers. Its files are removed at the end.
        """
        context, began_s = self.context, self.context.session.clock.now_s()
        data = context.volumes.make_tree(self.candidate, RESTORED)
        place = context.volumes.of(self.candidate).path
        folder = context.volumes.of(self.candidate).of("backup").path / FOLDER
        try:
            commands = self.method.restore(self._tools, folder, data, self.options)
            because = next(filter(None, (self._run(each, log) for each in commands)), None)
            if because is not None:
                yield Cycle(began_s, context.session.clock.now_s(), 0, None, because), None
                return
            sync_filesystem(data)
            with context.servers.second(self.candidate, data, log) as instance:
                ended_s, size = context.session.clock.now_s(), size_of(data, self._log_folder)
                yield Cycle(began_s, ended_s, size), instance
        finally:
            context.volumes.remove(place, RESTORED)

    def remove(self) -> None:
        """Remove the last backup."""
        place = self.context.volumes.of(self.candidate).of("backup").path
        self.context.volumes.remove(place, FOLDER)

    @property
    def _tools(self) -> Tools:
        return Tools(self.context.servers.installation.programs)

    @property
    def _log_folder(self) -> str:
        return self.context.servers.engine.log_folder

    def _database_bytes(self) -> int:
        parts = parts_of(self.context.volumes.of(self.candidate))
        return size_of(parts.data, self._log_folder)

    def _run(self, command: Command, log: Path) -> str | None:
        """Run it to its end; why it failed, None where it did not. Raises Interrupted."""
        context, host = self.context, self.context.host
        program = Path(command.argv[0]).name
        own = replace(command, user=host.user.name if host.user else None, detached=True)
        since = log.stat().st_size if log.exists() else 0
        process = host.runner.start(own, stderr=log)
        while (code := process.poll()) is None:
            if context.session.stop.asked.wait(PAUSE_S):
                end([process.pid], signal.SIGTERM)
                process.wait(10)
                raise Interrupted("stopped by a person", where=program, remedy="`stithy resume`")
        if code == 0:
            return None
        said = log.read_text(errors="replace")[since:].strip().splitlines()[-LAST_LINES:]
        ended = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return " | ".join([f"{program} {ended}", *said])


def backups_of(context: Context, candidate: str, study: Study) -> Backups:
    """As a study has them, at one of its points."""
    spec = spec_of(study)
    method = method_of(study.database.engine, spec.method)
    return Backups(context, candidate, method, spec.options)


def backups_at(context: Context, window: WindowPlan) -> Backups:
    """Those of a window."""
    return backups_of(context, window.candidate, context.file.study.at(window.point))


def size_of(root: Path, without: str | None = None) -> int:
    """The bytes of all files below a directory, some of which may vanish meanwhile."""
    return sum(_sizes(root, without))


def _sizes(root: Path, without: str | None) -> Iterable[int]:
    for folder, folders, names in os.walk(root):
        if folder == str(root) and without in folders:
            folders.remove(str(without))
        for name in names:
            with suppress(OSError):
                yield (Path(folder) / name).lstat().st_size
