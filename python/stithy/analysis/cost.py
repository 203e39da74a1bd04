"""What candidates cost in a year by the stated inputs, and what that makes of work and of users.

Nothing is assumed: an input that is not stated gives no term, and its name stands beside the sum.
Source of all formulas: docs/explanation/method.md, "Costs".
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel

from stithy.analysis.capacity import count_users_within
from stithy.analysis.evidence import Evidence
from stithy.analysis.measures import Cell, Measure
from stithy.metrics import ALL, COST_PER_MILLION, COST_PER_USER, Quantity
from stithy.point import Point
from stithy.power import MEAN_W
from stithy.pricing.keys import HOURS_MOST, METERED, Licence, PricedItem, Pricing
from stithy.search import ResponseTarget

MONTHS = 12
MILLION = 1e6
SHARE_VARIED = 0.2
"""By so much each input is varied, down and up."""

RENTED = {"gb": "capacity", "iops": "IOPS", "mb_s": "throughput"}


@dataclass(frozen=True)
class CostTerm:
    """One part of a yearly cost: of which item or licence, and of what kind."""

    item: str
    kind: str
    amount: float

    @property
    def name(self) -> str:
        """`depreciation of server`; `administration` of the site itself."""
        return f"{self.kind} of {self.item}" if self.item else self.kind


@dataclass(frozen=True)
class YearlyCost:
    """What a candidate costs in a year, its terms from the largest.

    `watts` at the compared load, without PUE, and `kwh` of a year with it: None where no item of it
    has any. `not_stated`: what the sum does not contain. `missing_because`: why there is no sum.
    """

    candidate: str
    terms: tuple[CostTerm, ...]
    watts: float | None
    kwh: float | None
    not_stated: tuple[str, ...]
    missing_because: str | None = None

    @property
    def total(self) -> float | None:
        """The sum; None where nothing is stated that has a price, or a part is not known."""
        return None if self.missing_because else sum((term.amount for term in self.terms), 0.0)


def annualize(purchase: float, rest: float, life: float, interest: float) -> float:
    """Spread a purchase over the years of its life, `interest` as a share of 1.

    Straight line at 0; else the annuity whose present value is the purchase less that of the rest.
    """
    if interest == 0:
        return (purchase - rest) / life
    left: float = (1 + interest) ** -life
    return (purchase - rest * left) * interest / (1 - left)


def price_candidate(pricing: Pricing, candidate: str) -> YearlyCost:
    """Sum what a candidate costs in a year."""
    items = {name: item for name, item in pricing.items.items() if item.is_of(candidate)}
    licences = {name: each for name, each in pricing.licences.items() if each.is_of(candidate)}
    terms = [
        *(term for name, item in items.items() for term in _price_item(pricing, name, item)),
        *(term for name, each in licences.items() for term in _price_licence(pricing, name, each)),
    ]
    site = pricing.site
    if site.admin_hours is not None and site.admin_rate is not None:
        terms.append(CostTerm("", "administration", site.admin_hours * site.admin_rate))
    powered = [item for item in items.values() if item.watts is not None]
    watts = sum(_count(item) * (item.watts or 0) for item in powered) if powered else None
    kwh = sum(_measure_kwh(pricing, item) for item in powered) if powered else None
    ordered = sorted(terms, key=lambda term: (-term.amount, term.name))
    unstated = tuple(_list_unstated(pricing, items, licences))
    because = None if terms else "nothing of it has a price in the study"
    if pricing.site.energy_price is not None and not powered and not pricing.states_watts:
        because = NO_POWER
    return YearlyCost(candidate, tuple(ordered), watts, kwh, unstated, because)


NO_POWER = "its energy has a price, and its power was not measured, at this load or idle"
"""A sum without it would be too low beside that of a candidate with it."""


def _count(item: PricedItem) -> float:
    return item.count * item.share / 100


def _price_item(pricing: Pricing, name: str, item: PricedItem) -> Iterator[CostTerm]:
    count, site = _count(item), pricing.site
    if item.purchase is not None and item.life is not None and item.rest is not None:
        each = annualize(item.purchase, item.rest, item.life, (pricing.interest or 0) / 100)
        yield CostTerm(name, "depreciation", count * each)
    if item.maintenance is not None:
        yield CostTerm(name, "maintenance", count * item.maintenance)
    if item.watts is not None and site.energy_price is not None:
        yield CostTerm(name, "energy", _measure_kwh(pricing, item) * site.energy_price)
    if item.rack_units is not None and site.rack_price is not None:
        yield CostTerm(name, "rack space", count * item.rack_units * site.rack_price)
    for amount, (rate, rented) in item.rates.items():
        monthly = rate.price * max(0.0, rented - rate.free)
        yield CostTerm(name, RENTED[amount], count * monthly * MONTHS)


def _measure_kwh(pricing: Pricing, item: PricedItem) -> float:
    """Energy of a year, kWh, PUE included; the model refuses watts without duty and PUE."""
    duty, pue = pricing.duty, pricing.site.pue
    if duty is None or pue is None:
        return 0.0
    load = duty.load / 100
    watts = load * (item.watts or 0) + (1 - load) * (item.idle_watts or 0)
    return _count(item) * pue * duty.hours / 1000 * watts


def _price_licence(pricing: Pricing, name: str, licence: Licence) -> Iterator[CostTerm]:
    count = licence.count * licence.share / 100
    if licence.yearly is not None:
        yield CostTerm(name, "licence", count * licence.yearly)
    elif licence.price is not None and licence.life is not None:
        each = annualize(licence.price, 0, licence.life, (pricing.interest or 0) / 100)
        yield CostTerm(name, "licence", count * each)
        yield CostTerm(name, "support", count * licence.price * (licence.support or 0) / 100)


def _list_unstated(
    pricing: Pricing, items: Mapping[str, PricedItem], licences: Mapping[str, Licence]
) -> Iterator[str]:
    bought = [name for name, item in items.items() if item.purchase is not None]
    is_metered = any(name.endswith(METERED) for name in items)
    for kind, lacking in (
        ("maintenance", [name for name in bought if items[name].maintenance is None]),
        # Nobody knows here which of these things meters see.
        ("energy", [name for name in bought if items[name].watts is None and not is_metered]),
        ("rack space", [name for name in bought if items[name].rack_units is None]),
    ):
        if lacking:
            yield f"{kind} of {', '.join(lacking)}"
    if pricing.site.energy_price is None and any(item.watts for item in items.values()):
        yield "energy (no price of a kWh)"
    if pricing.site.admin_hours is None:
        yield "administration"
    if not licences:
        yield "licences"


def add_measured_power(
    pricing: Pricing, evidence: Evidence, point: Point | None, idle_w: Mapping[str, float | None]
) -> Pricing:
    """Add what meters measured of each candidate at a point, as the power of an item of its own.

    Nothing where an item states watts, or without duty and PUE. Edge cases: a candidate without a
    mean there, or without the idle power that the duty needs, has none.
    """
    duty = pricing.duty
    if point is None or duty is None or pricing.site.pue is None or pricing.states_watts:
        return pricing
    items = dict(pricing.items)
    for name in evidence.candidates:
        watts, idle = evidence.level_of(name, point, Quantity(MEAN_W)), idle_w.get(name)
        if watts is not None and (idle is not None or duty.load == 100):
            power = {"for": [name], "watts": watts, "idle_watts": idle}
            items[f"{name}{METERED}"] = PricedItem.model_validate(power)
    return pricing.model_copy(update={"items": items})


PricesAt = Callable[[Point], Pricing]
"""The prices with the power that was measured at a point."""


@dataclass(frozen=True)
class CandidateCost:
    """What a candidate costs, by what it did at the point where candidates are reported.

    `per_s`: transactions a second, counted as the workload counts them. `per_million` of these,
    `per_user` within the target, `energy_j` of one by stated watts, without PUE: that of measured
    power is a metric of each window. Each is None with its reason in `missing`, by name.
    """

    yearly: YearlyCost
    per_s: float | None
    users: int | None
    per_million: float | None
    per_user: float | None
    energy_j: float | None
    missing: Mapping[str, str]

    @property
    def candidate(self) -> str:
        return self.yearly.candidate


def price_work(
    pricing: Pricing, evidence: Evidence, point: Point | None, limit: ResponseTarget | None
) -> tuple[CandidateCost, ...]:
    """Hold the yearly cost of each candidate against its work at a point, and its users."""
    return tuple(
        _price_candidate_work(pricing, evidence, name, point, limit) for name in evidence.candidates
    )


def _price_candidate_work(
    pricing: Pricing,
    evidence: Evidence,
    name: str,
    point: Point | None,
    limit: ResponseTarget | None,
) -> CandidateCost:
    yearly = price_candidate(pricing, name)
    per_s = measure_rate(evidence, name, point) if point is not None else None
    users, no_users = count_priced_users(evidence, name, limit)
    per_million = price_million(pricing, yearly, per_s)
    total, missing = yearly.total, dict[str, str]()
    if yearly.missing_because:
        missing["yearly cost"] = yearly.missing_because
    if per_million is None:
        missing["cost per million"] = _explain_million(pricing, yearly, per_s)
    if because := no_users or yearly.missing_because:
        missing["cost per user"] = because
    stated_w = yearly.watts if pricing.states_watts else None
    if yearly.watts is None:
        missing["energy"] = "no watts of it are stated"
    elif stated_w is None:
        missing["energy per transaction by stated watts"] = "its power is that of meters: see Power"
    elif not per_s:
        missing["energy per transaction by stated watts"] = NO_WORK
    return CandidateCost(
        yearly, per_s, users, per_million,
        total / users if total is not None and users else None,
        stated_w / per_s if stated_w is not None and per_s else None,
        missing,
    )  # fmt: skip


NO_WORK = "no valid window completed what the throughput counts"


def _explain_million(pricing: Pricing, yearly: YearlyCost, per_s: float | None) -> str:
    if yearly.missing_because:
        return yearly.missing_because
    if pricing.duty is None:
        return "the study states no `duty`"
    return "its duty has no time at load" if not pricing.duty.load else NO_WORK


def measure_rate(evidence: Evidence, candidate: str, point: Point) -> float | None:
    """Transactions a second of a candidate at a point, as the workload counts them."""
    done = evidence.level_of(candidate, point, evidence.throughput)
    return None if done is None else done / evidence.throughput.known.period_s


def count_priced_users(
    evidence: Evidence, candidate: str, limit: ResponseTarget | None
) -> tuple[int | None, str | None]:
    """Count the users within the target that a cost may rest on, or say why there is no number.

    A number that is only a lower bound is none: its cost would be an upper bound.
    """
    if limit is None:
        return None, "the study sets no response-time target"
    found = count_users_within(evidence, candidate, limit)
    if found.level is None:
        return None, found.missing_because or "no level meets the target"
    if any(window.row.get("rate_per_s") is not None for window in evidence.windows):
        return None, "at a rate there are no users, only connections"
    if found.not_at is not None and found.open_because is None:
        return found.level, None
    because = found.open_because or "no measured level misses the target"
    are = "user is" if found.level == 1 else "users are"
    return None, f"at least {found.level:,} {are} within the target, and {because}"


def price_million(pricing: Pricing, yearly: YearlyCost, per_s: float | None) -> float | None:
    """Divide a yearly cost by the millions of transactions of a year at the stated duty."""
    duty = pricing.duty
    if yearly.total is None or duty is None or not per_s or not duty.load:
        return None
    return yearly.total / (per_s * duty.load / 100 * duty.hours * 3600 / MILLION)


def list_cost_rows(prices: PricesAt, evidence: Evidence) -> Iterator[dict[str, Any]]:
    """List the cost of a million transactions of each window, as rows of the table `values`."""
    column = evidence.throughput.known.column
    for window in evidence.windows:
        pricing = prices(window.point)
        if pricing.duty is None or "load" not in window.tables:
            continue
        yearly = price_candidate(pricing, window.candidate)
        done = window.value(column)
        per_s = done / evidence.throughput.known.period_s if done else None
        value = price_million(pricing, yearly, per_s)
        yield {
            "window_id": window.id, "activity": "cost", "metric": COST_PER_MILLION.metric,
            "of": ALL, "count": None, "value": value,
            "missing_because": None if value is not None
            else _explain_million(pricing, yearly, per_s),
        }  # fmt: skip


def measure_costs(
    prices: PricesAt, evidence: Evidence, limit: ResponseTarget | None
) -> dict[Quantity, Measure]:
    """Measure what a million transactions cost at each point, and a user of each setting."""
    millions: dict[Cell, float] = {}
    users: dict[Cell, float] = {}
    for name in evidence.candidates:
        within = {
            setting.others: count_priced_users(evidence.at_setting(setting), name, limit)[0]
            for setting in evidence.settings
        }
        for point in evidence.points:
            pricing = prices(point)
            yearly, served = price_candidate(pricing, name), within.get(point.others)
            per_s = measure_rate(evidence, name, point)
            if (value := price_million(pricing, yearly, per_s)) is not None:
                millions[name, point] = value
            if yearly.total is not None and served:
                users[name, point] = yearly.total / served
    return {COST_PER_MILLION: Measure({}, millions), COST_PER_USER: Measure({}, users)}


@dataclass(frozen=True)
class BreakEven:
    """At what price a candidate costs as much as the first one, a user or else a transaction.

    `factor`: what all prices of its own items may be multiplied by; `purchase`: what all of them
    that are bought then cost new, whoever bears it. Without a number `because` says why.
    """

    candidate: str
    against: str
    by: str = "user"
    factor: float | None = None
    purchase: float | None = None
    because: str | None = None


def find_break_even(pricing: Pricing, first: CandidateCost, other: CandidateCost) -> BreakEven:
    """Solve for the price of a candidate: its cost is linear in the prices of its own items.

    Its own are those that the first candidate does not have.
    """
    by, ratio = compare_bases(first, other)
    names = first.candidate, other.candidate
    own = [
        name
        for name, item in pricing.items.items()
        if item.is_of(names[1]) and not item.is_of(names[0])
        and (item.purchase is not None or item.rates)
    ]  # fmt: skip
    one, two = first.yearly.total, other.yearly.total
    even = partial(BreakEven, names[1], names[0], by)
    if ratio is None or one is None or two is None:
        unpriced = first.yearly.missing_because or other.yearly.missing_because
        return even(because=unpriced or "no users and no transactions of both are known")
    if not own:
        return even(because="it has no priced item of its own")
    slope = (price_candidate(_double_prices(pricing, own), names[1]).total or 0.0) - two
    if not slope:
        return even(because="its own items cost nothing at any multiple of their prices")
    factor = 1 + (one * ratio - two) / slope
    if factor < 0:
        return even(because="its other costs are higher at any price")
    bought = [item for name in own if (item := pricing.items[name]).purchase is not None]
    if any(factor * (item.purchase or 0) < (item.rest or 0) for item in bought):
        return even(because="only at a purchase below what a thing is worth after its life")
    paid = sum(item.count * (item.purchase or 0) for item in bought)
    return even(factor=factor, purchase=factor * paid if bought else None)


def compare_bases(first: CandidateCost, other: CandidateCost) -> tuple[str, float | None]:
    """Choose by what two candidates' costs are compared, and how much more of it the other has."""
    if first.users and other.users:
        return "user", other.users / first.users
    if first.per_s and other.per_s:
        return "transaction", other.per_s / first.per_s
    return "transaction", None


