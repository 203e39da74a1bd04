"""Settings of the engine that give durability up, and how everything says so.

A database that need not keep what it acknowledged hardly uses its storage: candidates then come out
alike. That is a question one may ask, but its answer must never be taken for the other one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stithy.registry import plugins


@dataclass(frozen=True)
class GivenUp:
    """A setting, its value, and what may be lost by it."""

    setting: str
    value: str
    because: str

    def __str__(self) -> str:
        """`fsync off`."""
        return f"{self.setting} {self.value}"


def given_up(engine: str, settings: Mapping[str, object]) -> tuple[GivenUp, ...]:
    """What these settings of an engine give up; nothing of an engine that is not known."""
    asked = getattr(plugins("engine").get(engine), "durability_given_up", None)
    if asked is None:
        return ()
    values = {name.lower(): str(value) for name, value in settings.items()}
    return tuple(GivenUp(name, values[name], because) for name, because in asked(values).items())


def label(found: Sequence[GivenUp]) -> str | None:
    """What must stand beside every number; None where nothing is given up."""
    return f"NOT DURABLE: {_listed(found)}" if found else None


def suffix(found: Sequence[GivenUp]) -> str:
    """What a candidate's name in a figure ends with: ` (fsync off)`; empty without any."""
    return f" ({_listed(found)})" if found else ""


def sentences(found: Sequence[GivenUp]) -> tuple[str, ...]:
    """A sentence for each setting."""
    return tuple(f"Durability is given up with {each}: {each.because}." for each in found)


def _listed(found: Sequence[GivenUp]) -> str:
    return ", ".join(map(str, found))
