"""The section `power` of a study: its meters, and how long the machine is measured idle."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
)

from stithy.meters.meter import GivenMeter, Meter
from stithy.metrics import ALL
from stithy.power import NAME
from stithy.registry import plugins
from stithy.study.problems import Violation, list_kinds
from stithy.thresholds import MeasuredSide
from stithy.units import Seconds, format_duration, limit_quantity

if TYPE_CHECKING:
    from stithy.study.model import Study

EXAMPLE = {
    "meters": {"wall": {"shelly": "http://192.168.0.7"}}, "total": ["wall"], "idle": "2 min",
}  # fmt: skip

IDLE_S = 60.0
"""Own: as long as the slowest meters average."""


def _read_meter(value: Any) -> GivenMeter:
    if isinstance(value, GivenMeter):
        return value
    name, *_ = list_kinds(value, list(plugins(Meter)), "meter", "its kind")
    return GivenMeter(name, plugins(Meter)[name].keys.model_validate(value))


MeterName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]
MeterValue = Annotated[
    GivenMeter,
    PlainValidator(_read_meter),
    PlainSerializer(
        lambda meter: meter.keys.model_dump(mode="json", by_alias=True, exclude_unset=True)
    ),
    WithJsonSchema({"type": "object"}),
]


class Power(BaseModel):
    """What measures the power that candidates draw."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    meters: Annotated[dict[MeterName, MeterValue], Field(min_length=1, max_length=20)] = Field(
        description="The meters by name, each of a kind: see docs/how-to/measure-power.md.",
        examples=[{"wall": {"shelly": "http://192.168.0.7"}}],
    )
    total: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        strict=False,
        json_schema_extra={"default": "the only meter of each candidate"},
        description=(
            "The meters whose watts are added to those of a candidate, such as the outlets of two "
            "power supplies. Required if a candidate has several; others are reported beside it."
        ),
        examples=[["left", "right"]],
    )
    idle_s: Annotated[Seconds, limit_quantity(5, 3600, format_duration)] = Field(
        alias="idle",
        default=IDLE_S,
        json_schema_extra={"default": format_duration(IDLE_S)},
        description="How long the idle machine is measured before anything is loaded.",
        examples=["2 min"],
    )

    def __str__(self) -> str:
        counted = {name: self.meters[name] for name in self.total or self.meters}
        return "; ".join(f"{name}: {of.kind} ({of.sees})" for name, of in counted.items())

    def narrow_to(self, candidate: str) -> "Power":
        """Keep the meters of one candidate, for every candidate that a study then has."""
        meters = {
            name: GivenMeter(of.kind, of.keys.model_copy(update={"candidates": None}))
            for name, of in self.list_meters(candidate).items()
        }
        total = tuple(self.list_counted(candidate))
        return self.model_copy(update={"meters": meters, "total": total})

    def list_meters(self, candidate: str) -> Mapping[str, GivenMeter]:
        """List the meters that measure windows of a candidate."""
        return {name: of for name, of in self.meters.items() if of.applies_to(candidate)}

    def list_counted(self, candidate: str) -> Mapping[str, GivenMeter]:
        """List those whose watts are those of the candidate."""
        every, total = self.list_meters(candidate), self.total
        return every if total is None else {name: every[name] for name in total if name in every}


def find_power_problems(study: "Study") -> Iterator[Violation]:
    """Find what of the section does not fit itself or the study, each at the key to change."""
    if (power := study.power) is None:
        for place, name in _list_asked(study):
            right = "add the section `power` with a meter: docs/how-to/measure-power.md"
            yield Violation("a metric of power in a study without a meter", right, name, place)
        return
    if ALL in power.meters:
        place = (NAME, "meters", ALL)
        yield Violation("a meter with a name that Stithy uses", "call it otherwise", ALL, place)
    for name, meter in power.meters.items():
        for other in meter.keys.candidates or ():
            if other not in study.candidates:
                place = (NAME, "meters", name, "candidates")
                known = ", ".join(study.candidates)
                yield Violation("a candidate that the study does not have", known, other, place)
    total = power.total or ()
    for index, name in enumerate(total):
        if name not in power.meters or name in total[:index]:
            what = f"not a meter of the study, or named twice: {', '.join(power.meters)}"
            yield Violation(what, "name each meter once", name, (NAME, "total", index))
    yield from _find_miscounted(study, power)


def _find_miscounted(study: "Study", power: Power) -> Iterator[Violation]:
    for candidate in study.candidates:
        counted = power.list_counted(candidate)
        if not counted:
            right = "name it in `candidates` of a meter, or in `total` a meter that it has"
            yield Violation(f"`{candidate}` has no meter", right, None, (NAME, "meters"))
        if len(counted) > 1 and power.total is None:
            right = "name those whose watts are added: `total: [left, right]`"
            names = ", ".join(counted)
            yield Violation(f"`{candidate}` has several meters", right, names, (NAME, "meters"))
        parts = {meter.kind for meter in counted.values() if meter.plugin.of_server}
        if len(parts) > 1:
            what = f"{' and '.join(sorted(parts))} measure the same server twice"
            yield Violation(what, "name one of them", None, (NAME, "total"))
        alike = {"sees": None, "every_s": 1.0, "candidates": None}
        keys = [meter.keys.model_copy(update=alike) for meter in counted.values()]
        for place, name in enumerate(counted):
            if keys[place] in keys[:place]:
                right = "leave it out: its watts would be added twice"
                yield Violation("a meter that is counted already", right, name, (NAME, "total"))


def _list_asked(study: "Study") -> Iterator[tuple[tuple[str | int, ...], str]]:
    start = f"{NAME}."
    if study.primary.metric and study.primary.metric.startswith(start):
        yield ("primary", "metric"), study.primary.metric
    for place, threshold in enumerate(study.thresholds):
        sides = (threshold.left, threshold.right)
        if any(isinstance(side, MeasuredSide) and side.metric.startswith(start) for side in sides):
            yield ("thresholds", place), str(threshold)