def compare_prices(
    pricing: Pricing, first: CandidateCost, other: CandidateCost
) -> tuple[str, float | None]:
    """Compare two candidates by what a user or else a transaction costs: the ratio of the other."""
    by, ratio = compare_bases(first, other)
    one, two = (price_candidate(pricing, each.candidate).total for each in (first, other))
    return by, two / one / ratio if one and two is not None and ratio else None


def _double_prices(pricing: Pricing, names: list[str]) -> Pricing:
    for name in names:
        item = pricing.items[name]
        paths: list[tuple[str, ...]] = [("purchase",)] if item.purchase is not None else []
        listed = ["list"] if item.price_list else []
        paths += [(*listed, f"per_{amount}", "price") for amount in item.rates]
        for path in paths:
            pricing = _scale_input(pricing, ("items", name, *path), 2.0)
    return pricing


@dataclass(frozen=True)
class Swing:
    """What an answer becomes with an input lower and higher by `SHARE_VARIED`.

    An input stays within what it may be (see `_clamp`): `low_input` and
    `high_input` are what it was varied to.
    """

    name: str
    value: float
    low_input: float
    high_input: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """How far apart the two answers are."""
        return abs(self.high - self.low)

    @property
    def is_seen(self) -> bool:
        """Whether they differ by more than what arithmetic rounds."""
        return self.width > 1e-9 * max(abs(self.low), abs(self.high))


