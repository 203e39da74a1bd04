"""As `copy`, but a row is another after the restore."""

from collections.abc import Sequence
from pathlib import Path

from stithy.engines.backup import Options, Tools
from stithy.hosts.runner import Command

from . import copy

problem, programs = copy.problem, copy.programs
version, take = copy.version, copy.take


def restore(tools: Tools, backup: Path, data: Path, options: Options) -> Sequence[Command]:
    """One count more at the end of the file, which may have none."""
    return [
        *copy.restore(tools, backup, data, options),
        Command(["sed", "-i", 's/}/, "late": 1}/; s/{, /{/', str(data / "rows.json")]),
    ]
