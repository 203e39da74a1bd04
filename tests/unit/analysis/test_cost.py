"""What candidates cost by stated inputs: known sums, and what no input may do."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT
from stithy.analysis.cost import (
    add_measured_power,
    annualize,
    compare_prices,
    count_priced_users,
    find_break_even,
    price_candidate,
    price_work,
    rank_inputs,
)
from stithy.metrics import COST_PER_MILLION, COST_PER_USER
from stithy.power import MEAN_W
from stithy.pricing.keys import Pricing, SiteCost
from stithy.report.blocks import Figure
from stithy.report.context import Context
from stithy.report.sections.answer import candidates
from stithy.report.sections.cost import _draw_figures, describe_costs, list_notes
from stithy.results.manifest import LimitFacts
from support.drawn import context_built
from support.points import at
from support.priced import PRICING, make_pricing
from support.sample_run import Shape

HEAD = {"currency": "USD", "date": "2009-01-15", "source": "EIA, January 2009"}
LIMIT = LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1)


def priced(**sections: Any) -> Pricing:
    """Prices of candidates `a` and `b`."""
    return Pricing.model_validate({**HEAD, **sections})


def test_a_published_saving_is_recomputed() -> None:
    """What is printed is cut to whole numbers; one of them follows from no other."""
    paper = tomllib.loads((ROOT / "studies/papers/cost.toml").read_text())
    printed, found = paper["printed"], paper["recomputed"]
    saved = {"saved": {"watts": float(printed["saving_watts"])}}
    duty = {"hours": float(found["hours"]), "load": "100%"}
    for pue, times in ((1.0, 1.0), (1.58, 1.58)):
        site = {"pue": pue, "energy_price": printed["usd_per_kwh"]}
        yearly = price_candidate(priced(site=site, duty=duty, items=saved), "a")
        assert yearly.kwh == pytest.approx(times * found["kwh_per_year"])
        assert yearly.total == pytest.approx(times * found["usd_per_year"], abs=0.01)
    assert int(found["kwh_per_year"]) == printed["kwh_per_year"]
    assert int(found["usd_per_year"]) == printed["usd_per_year"]
    per_watt = found["usd_per_year"] / printed["saving_watts"]
    assert printed["usd_per_year_key_results"] / per_watt == pytest.approx(554.8, abs=0.05)
    assert printed["saving_watts"] / printed["saving_share"] == pytest.approx(1224, abs=0.5)


def test_a_year_is_the_sum_of_its_stated_terms() -> None:
    """Each item by its count and share, each licence, power at load and idle, and work."""
    terms = {term.name: term.amount for term in price_candidate(PRICING, "disk").terms}
    kwh = 4 * 1.5 * 8.0 * (0.4 * 8 + 0.6 * 5)
    assert terms == pytest.approx({
        "depreciation of drive": 4 * 900 / 5, "maintenance of drive": 80, "rack space of drive":
        4 * 2 * 250, "energy of drive": kwh * 0.2, "depreciation of server": 6000 / 4 / 2,
        "licence of engine": 4 * 700 / 4, "support of engine": 4 * 140, "licence of backup": 120,
        "administration": 600,
    })  # fmt: skip
    rented = {term.name: term.amount for term in price_candidate(PRICING, "memory").terms}
    assert rented["capacity of volume-0"] == pytest.approx(12 * 0.1 * 400)
    assert rented["IOPS of volume-0"] == pytest.approx(12 * 0.01 * 1000)
    assert rented["throughput of volume-0"] == 0


def test_what_is_not_stated_is_no_zero() -> None:
    """It has no term, and its name stands beside the sum."""
    items = {"server": {"for": ["a"], "purchase": 600.0, "life": 3.0, "rest": 0.0}}
    known, other = (price_candidate(priced(items=items), name) for name in "ab")
    assert (known.total, known.kwh, other.total) == (200, None, None)
    assert known.not_stated == (
        "maintenance of server", "energy of server", "rack space of server", "administration",
        "licences",
    )  # fmt: skip


@given(st.floats(1, 1e6), st.floats(0, 1), st.floats(0.5, 30), st.floats(1e-4, 0.5))
def test_equal_yearly_parts_pay_a_purchase_back(
    purchase: float, left: float, life: float, interest: float
) -> None:
    """Their present value is the price less that of the rest; at almost no interest a line."""
    rest = left * purchase
    yearly = annualize(purchase, rest, life, interest)
    worth = yearly * (1 - (1 + interest) ** -life) / interest + rest * (1 + interest) ** -life
    assert worth == pytest.approx(purchase)
    line = annualize(purchase, rest, life, 0)
    assert annualize(purchase, rest, life, 1e-7) == pytest.approx(line, abs=1e-6 * purchase)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A run in which disk has a number of users within its target, and memory more than it."""
    shape = Shape(repeat=4, limit=LIMIT, pricing=PRICING, logs=True)
    return context_built(tmp_path_factory.mktemp("priced"), shape)


