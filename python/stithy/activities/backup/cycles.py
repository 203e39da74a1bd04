"""One backup of a running server, and one restore into a directory of its own.

The programs run as the server's user, for as long as they need or until the run is to stop. The
database that is backed up is only read, by its own server.
"""

import errno
import os
import re
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from stithy.activities.backup.by_agent import AgentClient
from stithy.agents.command_job import CommandEnd
from stithy.engines.backup import FULL, BackupJob, BackupMethod, BackupOptions, Source
from stithy.engines.engine import get_engine
from stithy.engines.instance import Endpoint, Instance
from stithy.errors import (
    REMEDIES,
    InfrastructureError,
    Interrupted,
    StithyError,
    convert_machine_failures,
)
from stithy.hosts.processes import end_tree
from stithy.hosts.runner import Command
from stithy.run.context import Context
from stithy.run.events import Note
from stithy.run.servers import FoundDatabase
from stithy.run.volumes import get_parts, own
from stithy.storage.copy import sync_filesystem
from stithy.storage.provider import Role

DONE, FAILED = "done", "failed"
HOLDS, NOT_CHECKED = "restored, all conditions hold", "restored, not checked"
NOTHING_LOST = "nothing acknowledged before it is missing"
LOST = "acknowledged work is missing in what was restored"
RESTORE_FAILED, UNEQUAL = "restore failed", "NOT EQUAL"
"""Outcomes. Only the last one says something of the backup; a failed one is made or tried again."""

_OF_THE_MACHINE = tuple(
    os.strerror(number).lower() for number in (*REMEDIES, errno.ENXIO, errno.ENODEV)
)
"""A drive that is gone answers with the last two, beside EIO."""
_KILLED = re.compile(r"\bsignal (?:1|2|3|9|15)\b|\bSIG(?:HUP|INT|QUIT|KILL|TERM)\b")
"""Signals by which others end a program. By the rest (SIGSEGV, SIGABRT) it fails by itself, as a
server does on files that are not whole."""


def is_of_the_machine(because: str) -> bool:
    """Whether a restore failed for what says nothing of the backup: killed, no room, device gone.

    `because`: what the program, the server or a call said.
    """
    said = because.lower()
    return bool(_KILLED.search(because)) or any(text in said for text in _OF_THE_MACHINE)


FOLDER, RESTORED = "backup", "restored"
"""Directories of a candidate: the last backup, on the volume of its role; and what was restored."""

PAUSE_S = 0.02
LAST_LINES = 3

_ONE_AT_A_TIME = threading.Lock()
"""Databases are made with files in the run's own directory, whose names are always the same."""


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


FAILURES_MOST = 3
"""Own: one may be killed, and a second; without a number they would fail hundreds of times."""


def is_hopeless(cycles: Sequence[Cycle]) -> bool:
    """Whether the last ones all failed, so that another is likely to."""
    last = cycles[-FAILURES_MOST:]
    return len(last) == FAILURES_MOST and all(line.failed_because for line in last)


@dataclass(frozen=True)
class Whose:
    """Which database is backed up, where it is not the candidate's own.

    `data`: its files. `prefix`: of the directories of its backup and of what is restored of it,
    which is on the volume of the `role`. `sockets`: by which those of the restored one's server
    differ. All that is started is in its groups, and is ended when `ended` is set.
    """

    data: Path
    prefix: str
    sockets: str
    role: Role
    memory_cgroup: Path | None
    io_cgroup: Path | None
    ended: threading.Event