def rank_inputs(pricing: Pricing, answer: Callable[[Pricing], float | None]) -> tuple[Swing, ...]:
    """Vary each input by itself, and order by how much the answer changes; without those of no use.

    Edge cases: inputs of 0 do not change; an answer that is missing leaves its input out; so does
    more than a price list has a price for, and a share of the year at load where the power of the
    rest is not stated.
    """
    idle = all(item.idle_watts is not None for item in pricing.items.values() if item.watts)
    found = (_vary_input(pricing, path, value, answer) for path, value in pricing.list_numbers()
             if idle or path != ("duty", "load"))  # fmt: skip
    swings = [swing for swing in found if swing is not None and swing.is_seen]
    return tuple(sorted(swings, key=lambda swing: (-swing.width, swing.name)))


def _vary_input(
    pricing: Pricing, path: tuple[str, ...], value: float, answer: Callable[[Pricing], float | None]
) -> Swing | None:
    least, most = (_clamp(path[-1], value * (1 + sign * SHARE_VARIED)) for sign in (-1, 1))
    if not value:
        return None
    varied = [_scale_input(pricing, path, end / value) for end in (least, most)]
    low, high = map(answer, varied)
    if low is None or high is None or not all(map(_is_sold, varied)):
        return None
    return Swing(".".join(path), value, least, most, low, high)


