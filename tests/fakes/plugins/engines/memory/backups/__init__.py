"""The ways to back it up: one that is right, and one that is not."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from stithy.engines.backup import (
    BackupJob,
    BackupMethod,
    BackupOptions,
    Progress,
    ServerMethod,
    Source,
)
from stithy.hosts.runner import Command
from stithy.needs import Package
from stithy.secrets import Secret


class Copy(BackupMethod):
    """A copy of its file, as it was when the server started or had its last checkpoint."""

    name = "copy"
    summary = "copies its file"

    def explain_refusal(self, options: BackupOptions) -> str | None:
        """It can do nothing but copy."""
        return None if options == BackupOptions(agent=options.agent) else "copy has no options"

    def list_programs(self, options: BackupOptions) -> Mapping[str, Package]:
        """Every machine has it."""
        return {"cp": Package("coreutils", "coreutils")}

    def ask_version(self, programs: Path) -> Command:
        """That of coreutils."""
        return Command(["cp", "--version"])

    def back_up(self, job: BackupJob, source: Source) -> Command:
        """All files."""
        return Command(["cp", "-r", f"{source.data}/.", str(job.folder)])

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """All files."""
        return [Command(["cp", "-r", f"{job.folder}/.", str(data)])]


class Careless(Copy):
    """As `copy`, but a row is another after the restore."""

    name = "careless"
    summary = "copies its file, and restores another"

    def restore(self, job: BackupJob, data: Path) -> Sequence[Command]:
        """One count more at the end of the file, which may have none."""
        spoil = Command(["sed", "-i", 's/}/, "late": 1}/; s/{, /{/', str(data / "rows.json")])
        return [*super().restore(job, data), spoil]


KEPT: dict[str, dict[str, int]] = {}
"""By name, the rows of backups that servers keep."""


class Remembered(ServerMethod):
    """Rows that the server remembers by themselves, without a file."""

    name = "remembered"
    summary = "lets the server remember rows"

    def back_up_inside(self, url: Secret, name: str, options: BackupOptions) -> Progress:
        """Half of it, then all."""
        yield 50.0
        KEPT[name] = dict(_list_running()[url.reveal()].rows)

    def measure_backup(self, url: Secret, name: str) -> int | None:
        """A byte for each row."""
        return len(KEPT[name])

    def restore_beside(
        self, url: Secret, name: str, options: BackupOptions, beside: str
    ) -> Progress:
        """Nobody knows how far it is."""
        yield None
        source = _list_running()[url.reveal()]
        made = type(source)(dict(KEPT[name]), {})
        _list_running()[self.locate_beside(url, beside).reveal()] = made

    def locate_beside(self, url: Secret, beside: str) -> Secret:
        """Behind its own."""
        return Secret(f"{url.reveal()}-{beside}")

    def drop_beside(self, url: Secret, beside: str) -> None:
        """It does not run any more."""
        _list_running().pop(self.locate_beside(url, beside).reveal(), None)

    def remove_backup(self, url: Secret, name: str) -> None:
        """Forget it."""
        KEPT.pop(name, None)


def _list_running() -> dict[str, Any]:
    running: dict[str, Any] = import_module("stithy.engines.memory.endpoint").RUNNING
    return running


BACKUPS = (Copy(), Careless(), Remembered())
