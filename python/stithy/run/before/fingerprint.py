"""What of the machine and the programs must be the same for a run to go on where it was cut off.

Less than the environment that the manifest records: what numbers rest on and no restart changes.
"""

from collections.abc import Mapping

from stithy.results.comparability import is_same_memory
from stithy.results.manifest import Fact, Scalar
from stithy.units import format_size

Fingerprint = Mapping[str, Scalar]
"""By the name of each thing, in words; None where the machine does not tell it."""

MEMORY = "memory"
FACTS = {
    "kernel": "kernel",
    "architecture": "architecture",
    "cpu_model": "CPU",
    "cpus": "number of CPUs",
    "memory_bytes": MEMORY,
}
"""Facts of the machine that count, and what a person calls them."""


def fingerprint(machine: Mapping[str, Fact], programs: Mapping[str, str]) -> dict[str, Scalar]:
    """The fingerprint of this machine with these versions of programs."""
    found = {word: _scalar(machine.get(name)) for name, word in FACTS.items()}
    return {**found, **programs}


def changes(before: Fingerprint, now: Fingerprint) -> tuple[str, ...]:
    """What is not as it was, each in words: `kernel: 6.1.0 before, 6.2.0 now`."""
    return tuple(
        f"{name}: {_told(name, before.get(name))} before, {_told(name, now.get(name))} now"
        for name in dict.fromkeys([*before, *now])
        if not _same(name, before.get(name), now.get(name))
    )


def _same(name: str, before: Scalar, now: Scalar) -> bool:
    return is_same_memory(before, now) if name == MEMORY else before == now


def _scalar(fact: Fact | None) -> Scalar:
    value = fact.value if fact else None
    return value if isinstance(value, str | int | float) else None


def _told(name: str, value: Scalar) -> str:
    if value is None:
        return "not known"
    return format_size(value) if name == MEMORY and isinstance(value, int) else str(value)
