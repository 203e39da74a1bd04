"""Whether a neighbour on drives of its own costs the tenants nothing, as it must, in sentences."""

from collections.abc import Iterator

from stithy.analysis.answers.disturbance import Disturbance
from stithy.analysis.verdict.effect import Effect
from stithy.metrics import Quantity
from stithy.plan.scenarios.noisy_neighbour import VOLUME
from stithy.point import Point
from stithy.report.context import Context
from stithy.report.parts.devices import devices_by_role
from stithy.report.parts.neighbour import neighbour_said
from stithy.report.words.wording import in_table, listing, plural


def is_apart(context: Context, candidate: str, point: Point) -> bool:
    """Whether the neighbour worked on devices on which the tenants' data are not."""
    manifest, facts = context.manifest, context.facts_of(candidate)
    if manifest is None or facts is None:
        return False
    usual = manifest.scenario_facts.get("volume", "data")
    devices = devices_by_role(facts)
    own = devices.get(str(point.values.get(VOLUME, usual)), frozenset())
    return bool(own) and own.isdisjoint(devices.get("data", frozenset()))


def control(context: Context, each: Disturbance, quantities: tuple[Quantity, ...]) -> Iterator[str]:
    """Whether the intervals of these ratios include 1, of a neighbour on drives of its own."""
    if not is_apart(context, each.candidate, each.point):
        return
    neighbour = neighbour_said(context, each.point)
    at = f"On {each.candidate} the neighbour of {neighbour} has drives of its own"
    known = {name: each.growth[name].effect for name in quantities}
    beyond = {name: effect for name, effect in known.items() if effect.distinguishable}
    if beyond:
        are = "excludes" if len(beyond) == 1 else "exclude"
        yield (
            f"{at}, but {_ratios(beyond)} {are} 1: tenants and neighbour share something else, "
            "such as CPUs."
        )
    elif why := next(
        (_why_open(name, effect) for name, effect in known.items() if effect.plain), None
    ):
        yield f"{at}, but whether it costs the tenants anything is not decided: {why}."
    else:
        yield f"{at}, and costs the tenants nothing that is seen: {_ratios(known)} include 1."


def _why_open(quantity: Quantity, effect: Effect) -> str:
    """Why a ratio of few blocks, or of none, decides nothing."""
    if effect.ratio is None:
        return f"{quantity.label} is not known, as {effect.missing_because}"
    return f"{plural(effect.pairs, 'block is', 'blocks are')} too few"


def _ratios(effects: dict[Quantity, Effect]) -> str:
    parts = [f"{name.label} ({in_table(effect.low or 0)} to {in_table(effect.high or 0)})"
             for name, effect in effects.items()]  # fmt: skip
    return f"the interval{'s' if len(parts) > 1 else ''} of {listing(parts)}"
