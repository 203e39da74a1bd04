"""What an emulated drive can do at most, by its profile and scale: rates, bandwidths, channels."""

import tomllib
from dataclasses import dataclass
from typing import Any

RATES = {
    "read_iops": ("reads a second", "answers_per_s", ("read",)),
    "write_iops": ("writes a second", "answers_per_s", ("write",)),
    "total_iops": ("reads and writes a second", "answers_per_s", ("read", "write")),
    "read_bytes_per_s": ("read bandwidth", "moved_bytes_per_s", ("read",)),
    "write_bytes_per_s": ("write bandwidth", "moved_bytes_per_s", ("write",)),
    "total_bytes_per_s": ("bandwidth", "moved_bytes_per_s", ("read", "write")),
}
"""Each cap of a profile: what it is called, the collector's metric, and of which operations."""


@dataclass(frozen=True)
class Ability:
    """Caps by their keys in a profile, and how many requests are served at once; None: no such."""

    caps: dict[str, float]
    channels: int | None


def ability(profile: str, scale: float) -> Ability | None:
    """What the text of a drive profile allows at a scale; None where it cannot be read.

    A disk that spins serves one request at once.
    Source: docs/reference/drive-profiles.md.
    """
    try:
        told = tomllib.loads(profile)
    except tomllib.TOMLDecodeError:
        return None
    caps = told.get("cap")
    known = _numbers(caps) if isinstance(caps, dict) else {}
    channels = 1 if "disk" in told else told.get("channels")
    return Ability(
        {name: value / scale for name, value in known.items()},
        channels if isinstance(channels, int) and channels > 0 else None,
    )


def _numbers(caps: dict[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in caps.items()
        if name in RATES and isinstance(value, int | float) and value > 0
    }