def test_work_and_users_share_the_cost(context: Context) -> None:
    """A million transactions by the duty; no user where more may be within the target."""
    disk, memory = context.costs
    assert disk.per_s is not None
    assert disk.per_million == pytest.approx(5589.52 / (disk.per_s * 0.4 * 8000 * 3600 / 1e6))
    assert (disk.users, disk.per_user) == (4, 5589.52 / 4)
    assert disk.energy_j == pytest.approx(32 / disk.per_s)
    assert (memory.users, memory.per_user, memory.energy_j) == (None, None, None)
    assert "at least 13 users" in memory.missing["cost per user"]
    evidence, point = context.evidence, at(13)
    assert evidence.level_of("disk", point, COST_PER_MILLION) == pytest.approx(disk.per_million)
    assert evidence.level_of("disk", point, COST_PER_USER) == disk.per_user
    assert evidence.level_of("memory", point, COST_PER_USER) is None
    beside = candidates.note(context, candidates.make_candidates_table(context)) or ""
    assert "no valid window at a lower level misses it" in beside, "some may have none"
    notes = " ".join(list_notes(context))
    assert "Licence engine: by the core. Licence backup: by the TB. More users may be" in notes
    rated = tuple(replace(each, row={**each.row, "rate_per_s": 9.0}) for each in evidence.windows)
    at_rate = count_priced_users(replace(evidence, windows=rated), "disk", context.limit)
    assert at_rate == (None, "at a rate there are no users, only connections")
    windows = [evidence.value_of(each, COST_PER_MILLION).number
               for each in evidence.valid_at("disk", point)]  # fmt: skip
    assert len(windows) == 4
    assert all(windows)


def test_measured_power_counts_where_none_is_stated(context: Context) -> None:
    """At the load and idle; without the idle power a candidate has none, unless it never idles."""
    row = {"value": 120.0, "count": None, "missing_because": None}
    windows = tuple(replace(each, values={**each.values, (MEAN_W, "all"): row})
                    for each in context.evidence.windows)  # fmt: skip
    evidence = replace(context.evidence, windows=windows)
    work: dict[str, Any] = {"site": {"pue": 1.5, "energy_price": 0.2}, "items": {
        "server": {"purchase": 600.0, "life": 3.0, "rest": 0.0}}}  # fmt: skip
    some, always = (priced(duty={"hours": 8000.0, "load": load}, **work)
                    for load in ("40%", "100%"))  # fmt: skip
    idle_w = {"disk": 80.0, "memory": None}
    found = add_measured_power(some, evidence, at(13), idle_w)
    disk, memory = (price_candidate(found, name) for name in ("disk", "memory"))
    assert disk.kwh == pytest.approx(1.5 * 8.0 * (0.4 * 120 + 0.6 * 80))
    assert disk.total == pytest.approx(200 + 0.2 * (disk.kwh or 0))
    assert (memory.kwh, memory.total) == (None, None), "too low beside a sum with energy"
    assert "power was not measured" in (memory.missing_because or "")
    assert not any(name.startswith("energy") for name in disk.not_stated)
    unpriced = some.model_copy(update={"site": SiteCost(pue=1.5)})
    found = add_measured_power(unpriced, evidence, at(13), idle_w)
    assert price_candidate(found, "memory").total == 200
    costs = {each.candidate: each for each in price_work(found, evidence, at(13), None)}
    assert costs["disk"].energy_j is None, "that is power.joules_per_order"
    assert "see Power" in costs["disk"].missing["energy per transaction by stated watts"]
    assert not any(path[-1] == "share" and "metered" in path[1] for path, _ in found.list_numbers())
    assert (facts := context.run.manifest) is not None
    run = replace(context.run, manifest=facts.model_copy(update={"pricing": some}))
    assert [*describe_costs(replace(context, run=run))] == [], "nobody measures it any more"
    full = add_measured_power(always, evidence, at(13), {})
    assert price_candidate(full, "memory").kwh == pytest.approx(1.5 * 8.0 * 120)
    assert add_measured_power(PRICING, evidence, at(13), idle_w) is PRICING
    assert add_measured_power(some, context.evidence, at(13), idle_w) == some