def _is_sold(pricing: Pricing) -> bool:
    """Whether a list has prices of all that is rented, and nothing gains worth in its life."""
    items = pricing.items.values()
    rented = (each for item in items for each in item.rates.values())
    lasting = all((item.rest or 0) <= item.purchase for item in items if item.purchase is not None)
    return lasting and all(rate.most is None or amount <= rate.most for rate, amount in rented)


def _clamp(key: str, value: float) -> float:
    """Keep an input within what it may be: no PUE below 1, nothing above its most."""
    return max(1.0, value) if key == "pue" else min(MOST.get(key, value), value)


MOST = {"share": 100.0, "load": 100.0, "support": 100.0, "interest": 100.0, "hours": HOURS_MOST}
"""Of an input by its key: shares, percent, and the hours of a year."""


def _scale_input(of: Any, path: tuple[str, ...], factor: float) -> Any:
    if not path:
        return of * factor
    first, *rest = path
    if isinstance(of, Mapping):
        return {**of, first: _scale_input(of[first], tuple(rest), factor)}
    assert isinstance(of, BaseModel)  # a path leads through models and mappings to a number
    name = next(field for field, info in type(of).model_fields.items()
                if first in (field, info.alias))  # fmt: skip
    return of.model_copy(update={name: _scale_input(dict(of)[name], tuple(rest), factor)})
