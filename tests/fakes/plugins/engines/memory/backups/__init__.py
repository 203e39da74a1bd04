"""The ways to back it up: one that is right, and one that is not."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import BackupJob, BackupMethod, BackupOptions, Source
from stithy.hosts.runner import Command
from stithy.needs import Package


class Copy(BackupMethod):
    """A copy of its file, as it was when the server started or had its last checkpoint."""

    name = "copy"
    summary = "copies its file"

    def explain_refusal(self, options: BackupOptions) -> str | None:
        """It can do nothing but copy."""
        return None if options == BackupOptions() else "copy has no options"

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


BACKUPS = (Copy(), Careless())
