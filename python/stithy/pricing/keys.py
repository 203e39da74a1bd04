"""The section `cost` of a study: every input of what candidates cost, none with a hidden default.

Amounts are plain numbers in the currency of the section. What has a price only together with
something else (a life, a PUE, the price of a rack unit) is refused without it.
"""

from collections.abc import Iterator, Sequence
from datetime import date as Day  # noqa: N812 # a field of the section is called date
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from stithy.names import suggest_instead
from stithy.pricing.lists import Amount, Currency, ListRate, PriceList, check_date, read_price_list
from stithy.study.problems import Violation, refuse
from stithy.units import FinePercent, make_rule_error

HOURS_MOST = 8784
"""Of a leap year."""

EXAMPLE = {
    "currency": "USD", "date": "2026-01-15", "source": "quotation 4711", "interest": "5%",
    "duty": {"hours": 8760, "load": "40%"}, "site": {"admin_hours": 20, "admin_rate": 60},
    "items": {"volume": {"list": "gp3", "gb": 500, "iops": 3000, "mb_s": 125}},
    "licences": {"engine": {"per": "core", "count": 8, "yearly": 120}},
}  # fmt: skip

METERED = " (metered)"
"""The end of an item's name whose power was measured; no name that a person gives has a blank."""

Share = Annotated[FinePercent, PlainSerializer(lambda percent: f"{percent:g}%", when_used="json")]
Years = Annotated[float, Field(gt=0, le=100)]
Positive = Annotated[float, Field(gt=0)]
ItemName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=40)]
Inputs = tuple[tuple[str, ...], float]
"""The way to a number of the section, and the number."""


def declare_optional(
    description: str, *examples: object, default: Any = None, said: str = "not stated", **more: Any
) -> Any:
    """Make a key that may be left out; `said` is what of it is then assumed."""
    return Field(default=default, json_schema_extra={"default": said}, description=description,
                 examples=[*examples] or None, **more)  # fmt: skip


def find_missing(**together: float | None) -> Iterator[Violation]:
    """Find which of keys that need each other are left out, where one of them is given."""
    given = [name for name, value in together.items() if value is not None]
    for name in together if given else ():
        if name not in given:
            right = f"add `{name}`; nothing is assumed"
            yield Violation(f"`{given[0]}` without `{name}`", right, together[given[0]],
                            (given[0],))  # fmt: skip


