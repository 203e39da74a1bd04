"""The interface of a collector: what it samples, with units and meanings, once a second.

A collector is one module in `collectors/` with `NAME`, `METRICS` and `create(scope)`, which returns
something with `sample()`. Rates are computed by the collector from its own last reading, so the
first `sample()` only takes the reading. What cannot be read is a `Sample` with value None and a
reason, never 0.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stithy.secrets import Secret


@dataclass(frozen=True)
class Metric:
    """One metric: its name (units last), unit and meaning in a sentence."""

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Sample:
    """One value of one metric of one subject; `missing_because` is set when `value` is None."""

    subject: str
    metric: str
    value: float | None
    missing_because: str | None = None


@dataclass(frozen=True)
class Scope:
    """What a window's collectors look at.

    `volumes`: directories of the candidate's volumes. `database_url`: the running instance, None
    where there is none. `proc`, `sys`: roots of those file systems (a seam for tests).
    """

    volumes: tuple[Path, ...]
    database_url: Secret | None
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")


class Collector(Protocol):
    """A live collector; used by one thread, closed once."""

    def sample(self) -> list[Sample]:
        """What happened since the last call. The first call returns an empty list."""
        ...

    def close(self) -> None:
        """Give up connections and files."""
        ...