def test_at_the_equal_price_work_costs_the_same(context: Context) -> None:
    """The first candidate's prices stay; where nothing is the other's own there is no answer."""
    disk, memory = context.costs
    even = find_break_even(PRICING, disk, memory)
    assert even.factor is not None
    own = PRICING.items["volume-0"].price_list
    assert own is not None
    rates = {f"per_{name}": rate.model_copy(update={"price": even.factor * rate.price})
             for name, (rate, _) in PRICING.items["volume-0"].rates.items()}  # fmt: skip
    dearer = PRICING.items["volume-0"].model_copy(
        update={"price_list": own.model_copy(update=rates)}
    )
    items = {**PRICING.items, "volume-0": dearer}
    by, ratio = compare_prices(PRICING.model_copy(update={"items": items}), disk, memory)
    assert by == "transaction"
    assert ratio == pytest.approx(1)
    assert "items that memory has and disk has not." in " ".join(describe_costs(context))
    shared = priced(items={"half": {"for": ["memory", "other"], "purchase": 1000.0, "life": 5.0,
                    "rest": 0.0, "share": "50%"}, "all": {"maintenance": 9.0}})  # fmt: skip
    alone = [
        replace(each, yearly=price_candidate(shared, each.candidate)) for each in (disk, memory)
    ]
    even = find_break_even(shared, *alone)
    assert even.factor is not None
    assert even.purchase == pytest.approx(1000 * even.factor), "what it costs, whoever bears it"
    free = priced(items={"volume": {"for": ["memory"], "list": "gp3", "gb": 0.0, "iops": 1.0,
                                    "mb_s": 1.0}, "all": {"maintenance": 9.0}})  # fmt: skip
    alone = [replace(each, yearly=price_candidate(free, each.candidate)) for each in (disk, memory)]
    assert "cost nothing" in (find_break_even(free, *alone).because or "")
    alike = PRICING.model_copy(update={"items": {"server": PRICING.items["server"]}})
    assert find_break_even(alike, disk, memory).because == "it has no priced item of its own"


def test_inputs_are_ranked_by_what_they_change() -> None:
    """No PUE below 1, no share above all, and nothing a list has no price for."""
    site = {"pue": 1.1, "energy_price": 0.1}
    lasting = {"purchase": 100.0, "life": 1.0, "rest": 90.0}
    items = {
        "lasting": lasting,
        "drive": {"watts": 100.0},
        "volume": {"list": "gp3", "gb": 1000.0, "iops": 15_000.0, "mb_s": 125.0},
    }
    pricing = priced(site=site, duty={"hours": 8760.0, "load": "100%"}, items=items)
    swings = rank_inputs(pricing, lambda varied: price_candidate(varied, "a").total)
    names = [swing.name for swing in swings]
    assert names[0] == "items.volume.count"
    assert [swing.width for swing in swings] == sorted((s.width for s in swings), reverse=True)
    by_name = {swing.name: swing for swing in swings}
    assert (by_name["site.pue"].low_input, by_name["items.drive.share"].high_input) == (1, 100)
    assert "items.volume.iops" not in names, "18,000 IOPS are not sold"
    assert "duty.load" not in names, "the power of the rest is not stated"
    assert by_name["duty.hours"].high_input == 8784, "no year has more hours"
    assert not {"items.lasting.rest", "items.lasting.purchase"} & {*names}, "worth more than new"


def test_a_title_says_what_an_input_was_varied_by_and_rounding_is_no_change(
    context: Context,
) -> None:
    """A load of 90 % has 11 % more at most; what all pay alike does not matter."""
    items = {f"{name}-{number}": {"for": [name], "watts": 10.3, "idle_watts": idle}
             for name, idle in (("disk", 10.3), ("memory", 0.0))
             for number in range(10)}  # fmt: skip
    site, duty = {"pue": 1.1, "energy_price": 0.1}, {"hours": 8000.0, "load": "90%"}
    facts = context.run.manifest
    assert facts is not None
    pricing = priced(site=site, duty=duty, items=items)
    run = replace(context.run, manifest=facts.model_copy(update={"pricing": pricing}))
    [figure] = _draw_figures(replace(context, run=run))
    assert isinstance(figure, Figure)
    assert "duty.load matters most: " in figure.title
    assert " with 20 % less of it, " in figure.title
    assert figure.title.endswith(" with 11 % more")
    named = {row["input"] for row in figure.table.frame.to_dicts()}
    assert not {"site.pue", "site.energy_price", "duty.hours"} & named


def test_prices_are_kept_as_they_were_read(tmp_path: Path) -> None:
    """A price list may be another one tomorrow."""
    own = tmp_path / "own.yaml"
    own.write_text(
        "title: mine\ncurrency: USD\ndate: 2026-02-01\nsource: my page\n"
        "per_gb: {price: 0.5, free: 0}\n"
    )
    pricing = priced(items={"volume": {"list": str(own), "gb": 10.0}})
    own.unlink()
    again = Pricing.model_validate_json(pricing.model_dump_json(by_alias=True))
    assert again == pricing
    assert price_candidate(again, "a").total == 60
    assert again.stated_at.isoformat() == "2009-01-15"
    assert make_pricing("a", ["b"]).stated_at.isoformat() == "2024-01-01"
