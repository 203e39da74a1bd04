"""The keys of the scenario: which faults, when they strike and when they are healed."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)

from stithy.names import suggest_instead
from stithy.registry import plugins
from stithy.scenarios.failure.fault import NONE, FaultKeys, FaultKind
from stithy.study.load_keys import Load
from stithy.study.problems import Violation, limit_quantity, make_rule_error, put_below
from stithy.study.scenario import ScenarioKeys
from stithy.units import ShownSeconds, format_duration

NAME = "failure"
FAULT = "fault"
"""The factor."""

AT_SHARE, HEAL_SHARE = 0.2, 0.4
"""Own: of the measurement, where a study does not say it."""

DAY_S = 86_400.0

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
    if isinstance(value, list | tuple) and len(given) < len(value):
        raise make_rule_error("a fault given twice", "keep one of them")
    return {name: _read_options(name, keys) for name, keys in given.items()}


def _read_options(name: Any, keys: Any) -> FaultKeys:
    if isinstance(keys, FaultKeys):
        return keys
    known = plugins(FaultKind)
    if name == NONE:
        raise make_rule_error(f"`{NONE}` among the faults", "leave it out: it is always measured")
    if name not in known:
        raise make_rule_error(f"not a fault, `{name}`", suggest_instead(str(name), list(known)))
    try:
        return known[name].keys.model_validate(keys or {})
    except ValidationError as error:
        raise put_below(name, error) from error


def write_faults(faults: Faults) -> list[str] | dict[str, Any]:
    """Write them as in a study: a list where none has options."""
    options = {
        name: keys.model_dump(mode="json", by_alias=True, exclude_unset=True)
        for name, keys in faults.items()
    }
    return options if any(options.values()) else list(options)


def _list_faults() -> str:
    return "; ".join(
        f"`{name}`: {fault.text}{_list_options(fault)}"
        for name, fault in plugins(FaultKind).items()
    )


def _list_options(fault: FaultKind) -> str:
    options = [field.alias or name for name, field in fault.keys.model_fields.items()]
    return f" (options: {', '.join(f'`{name}`' for name in options)})" if options else ""


Moment = Annotated[ShownSeconds, limit_quantity(0, DAY_S, format_duration)]


class FailureSpec(ScenarioKeys):
    """What breaks under the users, and when."""

    FIXED: ClassVar = frozenset({"faults"})
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
            f"is what the fault costs. Faults: {_list_faults()}."
        ),
        examples=[["drive-slow", "server-killed"], {"drive-slow": {"factor": 20}}],
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

    def choose_times_s(self, duration_s: float) -> tuple[float, float]:
        """Say when the fault strikes in a measurement of this length, and how long it lasts."""
        at_s = duration_s * AT_SHARE if self.at_s is None else self.at_s
        return at_s, duration_s * HEAL_SHARE if self.heal_s is None else self.heal_s

    def find_conflicts(self, load: Load) -> Iterator[Violation]:
        """Find a measurement that ends before the fault is healed, and a missing ledger."""
        at_s, heal_s = self.choose_times_s(load.duration_s)
        if at_s <= 0:
            yield Violation("a fault at once", "some seconds before it, to compare with")
        if load.duration_s < at_s + heal_s:
            right = f"at least `at` and `heal` together, {format_duration(at_s + heal_s)}"
            yield Violation("the measurement ends before the fault is healed", right,
                            format_duration(load.duration_s), ("duration",))  # fmt: skip
        if not load.ledger:
            yield Violation("a failure without a ledger shows no loss",
                            "leave it out, and have the run's directory on other storage",
                            None, ("ledger",))  # fmt: skip