@dataclass(frozen=True)
class Backups:
    """What backs a database up, by a method: the candidate's, or the one that `whose` names.

    `client`: the agent that makes backups in place of this host.
    """

    context: Context
    candidate: str
    method: BackupMethod
    options: BackupOptions
    whose: Whose | None = None
    client: AgentClient | None = None

    def prepare(self, log: Path) -> str:
        """Make the repository of a method that keeps one, while no server runs; what was done.

        Servers that are started later do what it needs of them. The full backup that others need is
        made, too, but of a neighbour's: its server begins it. Raises InfrastructureError.
        """
        context, servers, method = self.context, self.context.servers, self.method
        servers.more.pop(self._data, None)
        if not method.keeps_repository:
            return "nothing to prepare"
        context.volumes.make_tree(self.candidate, self._name(FOLDER), "backup")
        self._need(self._run_all(method.prepare(self._job, self._data), log))
        servers.more[self._data] = method.set_up_server(self._job, self._data)
        if self.options.kind == FULL:
            return "an empty repository"
        if self.whose is None:
            with servers.running(self.candidate, log.with_suffix(".server.log")) as instance:
                self.begin(instance, log)
        return f"a full backup for {self.options.kind} ones"

    def begin(self, instance: Instance, log: Path) -> None:
        """Make the full backup that others build on, where they do. Raises InfrastructureError."""
        if self.options.kind != FULL:
            full = replace(self._job, options=replace(self.options, kind=FULL))
            command = self.method.back_up(full, Source(instance.url, self._data))
            self._need(self._run(command, log)[1])

    def _need(self, failed_because: str | None) -> None:
        if failed_because is not None:
            problem = f"the repository of backups could not be made: {failed_because}"
            raise self.make_failure(problem)

    def make_failure(self, problem: str) -> InfrastructureError:
        """What failed for a reason that says nothing of the backup itself."""
        return InfrastructureError(
            problem,
            where=f"candidate {self.candidate}",
            remedy="correct what it names, then `stithy resume`",
        )

    def take(self, instance: Instance, log: Path) -> Cycle:
        """Back the server up, instead of the backup before. Raises Interrupted, nothing else.

        The time is that of the method's program; the backup before was removed by then.
        """
        context = self.context
        size = measure_size(self._data, self._log_folder)
        if not self.method.keeps_repository:
            context.volumes.make_tree(self.candidate, self._name(FOLDER), "backup")
        command = self.method.back_up(self._job, Source(instance.url, self._data))
        group = context.servers.groups.get(self._data) if self.method.reads_files else None
        ended, because = self._run(replace(command, memory_cgroup=group), log, self.client)
        stored = self.method.locate_last(self._folder)
        return Cycle(ended.from_s, ended.to_s, size, measure_size(stored), because)

    @contextmanager
    def restored(self, log: Path) -> Iterator[tuple[Cycle, Endpoint | None]]:
        """A second server on what the last backup holds; None where it cannot be restored.

        The time is until the server answers and holds everything. Its files are removed at the end.
        """
        context, began_s = self.context, self.context.session.clock.now_s()
        role: Role = self.whose.role if self.whose else "data"
        data = context.volumes.make_tree(self.candidate, self._name(RESTORED), role) / "data"
        data.mkdir(mode=0o700)
        own(data, context.host.user)
        place = context.volumes.of(self.candidate).get_part(role).path
        try:
            with ExitStack() as stack:
                found = self._second(data, log, stack)
                now_s = context.session.clock.now_s()
                if isinstance(found, str):
                    yield Cycle(began_s, now_s, 0, None, found), None
                else:
                    yield Cycle(began_s, now_s, measure_size(data, self._log_folder)), found
        finally:
            context.volumes.remove(place, self._name(RESTORED))

    def _second(self, data: Path, log: Path, stack: ExitStack) -> Instance | str:
        servers, method = self.context.servers, self.method
        engine = self._found.engine
        try:
            if method.loads_rows:
                with _ONE_AT_A_TIME:
                    engine.initialise(data, servers.scratch)
            elif because := self._run_all(method.restore(self._job, data), log):
                return because
            sync_filesystem(data)
            instance = stack.enter_context(self._server(data, log, method.restored_settings))
        except Interrupted:
            raise
        except StithyError as error:
            return error.text
        fill = method.load(self._job, Source(instance.url, data))
        return self._run_all(fill, log) or instance

    def remove(self) -> None:
        """Remove the last backup, or the repository; servers do no more than others from now on.

        On a volume that fails it stays, and that is said: what was measured is no worse for it.
        """
        context = self.context
        context.servers.more.pop(self._data, None)
        try:
            with convert_machine_failures("backup"):
                place = context.volumes.of(self.candidate).get_part("backup").path
                context.volumes.remove(place, self._name(FOLDER))
        except InfrastructureError as error:
            context.session.tell(Note(f"{self.candidate}: the backup stays: {error.text}"))

    def _server(
        self, data: Path, log: Path, more: Mapping[str, str]
    ) -> AbstractContextManager[Instance]:
        servers, whose = self.context.servers, self.whose
        if whose is None:
            return servers.second(self.candidate, data, log, more)
        engine = servers.find_study(self.candidate).database.engine
        lean = {**get_engine(engine).lean_settings, **more}
        return servers.second(
            self.candidate, data, log, lean, name=whose.sockets,
            memory_cgroup=whose.memory_cgroup, beside=self._data,
        )  # fmt: skip

    def _name(self, folder: str) -> str:
        return f"{self.whose.prefix}{folder}" if self.whose else folder

    @property
    def commits(self) -> int:
        """How many transactions of its own a backup commits in the database at most."""
        return self.method.count_commits(self.options)

    @property
    def _folder(self) -> Path:
        volume = self.context.volumes.of(self.candidate).get_part("backup")
        return volume.path / self._name(FOLDER)

    @property
    def _data(self) -> Path:
        if self.whose is not None:
            return self.whose.data
        return get_parts(self.context.volumes.of(self.candidate)).data

    @property
    def _job(self) -> BackupJob:
        return BackupJob(self._found.installation.programs, self.options, self._folder)

    @property
    def _found(self) -> FoundDatabase:
        return self.context.servers.find_held(self.candidate)

    @property
    def _log_folder(self) -> str | None:
        return self._found.engine.log_folder

    def _run_all(self, commands: Iterable[Command], log: Path) -> str | None:
        return next(filter(None, (self._run(command, log)[1] for command in commands)), None)

    def _run(
        self, command: Command, log: Path, client: AgentClient | None = None
    ) -> tuple[CommandEnd, str | None]:
        since = log.stat().st_size if log.exists() else 0
        ended = client.run(command, log) if client else self._run_here(command, log)
        if ended.code == 0:
            return ended, None
        said = log.read_text(errors="replace")[since:].strip().splitlines()[-LAST_LINES:]
        code, program = ended.code, Path(command.argv[0]).name
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return ended, " | ".join([f"{program} {how}", *said])

    def _run_here(self, command: Command, log: Path) -> CommandEnd:
        context, host = self.context, self.context.host
        program, clock = Path(command.argv[0]).name, context.session.clock
        asked = replace(command, user=host.user.name if host.user else None, detached=True)
        stop = context.session.stop.asked
        if self.whose is not None:
            cap = context.servers.caps.get(self._data)
            others = (self.whose.io_cgroup, cap.path if cap else None)
            groups = tuple(other for other in others if other is not None)
            asked = replace(asked, memory_cgroup=self.whose.memory_cgroup, cgroups=groups)
            stop = self.whose.ended
        from_s = clock.now_s()
        process = host.runner.start(asked, stderr=log)
        while (code := process.poll()) is None:
            if stop.wait(PAUSE_S):
                end_tree(process.pid, signal.SIGTERM)
                process.wait(10)
                raise Interrupted("stopped by a person", where=program, remedy="`stithy resume`")
        return CommandEnd(code, from_s, clock.now_s())


def measure_size(root: Path, without: str | None = None) -> int:
    """Sum the bytes of all files below a directory and its links; some may vanish meanwhile."""
    size_bytes = 0
    for folder, folders, names in os.walk(root, followlinks=True):
        if folder == str(root) and without in folders:
            folders.remove(str(without))
        for name in names:
            with suppress(OSError):
                size_bytes += (Path(folder) / name).lstat().st_size
    return size_bytes
