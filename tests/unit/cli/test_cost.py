"""`stithy cost`: a finished run by its own prices and by others; costs as thresholds."""

import json
from pathlib import Path
from typing import Any

import pytest

from stithy.cli.app import run
from stithy.plan.answerable import find_unanswerable
from stithy.plan.steps import write_question
from stithy.pricing.keys import SiteCost, find_misfits
from stithy.study.thresholds import Names, parse_threshold
from support.points import at
from support.priced import PRICING
from support.sample_run import TRANSACTIONS, Shape, build_run
from support.studies import refused, study

pytestmark = pytest.mark.usefixtures("own_state")
Captured = pytest.CaptureFixture[str]
OTHER = """cost:
  currency: USD
  date: 2026-02-01
  source: another quotation
  items:
    volume: {for: [memory], list: gp3, gb: 1000, iops: 3000, mb_s: 125}
    drive: {for: [disk], purchase: 500, life: 5, rest: 0}
"""
NAMES = Names(("disk", "memory"), (at(1), at(4)), tuple(TRANSACTIONS))


def build(path: Path, **shape: Any) -> str:
    """A short run in a directory; its path."""
    usual = {"users": (1, 4), "duration_s": 3, "series": False, "repeat": 4, "pricing": PRICING}
    build_run(path, Shape(**{**usual, **shape}))
    return str(path)


