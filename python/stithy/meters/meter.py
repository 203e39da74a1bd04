"""The interface of meters: what tells watts, what of a machine that covers, and what it leaves out.

A meter is one module in this folder, with an instance of `Meter` in `PLUGINS`. The collector
`power` asks the meters of a window; nothing here knows of windows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

from pydantic import Field, model_validator

from stithy.clock import Clock
from stithy.errors import StithyError, UserError, give_reason
from stithy.hosts.runner import Command, LocalRunner
from stithy.registry import Family, Plugin, plugins
from stithy.secrets import VARIABLE, Secret, read_given_secret
from stithy.units import FrozenModel, Seconds, make_rule_error

if TYPE_CHECKING:
    from stithy.collectors.collector import Scope


PATIENCE_S = 4.0
"""Own: below the time for which the sampler waits at a window's end."""


class Unreadable(Exception):
    """Raised where a meter tells nothing now; its text is the reason."""


def require_watts(value: float) -> float:
    """Require a power that can be; raises Unreadable."""
    if not (math.isfinite(value) and value >= 0):
        raise Unreadable(f"{value:g} W is no power that a machine draws")
    return value


def run_program(command: Command) -> str:
    """Run what asks a device, and return what it printed; raises Unreadable where it failed."""
    try:
        done = LocalRunner().run(command, timeout_s=PATIENCE_S)
    except StithyError as error:
        raise Unreadable(error.text) from error
    if done.code:
        said = " ".join(done.stderr.split())
        raise Unreadable(said or f"{command.argv[0]} ended with code {done.code}")
    return done.stdout


def read_text(path: Path) -> str:
    """Read a file of the kernel; raises Unreadable."""
    try:
        return path.read_text().strip()
    except OSError as error:
        hint = "; as root: chmod a+r" if isinstance(error, PermissionError) else ""
        raise Unreadable(f"{path}: {give_reason(error)}{hint}") from error


class LiveMeter(Protocol):
    """A meter at work; used by one thread."""

    def read_w(self) -> float | None:
        """Read watts: of now, or of a counter the mean since the last call.

        None for the first reading of a counter. Raises Unreadable.
        """


class MeterKeys(FrozenModel):
    """The keys of every meter."""

    every_s: Annotated[Seconds, Field(ge=1, le=3600)] = Field(
        alias="every",
        default=1.0,
        json_schema_extra={"default": "1 s"},
        description="How often the meter has a new value; it is asked no more often.",
        examples=["1 s"],
    )
    candidates: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        strict=False,
        json_schema_extra={"default": "all"},
        description="The candidates whose windows it measures, such as those in its enclosure.",
        examples=[["disks"]],
    )
    sees: str | None = Field(
        default=None,
        min_length=1,
        json_schema_extra={"default": "by kind"},
        description="What it measures, as reports say it.",
        examples=["the server and both enclosures"],
    )


class SecretKeys(MeterKeys):
    """The keys of a meter that may want a secret, which the study names and does not hold."""

    password_env: str | None = Field(
        default=None,
        pattern=VARIABLE,
        json_schema_extra={"default": "no password"},
        description="Environment variable that holds its password.",
        examples=["WALL_PASSWORD"],
    )
    password_file: str | None = Field(
        default=None,
        json_schema_extra={"default": "no password"},
        description="File that holds it instead; its owner alone may read it.",
        examples=["~/.stithy-wall"],
    )

    @model_validator(mode="after")
    def _check_one(self) -> "SecretKeys":
        if self.password_env and self.password_file:
            raise make_rule_error("two secrets", "name one variable, or one file")
        return self

    def read_password(self) -> Secret | None:
        """Read its secret; None without one. Raises Unreadable where it is not there."""
        try:
            return read_given_secret(self.password_env, self.password_file)
        except UserError as error:
            raise Unreadable(error.text) from error


class Meter(Plugin):
    """A kind of meter, as a study names it by a key of this name."""

    family: ClassVar = Family("meters", interface=frozenset({"meter", "http"}))

    keys: type[MeterKeys]
    """Its mapping in the study file, in which `name` is a key."""

    sees: str
    """What it measures, where the study does not say it."""

    misses: str
    """What of the power of storage it does not see, as reports say it."""

    resolution: str
    """The step of its values, such as `1 W`."""

    of_server: bool = False
    """Whether it measures this server or a part of it, so that two kinds would count it twice."""

    is_record: bool = False
    """Whether it is read after a window, and not asked meanwhile."""

    is_stated: bool = False
    """Whether its watts are computed from a statement, so that they are no measurement."""

    def open(self, keys: Any, scope: "Scope") -> LiveMeter:
        """Open it for a window. Raises Unreadable where it is not there."""
        raise NotImplementedError

    def check(self, keys: Any) -> None:
        """Ask it before a run, if it can be asked then. Raises Unreadable."""

    def read_record(self, keys: Any, from_s: float, to_s: float) -> list[tuple[float, float]]:
        """Read what it recorded in a time, as Unix time and watts. Raises Unreadable."""
        raise NotImplementedError


@dataclass(frozen=True)
class GivenMeter:
    """A meter of a study: its kind, and its keys."""

    kind: str
    keys: MeterKeys

    @property
    def plugin(self) -> Meter:
        """Its kind."""
        return plugins(Meter)[self.kind]

    @property
    def sees(self) -> str:
        """What it measures."""
        return self.keys.sees or self.plugin.sees

    def applies_to(self, candidate: str) -> bool:
        """Whether it measures windows of a candidate."""
        return self.keys.candidates is None or candidate in self.keys.candidates


@dataclass(frozen=True)
class LiveGauge:
    """A meter that shows the watts of now whenever it is asked."""

    read_w: Callable[[], float | None]


class Plug(Meter):
    """An outlet that is asked over the network."""

    sees = "what is plugged in there"
    misses = "a second power supply on another outlet"

    def read(self, keys: Any) -> float:
        """Ask once, for watts. Raises Unreadable."""
        raise NotImplementedError

    def open(self, keys: Any, scope: "Scope") -> LiveMeter:
        """Nothing is asked yet."""
        del scope
        return LiveGauge(partial(self.read, keys))

    def check(self, keys: Any) -> None:
        """Ask it once."""
        self.read(keys)


GREATEST_W = 3000.0
"""Own: more than a CPU package draws, so that a counter which was reset is not taken for a turn."""


@dataclass
class EnergyCounter:
    """Watts from a counter of joules, which begins anew at `range_j`; None: it never does.

    It must be read once in the time in which `GREATEST_W` fills the range: two turns look like one.
    """

    read_j: Callable[[], float]
    clock: Clock
    range_j: float | None = None
    _last: tuple[float, float] | None = None

    def read_w(self) -> float | None:
        """Mean watts since the last reading; raises Unreadable where turns cannot be counted."""
        last, self._last = self._last, None
        now_j, now_s = self.read_j(), self.clock.monotonic_s()
        self._last = now_j, now_s
        if last is None or now_s <= last[1]:
            return None
        grown_j, elapsed_s = now_j - last[0], now_s - last[1]
        if self.range_j is not None and GREATEST_W * elapsed_s > self.range_j:
            raise Unreadable(
                f"not read for {elapsed_s:.0f} s, in which its counter may have turned"
            )
        if grown_j < 0 and self.range_j is not None:
            grown_j += self.range_j
            if grown_j > GREATEST_W * elapsed_s:
                raise Unreadable("its counter of energy was reset")
        if grown_j < 0:
            raise Unreadable("its counter of energy began anew")
        return grown_j / elapsed_s
