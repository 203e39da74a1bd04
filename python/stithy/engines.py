"""What a database engine says of itself to those who run, judge and draw, without its server.

An engine's module `declaration` defines `ENGINE`, a `Declaration`. Whoever meets something that
differs between engines asks here; nobody asks which engine it is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Literal
from urllib.parse import urlsplit

from stithy.errors import UserError
from stithy.metrics import CollectedMetric
from stithy.registry import part, plugins
from stithy.secrets import Secret

ErrorClass = Literal["retryable", "full", "lost", "other"]
"""`retryable`: the transaction may be sent again; `full`: no room on the storage; `lost`: the
connection or its server is gone. The hammer has the same classes."""


def _other(code: str | None, text: str) -> ErrorClass:
    del code, text
    return "other"


@dataclass(frozen=True)
class Declaration:
    """What holds for every server of an engine; the defaults are those of an unknown one.

    `error_class`: of an error by the server's own code and text; a line of its log has no code.
    `metrics`: those of the collector `database` that only this engine has.
    """

    error_class: Callable[[str | None, str], ErrorClass] = _other
    metrics: tuple[CollectedMetric, ...] = ()


@cache
def declaration(engine: str | None) -> Declaration:
    """What an engine declares; the defaults for one that is not here, as results may name it."""
    if engine not in plugins("engine"):
        return Declaration()
    declared: Declaration = part("engine", engine, "declaration").ENGINE
    return declared


def endpoint_module(url: Secret) -> ModuleType:
    """The module `endpoint` of the engine whose URLs begin so. Raises UserError for no such one."""
    given = urlsplit(url.reveal()).scheme
    for name, package in plugins("engine").items():
        if given in package.URL_SCHEMES:
            return part("engine", name, "endpoint")
    raise UserError(
        f"no database engine has URLs that begin with {given or 'no scheme'!r}",
        where="database URL",
        remedy=f"begin it with {' or '.join(_beginnings())}",
    )


def _beginnings() -> Iterator[str]:
    for package in plugins("engine").values():
        yield f"{package.URL_SCHEMES[0]}://"
