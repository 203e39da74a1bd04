"""The keys of the scenario: which faults, when they strike and when they are healed."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)

from stithy.names import suggest_instead
from stithy.point import Point
from stithy.registry import plugins
from stithy.scenarios.failure.fault import NONE, FaultKeys, FaultKind, Moment, TogetherKeys
from stithy.scenarios.failure.levels import DRAWN, JOINT, draw_levels, draw_times_s
from stithy.study.load_keys import Load
from stithy.study.problems import Violation, put_below
from stithy.study.scenario import ScenarioKeys
from stithy.units import PositivePercent, format_duration, make_rule_error

NAME = "failure"
FAULT = "fault"
"""The factor."""

RATE, MAXIMUM = "rate", "maximum"
"""The factor of a load in an open loop, and its level at which users work back to back."""

AT_SHARE, HEAL_SHARE = 0.2, 0.4
"""Own: of the measurement, where a study does not say it."""

USUAL = "server-killed"
"""The fault of a study that names none: any server that Stithy started can have it."""

Faults = Mapping[str, FaultKeys]


def read_faults(value: Any) -> Faults:
    """Read names, or names with their options. Raises what a study file's reader understands."""
    if isinstance(value, str):
        value = [value]
    given = dict.fromkeys(value) if isinstance(value, list | tuple) else value
    if not isinstance(given, Mapping) or not given:
        raise make_rule_error("not faults", "a list of names, or names with their options")
    levels = {}
    for name, keys in given.items():
        levels[JOINT.join(part.strip() for part in str(name).split(JOINT))] = keys
    if len(levels) < len(value):
        raise make_rule_error("a fault given twice", "keep one of them")
    return {name: _read_options(name, keys) for name, keys in levels.items()}


def _read_options(name: str, keys: Any) -> FaultKeys:
    if isinstance(keys, FaultKeys):
        return keys
    if JOINT in name:
        return _read_together(name, dict(keys or {}))
    known = plugins(FaultKind)
    if name == NONE:
        raise make_rule_error(f"`{NONE}` among the faults", "leave it out: it is always measured")
    if name not in known:
        raise make_rule_error(f"not a fault, `{name}`", suggest_instead(str(name), list(known)))
    try:
        return known[name].keys.model_validate(keys or {})
    except ValidationError as error:
        raise put_below(name, error) from error


def _read_together(name: str, keys: dict[str, Any]) -> TogetherKeys:
    names = name.split(JOINT)
    if len(set(names)) < len(names):
        raise make_rule_error("a fault twice at once", f"different ones, not {name}")
    times = {key: keys.pop(key) for key in ("at", "for") if key in keys}
    if other := next((key for key in keys if key not in names), None):
        raise make_rule_error(f"not one of the faults at once, `{other}`", suggest_instead(
            str(other), names))  # fmt: skip
    try:
        when = TogetherKeys.model_validate(times)
    except ValidationError as error:
        raise put_below(name, error) from error
    parts = {part: _read_options(part, keys.get(part)) for part in names}
    if timed := next((name for name, of in parts.items() if of.has_times), None):
        raise make_rule_error(f"a time of {timed} alone", f"`at` and `for` of {name}: they strike "
                              "at once")  # fmt: skip
    return when.model_copy(update={"parts": parts})


def write_faults(faults: Faults) -> list[str] | dict[str, Any]:
    """Write them as in a study: a list where none has options."""
    options = {name: _write_options(keys) for name, keys in faults.items()}
    return options if any(options.values()) else list(options)


def _write_options(keys: FaultKeys) -> dict[str, Any]:
    if not isinstance(keys, TogetherKeys):
        return keys.model_dump(mode="json", by_alias=True, exclude_unset=True)
    when = keys.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude={"parts"})
    parts = {name: _write_options(of) for name, of in keys.parts.items()}
    return {**when, **{name: of for name, of in parts.items() if of}}


def _list_faults() -> str:
    texts = []
    for name, fault in plugins(FaultKind).items():
        own = [f"`{field.alias or key}`" for key, field in fault.keys.model_fields.items()
               if key not in FaultKeys.model_fields]  # fmt: skip
        options = f" (options: {', '.join(own)})" if own else ""
        texts.append(f"`{name}`: {fault.text}{options}")
    return "; ".join(texts)


class RandomFaults(BaseModel):
    """A soak: faults that are drawn among those of the study."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    count: int = Field(default=20, ge=1, le=1000, description="How many are drawn.", examples=[50])
    seed: int = Field(default=1, ge=0, lt=2**63, description="Seed of the draw.", examples=[7])


class LoadDuring(BaseModel):
    """How users work while faults strike."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rate_percent: Annotated[
        PositivePercent,
        PlainSerializer(lambda share: f"{share}%", when_used="json"),
    ] = Field(
        alias="rate", examples=["50%"],
        description="At which share of the maximum transactions arrive.",
    )  # fmt: skip