class CostKeys(BaseModel):
    """Keys of the section: frozen, none unknown; written as they are read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True,
        serialize_by_alias=True,
    )  # fmt: skip


class Duty(CostKeys):
    """How much of a year what is priced works."""

    hours: Annotated[float, Field(gt=0, le=HOURS_MOST)] = Field(
        description="Hours of a year that the candidates are switched on.", examples=[8760]
    )
    load: Share = Field(
        description="Share of these hours at the load that is compared; the rest is idle.",
        examples=["40%"],
    )


class SiteCost(CostKeys):
    """What the place costs where the candidates stand."""

    pue: Annotated[float, Field(ge=1, le=10)] | None = declare_optional(
        "Energy of the whole site per energy of its machines; 1 for these alone.", 1.58
    )
    energy_price: Amount | None = declare_optional("Price of a kWh.", 0.127)
    rack_price: Amount | None = declare_optional("Price of a rack unit for a year.", 250)
    admin_hours: Amount | None = declare_optional(
        "Hours of work that each candidate takes in a year.", 40
    )
    admin_rate: Amount | None = declare_optional("Price of such an hour.", 60)

    @model_validator(mode="after")
    def _check_hours(self) -> Self:
        refuse(find_missing(admin_hours=self.admin_hours, admin_rate=self.admin_rate))
        return self


class Shared(CostKeys):
    """What is priced, and whose it is."""

    candidates: list[str] | None = declare_optional(
        "The candidates that have it.", ["io2"], said="every candidate", alias="for", min_length=1
    )
    share: Share = declare_optional(
        "Share of it that each of these candidates bears.", "50%", default=100.0, said="100%"
    )

    def is_of(self, candidate: str) -> bool:
        return self.candidates is None or candidate in self.candidates


class PricedItem(Shared):
    """A thing that is bought, or rented by the month, and the power that it takes."""

    count: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        default=1, description="How many there are; all else is of one.", examples=[48]
    )
    purchase: Positive | None = declare_optional("Its price; it needs `life` and `rest`.", 1200)
    life: Years | None = declare_optional("Years over which it is written off.", 5)
    rest: Amount | None = declare_optional("What it is worth afterwards.", 0)
    maintenance: Amount | None = declare_optional("Its maintenance for a year.", 90)
    watts: Amount | None = declare_optional(
        "Its power at the load that is compared; needs `duty` and `site.pue`.", 11.5
    )
    idle_watts: Amount | None = declare_optional(
        "Its power when idle; needed where `duty.load` is below 100%.", 8
    )
    rack_units: Amount | None = declare_optional("Rack units that it takes.", 2)
    price_list: Annotated[
        PriceList | None,
        BeforeValidator(read_price_list),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
    ] = declare_optional(
        "A cloud's prices for a month: a shipped list, `gp3` or `io2`, or a file.", "gp3",
        said="none", alias="list",
    )  # fmt: skip
    per_gb: ListRate | None = declare_optional(
        "Price of a GB for a month, and how many are free.", said="that of the list"
    )
    per_iops: ListRate | None = declare_optional(
        "The same of an I/O per second.", said="that of the list"
    )
    per_mb_s: ListRate | None = declare_optional("The same of a MB/s.", said="that of the list")
    gb: Amount | None = declare_optional("GB that are rented.", 500)
    iops: Amount | None = declare_optional("I/Os per second that are rented.", 3000)
    mb_s: Amount | None = declare_optional("MB/s that are rented.", 125)

    @property
    def rates(self) -> dict[str, tuple[ListRate, float]]:
        """What is paid for a month, of which amount: its rate, and how much of it."""
        every = self._match_rates()
        return {name: (rate, rented) for name, rate, rented in every
                if rate is not None and rented is not None}  # fmt: skip

    def _match_rates(self) -> Iterator[tuple[str, ListRate | None, float | None]]:
        listed = self.price_list or self
        yield "gb", listed.per_gb, self.gb
        yield "iops", listed.per_iops, self.iops
        yield "mb_s", listed.per_mb_s, self.mb_s

    @model_validator(mode="after")
    def _check_item(self) -> Self:
        bought = {"purchase": self.purchase, "life": self.life, "rest": self.rest}
        refuse([*find_missing(**bought), *self._find_wrong_rates()])
        if self.purchase is not None and self.rest is not None and self.rest > self.purchase:
            right = f"at most {self.purchase:,.12g}"
            refuse([Violation("worth more than its price", right, self.rest, ("rest",))])
        if self.idle_watts is not None and self.watts is None:
            refuse([Violation("`idle_watts` without `watts`", "add `watts`", self.idle_watts,
                              ("idle_watts",))])  # fmt: skip
        priced = (self.purchase, self.maintenance, self.watts, self.rack_units)
        if all(each is None for each in priced) and not self.rates:
            right = "give `purchase`, `list`, `per_gb`, `maintenance`, `watts` or `rack_units`"
            raise make_rule_error("an item without any price", right)
        return self

    def _find_wrong_rates(self) -> Iterator[Violation]:
        own = {"per_gb": self.per_gb, "per_iops": self.per_iops, "per_mb_s": self.per_mb_s}
        for key in (key for key, rate in own.items() if rate and self.price_list):
            right = "keep `list`, or write all of its rates here"
            yield Violation(f"`{key}` beside a price list", right, None, (key,))
        for name, rate, rented in self._match_rates():
            if rate is None and rented is not None:
                right = f"add `per_{name}`, or leave it out"
                yield Violation(f"`{name}` without its price", right, rented, (name,))
            elif rate is not None and rented is None:
                what, where = f"a price for `{name}` without how much", f"per_{name}"
                place = "list" if self.price_list else where
                yield Violation(what, f"add `{name}`", None, (place,))
            elif rate and rented and rate.most is not None and rented > rate.most:
                right = f"at most {rate.most:,.12g}; the list has no price of more"
                yield Violation("too much", right, rented, (name,))


class Licence(Shared):
    """A licence: bought for some years, with its support, or paid for each year."""

    per: Literal["core", "vm", "tb", "host"] = Field(
        description="What it is counted by.", examples=["core"]
    )
    count: Positive = Field(description="How many of these are licensed.", examples=[24])
    price: Positive | None = declare_optional(
        "Price of one that is bought; it needs `life` and `support`.", 6875
    )
    life: Years | None = declare_optional("Years over which it is written off.", 5)
    support: Share | None = declare_optional(
        "Its support for a year, as a share of the price.", "20%"
    )
    yearly: Positive | None = declare_optional("Price of one for a year, instead of `price`.", 1500)

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        refuse(find_missing(price=self.price, life=self.life, support=self.support))
        if (self.price is None) == (self.yearly is None):
            raise make_rule_error(
                "not one price of a licence", "give `yearly`, or `price` with `life` and `support`"
            )
        return self


class Pricing(CostKeys):
    """What the candidates cost: things, licences, power, space and work."""

    currency: Currency = Field(
        description="The currency of all amounts, as ISO 4217 has it.", examples=["USD"]
    )
    date: Annotated[str, AfterValidator(check_date)] = Field(
        description="The day of the prices.", examples=["2026-01-15"]
    )
    source: Annotated[str, StringConstraints(min_length=1, max_length=300)] = Field(
        description="Where the prices are from.", examples=["quotation 4711"]
    )
    interest: Share | None = declare_optional(
        "Interest for a year; what is bought is then paid in equal yearly parts.", "5%",
        said="straight-line depreciation",
    )  # fmt: skip
    duty: Duty | None = declare_optional(
        "How much of a year the candidates work.",
        said="not stated: no energy, and no cost of a transaction",
    )
    site: SiteCost = declare_optional(
        "Prices of the place: energy, space and work.", default=SiteCost()
    )
    items: dict[ItemName, PricedItem] = declare_optional(
        "What is bought or rented, each by a name.", default={}, said="none", max_length=100
    )
    licences: dict[ItemName, Licence] = declare_optional(
        "Licences, each by a name.", default={}, said="none", max_length=100
    )

    @property
    def stated_at(self) -> Day:
        """The day of the oldest of its prices."""
        lists = (item.price_list for item in self.items.values())
        days = (self.date, *(each.date for each in lists if each))
        return min(map(Day.fromisoformat, days))

    def list_numbers(self) -> list[Inputs]:
        """List all its numbers but bounds of price lists, with the ways to them."""
        found = _walk_numbers((), self)
        return [(path, number) for path, number in found
                if path[-1] not in ("count", "share") or not path[1].endswith(METERED)]  # fmt: skip

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if not (self.items or self.licences or self.site.admin_hours):
            right = "add `items`, `licences` or `site.admin_hours`"
            raise make_rule_error("nothing that costs anything", right)
        refuse(self._find_lacking())
        return self

    def _find_lacking(self) -> Iterator[Violation]:
        bought = (*(item.purchase for item in self.items.values()),
                  *(licence.price for licence in self.licences.values()))  # fmt: skip
        if self.interest is not None and all(price is None for price in bought):
            right = "add `purchase` to an item, or leave this out"
            yield Violation("interest, and nothing is bought", right, f"{self.interest:g}%",
                            ("interest",))  # fmt: skip
        for name, item in self.items.items():
            where = ("items", name)
            if item.watts is not None and self.duty is None:
                right = "add `duty: {hours: 8760, load: 100%}` to the section"
                yield Violation("power without hours", right, item.watts, (*where, "watts"))
            if item.watts is not None and self.site.pue is None:
                right = "add `site: {pue: 1}` for the energy of the machines alone, or the site's"
                yield Violation("power without a PUE", right, item.watts, (*where, "watts"))
            idles = self.duty is not None and self.duty.load < 100
            if item.watts is not None and item.idle_watts is None and idles:
                right = "add `idle_watts`, or `duty.load: 100%`"
                yield Violation("no power when idle", right, item.watts, (*where, "watts"))
            if item.rack_units is not None and self.site.rack_price is None:
                right = "add `site.rack_price`, or leave it out"
                yield Violation("rack units without a price", right, item.rack_units,
                                (*where, "rack_units"))  # fmt: skip
            if item.price_list and item.price_list.currency != self.currency:
                right = f"write all of `cost` in {item.price_list.currency}: nothing is converted"
                what = f"prices in another currency than {self.currency}"
                yield Violation(what, right, item.price_list.currency, (*where, "list"))

    @property
    def states_watts(self) -> bool:
        """Whether any of its items states its power, so that nothing measured counts."""
        stated = (item for name, item in self.items.items() if not name.endswith(METERED))
        return any(item.watts is not None for item in stated)


def _walk_numbers(above: tuple[str, ...], of: object) -> Iterator[Inputs]:
    if isinstance(of, BaseModel):
        names = {name: info.alias or name for name, info in type(of).model_fields.items()}
        of = {names[name]: value for name, value in of if name != "most"}
    if isinstance(of, dict):
        for name, value in of.items():
            yield from _walk_numbers((*above, name), value)
    elif isinstance(of, int | float):
        yield above, float(of)


def find_misfits(
    pricing: Pricing, candidates: Sequence[str], *, has_users: bool, is_metered: bool
) -> Iterator[Violation]:
    """Find what a study has not to which prices refer: its candidates, users, or any power.

    `is_metered`: the study measures power, which counts where no item states watts.
    """
    for section, priced in (("items", pricing.items), ("licences", pricing.licences)):
        for name, each in priced.items():
            for place, candidate in enumerate(each.candidates or ()):
                if candidate not in candidates:
                    yield Violation("a candidate that the study does not have",
                                    suggest_instead(candidate, candidates), candidate,
                                    (section, name, "for", place))  # fmt: skip
    site, duty = pricing.site, pricing.duty
    is_powered = pricing.states_watts or (is_metered and site.pue is not None)
    if duty is not None and not (has_users or is_powered):
        right = "add `watts` to an item, or leave this out"
        yield Violation("a duty for nothing: there are no users, and no power is known", right,
                        {"hours": duty.hours, "load": f"{duty.load:g}%"}, ("duty",))  # fmt: skip
    racked = any(item.rack_units for item in pricing.items.values())
    if site.rack_price is not None and not racked:
        right = "add `rack_units` to an item, or leave this out"
        yield Violation("a price of rack units for nothing", right, site.rack_price,
                        ("site", "rack_price"))  # fmt: skip
    for key, value in (("energy_price", site.energy_price), ("pue", site.pue)):
        if value is None or pricing.states_watts:
            continue
        if not is_metered:
            right = "add `watts` to an item, or `power` to the study, or leave this out"
            yield Violation(f"`{key}` for nothing: no power is known", right, value, ("site", key))
        elif duty is None or site.pue is None:
            right = "add `duty` and `site.pue`: nothing is assumed"
            yield Violation(f"`{key}` without hours or PUE", right, value, ("site", key))


def explain_move(cost: object) -> Violation:
    """Say where the cost of a candidate is written now."""
    right = (
        "write at the top of the file `cost: {currency: EUR, date: …, source: …, items: "
        "{disk: {for: [disk], purchase: 1200, life: 5, rest: 0}}}`"
    )
    what = "the cost of a candidate, which has moved to the section `cost`"
    return Violation(what, right, cost, ("cost",))
