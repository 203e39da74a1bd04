"""Keys of a backup in a study, for all scenarios that back a database up."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from stithy.names import instead
from stithy.registry import plugins
from stithy.study.problems import rule_error


def known_methods() -> dict[str, str]:
    """The methods of all engines, the default first, with what they do."""
    every = (getattr(engine, "BACKUPS", {}) for engine in plugins("engine").values())
    return {name: said for each in every for name, said in each.items()}


def _known(name: str) -> str:
    if name not in known_methods():
        raise rule_error("not a method of backup", instead(name, tuple(known_methods())))
    return name


MethodName = Annotated[str, AfterValidator(_known)]
Processes = Annotated[int, Field(ge=1, le=256)]
Compression = Literal["none", "gzip", "lz4", "zstd"]
Kind = Literal["full", "incremental", "differential"]
