"""Settings of the engine that give durability up, and how everything says so.

A database that need not keep what it acknowledged hardly uses its storage: candidates then come out
alike. That is a question one may ask, but its answer must never be taken for the other one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from stithy.registry import plugins


@dataclass(frozen=True)
class GivenUp:
    """A setting, its value, and what may be lost by it.

    `candidates` are those that have it, where not all do.
    """

    setting: str
    value: str
    because: str
    candidates: tuple[str, ...] = ()

    def __str__(self) -> str:
        """`fsync off`, `fsync off on sata`."""
        where = f" on {' and '.join(self.candidates)}" if self.candidates else ""
        return f"{self.setting} {self.value}{where}"


def given_up(engine: str, settings: Mapping[str, Mapping[str, object]]) -> tuple[GivenUp, ...]:
    """What the settings of an engine give up, by candidate; nothing of an unknown engine."""
    asked = getattr(plugins("engine").get(engine), "durability_given_up", None)
    if asked is None:
        return ()
    having: dict[GivenUp, list[str]] = {}
    for candidate, given in settings.items():
        values = {name.lower(): str(value) for name, value in given.items()}
        for name, because in asked(values).items():
            having.setdefault(GivenUp(name, values[name], because), []).append(candidate)
    return tuple(
        each if len(names) == len(settings) else replace(each, candidates=tuple(names))
        for each, names in having.items()
    )


def of_candidate(found: Sequence[GivenUp], candidate: str) -> tuple[GivenUp, ...]:
    """What this candidate gives up."""
    return tuple(
        replace(each, candidates=())
        for each in found
        if not each.candidates or candidate in each.candidates
    )


def label(found: Sequence[GivenUp]) -> str | None:
    """What must stand beside every number; None where nothing is given up."""
    return f"NOT DURABLE: {_listed(found)}" if found else None


def suffix(found: Sequence[GivenUp]) -> str:
    """What a candidate's name in a figure ends with: ` (fsync off)`; empty without any.

    `found` is of this candidate.
    """
    return f" ({_listed(found)})" if found else ""


def sentences(found: Sequence[GivenUp]) -> tuple[str, ...]:
    """A sentence for each setting."""
    return tuple(f"Durability is given up with {each}: {each.because}." for each in found)


def _listed(found: Sequence[GivenUp]) -> str:
    return ", ".join(map(str, found))
