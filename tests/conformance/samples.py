"""What the suites must know of an engine or a workload beyond its interface: a file for each.

A new one adds its file here; without it every test of the suites fails for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from stithy.engines.declaration import ErrorClass
from stithy.secrets import Secret


@dataclass(frozen=True)
class Sample:
    """An engine's part of the suites.

    `setting`: one that may be given, as the facts show it. `refused`: one that the server does not
    know. `errors`: by a code, or None for a line of the log, and a text, its class. `run`: a
    statement in the database of a URL. `left`: whether memory of a killed server, named by these
    facts, is still there.
    """

    setting: tuple[str, str]
    refused: tuple[str, str]
    errors: Mapping[tuple[str | None, str], ErrorClass]
    run: Callable[[Secret, str], None]
    left: Callable[[Mapping[str, str]], bool]


def sample(engine: str) -> Sample:
    """The sample of an engine, `SAMPLE` in the module of its name."""
    return cast(Sample, import_module(f"conformance.sample_{engine}").SAMPLE)


Damage = Mapping[int, tuple[str, str]]
"""By condition, a statement that breaks it and one that mends it, in plain SQL."""


def damage(workload: str) -> Damage:
    """How the data of a workload are damaged, `DAMAGE` in the module of its name."""
    module = import_module(f"conformance.damage_{workload.replace('-', '_')}")
    return cast(Damage, module.DAMAGE)