class FailureSpec(ScenarioKeys):
    """What breaks under the users, and when."""

    FIXED: ClassVar = frozenset({"faults", "random", "during"})
    LOAD: ClassVar = MappingProxyType({"ledger": True})

    faults: Annotated[
        Faults,
        PlainValidator(read_faults),
        PlainSerializer(write_faults),
        WithJsonSchema(
            {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]}
        ),
    ] = Field(
        default={USUAL: FaultKeys()},
        json_schema_extra={"default": [USUAL]},
        description=(
            "The faults, each measured in a window of its own: a list of names, or names with "
            "their options. A window without a fault belongs to each block, so that the difference "
            "is what the fault costs. Several strike at once where their names are joined by `+`. "
            f"Each may have `at` and `for` of its own. Faults: {_list_faults()}."
        ),
        examples=[
            ["drive-slow", "server-killed", "drive-slow+server-killed"],
            {"drive-slow": {"factor": 20, "for": "10 s"}},
        ],
    )
    random: RandomFaults | None = Field(
        default=None,
        json_schema_extra={"default": "each fault once in a block"},
        description=(
            "A soak: `count` faults (20) are drawn by a `seed` (1) among `faults`, each with its "
            "options, a drawn time of the measurement and a drawn length. The same seed draws the "
            "same. `drive-slow.3` is the third one."
        ),
        examples=[{"count": 20, "seed": 7}],
    )
    during: LoadDuring | None = Field(
        default=None,
        json_schema_extra={"default": "as the load says"},
        description=(
            "`{rate: 50%}`: transactions arrive at this share of the maximum, whether or not "
            "earlier ones were answered. The maximum is what the users of `load` do back to back "
            "without a fault on the slowest candidate. It is measured once, before all else."
        ),
        examples=[{"rate": "50%"}],
    )
    at_s: Moment | None = Field(
        alias="at",
        default=None,
        json_schema_extra={"default": "a fifth of the measurement"},
        description="When the fault strikes, after the beginning of the measurement.",
        examples=["10 s"],
    )
    heal_s: Moment | None = Field(
        alias="heal",
        default=None,
        json_schema_extra={"default": "two fifths of the measurement"},
        description=(
            "How long the fault lasts. Then what was broken is repaired, and redundancy is "
            "restored while users go on."
        ),
        examples=["20 s"],
    )

    def get_levels(self) -> Faults:
        """Give the levels of the factor beside `none`, each with its options."""
        drawn = self.random
        return draw_levels(self.faults, drawn.count, drawn.seed) if drawn else self.faults

    def choose_times_s(self, duration_s: float, level: str = NONE) -> tuple[float, float]:
        """Say when the fault of a level strikes in a measurement, and how long it lasts."""
        if self.random and DRAWN in level:
            return draw_times_s(level, self.random.seed, duration_s)
        keys = self.get_levels().get(level, FaultKeys())
        at_s = (keys.at_s, self.at_s, duration_s * AT_SHARE)
        lasts_s = (keys.for_s, self.heal_s, duration_s * HEAL_SHARE)
        first, lasting = (next(time_s for time_s in times if time_s is not None)
                          for times in (at_s, lasts_s))  # fmt: skip
        return first, lasting

    def has_shares(self, load: Load) -> bool:
        """Whether transactions arrive at a share of a maximum that the study measures first."""
        return self.during is not None

    def list_first_points(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """List the maxima that the rate is a share of."""
        return tuple(dict.fromkeys(find_maximum(point) for point in points if RATE in point.values))

    def find_conflicts(self, load: Load) -> Iterator[Violation]:
        """Find a measurement that ends before the fault is healed, and a missing ledger."""
        if self.random:
            own = {name: of.has_times for name, of in self.faults.items()}
            own |= {"at": self.at_s is not None, "heal": self.heal_s is not None}
            if timed := next((name for name in own if own[name]), None):
                yield Violation("a time beside drawn ones", "leave it out, or `random`", timed)
        times = [self.choose_times_s(load.duration_s, level) for level in self.get_levels()]
        if any(at_s <= 0 for at_s, _ in times):
            yield Violation("a fault at once", "some seconds before it, to compare with")
        last_s = max(at_s + lasts_s for at_s, lasts_s in times)
        if load.duration_s < last_s:
            right = f"at least `at` and `heal` together, {format_duration(last_s)}"
            yield Violation("the measurement ends before the fault is healed", right,
                            format_duration(load.duration_s), ("duration",))  # fmt: skip
        if self.during and load.rate_per_s is not None:
            right = "leave it out, or `during` of the scenario"
            yield Violation("a rate beside a share of the maximum", right, None, ("rate",))
        if not load.ledger:
            yield Violation("a failure without a ledger shows no loss",
                            "leave it out, and have the run's directory on other storage",
                            None, ("ledger",))  # fmt: skip


def find_maximum(point: Point) -> Point:
    """Find where the maximum is measured that a point's rate is a share of."""
    return point.replaced(RATE, MAXIMUM).replaced(FAULT, NONE)