def costs(capsys: Captured, *words: str) -> dict[str, Any]:
    """What each candidate costs, as programs are told."""
    assert run(["cost", *words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    return {row["candidate"]: row for row in told["costs"]}


def test_other_prices_change_all_costs_and_nothing_that_was_measured(
    tmp_path: Path, capsys: Captured
) -> None:
    """The run stays as it is."""
    root, other = build(tmp_path / "run"), tmp_path / "other.yaml"
    other.write_text(OTHER)
    before = {path: path.read_bytes() for path in Path(root).rglob("*") if path.is_file()}
    own, new = costs(capsys, root), costs(capsys, root, "--prices", str(other))
    assert (own["disk"]["yearly"], new["disk"]["yearly"]) == (pytest.approx(5589.52), 100)
    assert new["memory"]["yearly"] == pytest.approx(960)
    assert own["disk"]["per_s"] == new["disk"]["per_s"]
    assert (new["disk"]["per_million"], new["disk"]["kwh"]) == (None, None)
    assert "the study states no `duty`" in new["disk"]["missing_because"]
    assert run(["cost", root, "--prices", str(other)]) == 0
    told = capsys.readouterr().out
    assert "memory costs 960.00 USD a year: capacity of volume 960.00 (100 %)." in told
    assert before == {path: path.read_bytes() for path in Path(root).rglob("*") if path.is_file()}


def test_wrong_prices_are_refused_with_their_lines(tmp_path: Path, capsys: Captured) -> None:
    """All at once; and a run without any."""
    root, other = build(tmp_path / "run", pricing=None), tmp_path / "other.yaml"
    assert run(["cost", root]) == 2
    assert "--prices FILE" in capsys.readouterr().err
    other.write_text("study: What?\n" + OTHER.replace("[disk]", "[disc]").replace("500,", "-1,"))
    assert run(["cost", root, "--prices", str(other)]) == 2
    told = capsys.readouterr().err
    assert "other.yaml:1:1: a key beside `cost`: study" in told
    assert "`cost.items.drive.purchase`: too small: -1" in told
    assert "2 problems in this file of prices" in told
    other.write_text(OTHER.replace("[disk]", "[disc]"))
    assert run(["cost", root, "--prices", str(other)]) == 2
    assert "did you mean `disk`?" in capsys.readouterr().err


def test_a_faulty_price_list_is_refused_with_its_own_lines(
    tmp_path: Path, capsys: Captured
) -> None:
    """In the words of study faults, once for all items that name it."""
    root, own, other = build(tmp_path / "run"), tmp_path / "own.yaml", tmp_path / "other.yaml"
    own.write_text("title: mine\ncurrency: eur\nsources: me\nper_gb: {price: -1, free: 0}\n")
    again = f"    more: {{list: {own}, gb: 1}}\n"
    other.write_text(OTHER.replace("gp3", str(own)) + again)
    assert run(["cost", root, "--prices", str(other)]) == 2
    told = capsys.readouterr().err
    for fault in (
        "1:1: a key is missing in the list: date", "2:11: `currency`: not a currency: eur",
        "3:1: unknown key: sources: did you mean `source`?", "4:17: `per_gb.price`: too small: -1",
    ):  # fmt: skip
        assert told.count(f"{own}:{fault}") == 1
    assert "4 problems" in told


def test_what_counts_for_nothing_is_refused() -> None:
    """A duty without users and watts, and interest where nothing is bought."""
    asked = ("database:", "cost: {currency: EUR, date: 2026-01-15, source: q, interest: 5%, "
             "licences: {all: {per: host, count: 1, yearly: 9}}}\ndatabase:")  # fmt: skip
    assert refused(asked) == ["cost.interest"]
    duty, watts = PRICING.duty, PRICING.items["drive"]
    licensed = PRICING.model_copy(update={"items": {}, "site": SiteCost(), "duty": duty})
    powered = licensed.model_copy(update={"items": {"drive": watts}})
    for pricing, has_users, wrong in (
        (licensed, False, [("duty",)]),
        (licensed, True, []),
        (powered, False, []),
    ):
        found = find_misfits(pricing, ["disk"], has_users=has_users, is_metered=False)
        assert [each.loc for each in found] == wrong


def test_costs_are_thresholds_and_compared_with_other_runs(
    tmp_path: Path, capsys: Captured
) -> None:
    """Another price is named as what differs, and prevents nothing."""
    wanted = ("disk.cost.per_million_at_4 <= 1000", "disk.cost.per_million_at_4 <= 0.001",
              "disk.cost.per_user_at_4 <= 1000")  # fmt: skip
    kept = tuple(parse_threshold(each, NAMES) for each in wanted)
    root = build(tmp_path / "run", thresholds=kept)
    assert run(["report", root, "--json"]) == 5
    told = json.loads(capsys.readouterr().out)["thresholds"]
    assert [each["outcome"] for each in told] == ["met", "not met", "cannot be judged"]
    dearer = PRICING.model_copy(
        update={"site": PRICING.site.model_copy(update={"admin_hours": 99.0})}
    )
    other = build(tmp_path / "other", pricing=dearer, seed=2)
    assert run(["compare", root, other]) == 0
    shown = capsys.readouterr().out
    assert "cost.site.admin_hours: 10 and 99" in shown
    assert shown.count("Cost per million") == 4
    items = {"drive": PRICING.items["drive"].model_copy(update={"candidates": ["memory"]})}
    engine = PRICING.licences["engine"].model_copy(update={"per": "host"})
    foreign = PRICING.model_copy(update={
        "currency": "CHF", "items": items, "licences": {**PRICING.licences, "engine": engine}
    })  # fmt: skip
    abroad = build(tmp_path / "abroad", seed=3, pricing=foreign)
    assert run(["compare", root, abroad, "--json"]) == 0
    [pair] = json.loads(capsys.readouterr().out)["comparisons"]
    found = [row["change"] for row in pair["rows"] if row["metric"] == "cost.per_million"]
    assert {(each["ratio"], each["missing_because"]) for each in found} == {
        (None, "the amounts are in EUR and CHF")
    }
    differing = {each["name"] for each in pair["reported"]}
    assert {"cost.items.drive.for", "cost.licences.engine.per"} <= differing


def test_a_cost_that_nothing_is_stated_for_cannot_be_asked() -> None:
    """A million needs the duty, a user the target."""
    priced = (
        "database:",
        "cost: {currency: EUR, date: 2026-01-15, source: q, licences: {all: {per: host, count: 1,"
        " yearly: 9}}}\ndatabase:",
    )
    duty = ("source: q,", "source: q, duty: {hours: 8760, load: 100%},")
    target = ("  ramp_up", "  limit: p95 of all <= 1 s\n  ramp_up")
    rate = ("  ramp_up", "  rate: 9/s\n  ramp_up")
    no_users = "use a `pace`: at a rate there are connections, and no users"
    for metric, changes, remedy in (
        ("per_million", (), "add the section `cost` with its `duty`"),
        ("per_million", (priced,), "add the section `cost` with its `duty`"),
        ("per_million", (priced, duty), None),
        ("per_user", (priced,), "add `load.limit`, such as `limit: p95 of all <= 1 s`"),
        ("per_user", (priced, target), None),
        ("per_user", (priced, target, rate), no_users),
    ):
        asked = study(("study:", f"thresholds: [disk.cost.{metric}_at_4 <= 9]\nstudy:"), *changes)
        found = [
            each.remedy for each in find_unanswerable(
                asked, write_question(asked, tuple(asked.candidates)), {}
            )
        ]  # fmt: skip
        assert found == ([remedy] if remedy else [])
