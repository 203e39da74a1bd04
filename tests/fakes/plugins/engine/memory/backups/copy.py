"""A copy of its file, as it was when the server started or had its last checkpoint."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from stithy.engines.backup import Options, Source, Tools
from stithy.hosts.runner import Command
from stithy.needs import Package


def problem(options: Options) -> str | None:
    """It can do nothing but copy."""
    return None if options == Options() else "copy has no options"


def programs(options: Options) -> Mapping[str, Package]:
    """Every machine has it."""
    del options
    return {"cp": Package("coreutils", "coreutils")}


def version(tools: Tools) -> Command:
    """That of coreutils."""
    del tools
    return Command(["cp", "--version"])


def take(tools: Tools, source: Source, target: Path, options: Options) -> Command:
    """All files."""
    del tools, options
    return Command(["cp", "-r", f"{source.data}/.", str(target)])


def restore(tools: Tools, backup: Path, data: Path, options: Options) -> Sequence[Command]:
    """All files."""
    del tools, options
    return [Command(["cp", "-r", f"{backup}/.", str(data)])]
