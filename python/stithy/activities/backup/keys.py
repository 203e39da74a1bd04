"""Keys of a backup in a study, for all scenarios that back a database up."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from stithy.engines.engine import Engine
from stithy.names import suggest_instead
from stithy.registry import plugins
from stithy.units import make_rule_error


def describe_methods() -> str:
    """Describe the methods of all engines in sentences, those of one engine together."""
    return " ".join(
        f"Of {name}, "
        + ". ".join(f"`{method.name}` {method.summary}" for method in engine.backups)
        + "."
        for name, engine in plugins(Engine).items()
        if engine.backups
    )


def describe_default(*, of_servers: bool = False) -> str:
    """Say which method each engine uses by default; or of those whose servers Stithy starts."""
    listed = (
        f"{engine.backups[0].name} of {name}"
        for name, engine in plugins(Engine).items()
        if engine.backups and not (of_servers and engine.no_server)
    )
    return ", ".join(listed)


def fill_method(keys: Mapping[str, object], engine: str) -> Mapping[str, object]:
    """Add the default method of the engine to keys, as written, that name none."""
    plugin = plugins(Engine).get(engine)
    if "method" in keys or plugin is None or not plugin.backups:
        return keys
    return {**keys, "method": plugin.backups[0].name}


def _require_method(name: str) -> str:
    names = sorted(
        {method.name for engine in plugins(Engine).values() for method in engine.backups}
    )
    if name not in names:
        raise make_rule_error("not a method of backup", suggest_instead(name, names))
    return name


MethodName = Annotated[str, AfterValidator(_require_method)]
Processes = Annotated[int, Field(ge=1, le=256)]
Compression = Literal["none", "gzip", "lz4", "zstd"]
Kind = Literal["full", "incremental", "differential"]
