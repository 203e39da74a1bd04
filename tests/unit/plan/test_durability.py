"""What a study of power cuts plans, what it refuses, and what so many cuts say of all others."""

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from stithy.activities.hammer.judge import LEDGER
from stithy.activity import get_table
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.gathering import WindowRecord, judge
from stithy.errors import InfrastructureError, PreconditionError, StithyError
from stithy.plan.expand import expand
from stithy.point import Point
from stithy.scenarios.durability.judge import CutRuling, bound_share, list_tallies
from stithy.scenarios.durability.plan import choose_cut_s, choose_host
from stithy.scenarios.durability.report import (
    describe_controls,
    describe_tallies,
    describe_tally,
)
from stithy.scenarios.durability.trial import Aftermath, choose_rule, make_rule
from stithy.study.load import parse_study
from stithy.study.model import Study
from stithy.wire.messages import LedgerCounts

STUDY = """study: What does a power cut cost?
candidates:
  one: {one}
  two: {two}
database: {{engine: {engine}, memory: 192 MiB}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [4], ramp_up: 1 s, duration: 4 s{load}}}
scenario: {{durability: {{{keys}}}}}
{more}"""
MIRROR = "{drive: gp3, count: 2, layer: {btrfs: {level: raid1}}}"
CLUSTER = "{ceph: {hosts: 3, policy: {ftt: 1}}}"
VARIED = "vary: {scenario.durability.hosts: [all, one]}\n"


def study(
    keys: str = "cuts: 5", *, one: str = "{drive: gp3}", two: str = MIRROR, load: str = "",
    engine: str = "postgresql", more: str = "",
) -> Study:  # fmt: skip
    """A study of one load under power cuts."""
    text = STUDY.format(keys=keys, one=one, two=two, load=load, engine=engine, more=more)
    return parse_study("study.yaml", text.encode())


@pytest.mark.parametrize(
    ("keys", "load", "problem"),
    [
        ("cuts: 0", "", "too small: 0"),
        ("cuts: 2, controls: 3", "", "more cuts of a control than of a candidate"),
        ("seed: -1", "", "too small: -1"),
        ("cut: 5", "", "did you mean `cuts`?"),
        ("cuts: 5", ", repeat: 3", "`scenario.durability.cuts` says it"),
        ("cuts: 5", ", ledger: false", "cuts without a ledger show no loss"),
    ],
)
def test_a_wrong_key_is_refused(keys: str, load: str, problem: str) -> None:
    """With what is wrong, and what would be right."""
    with pytest.raises(StithyError) as refused:
        study(keys, load=load)
    assert problem in refused.value.text


@pytest.mark.parametrize(
    ("one", "because"),
    [
        (
            CLUSTER.replace("ftt: 1", "ftt: 0"),
            "takes a host that FTT 0 (1 copy, min_size 1) cannot",
        ),
        (CLUSTER.replace("}}}", "}}, roles: {log: {drive: gp3}}}"), "and its log would go with"),
        ("{drive: gp3}", "`hosts: one` is of clusters, and its data would go with"),
    ],
)
def test_a_host_without_which_nothing_goes_on_is_refused(one: str, because: str) -> None:
    """Also where only some points cut the power of one host."""
    for keys, more in (("hosts: one", ""), ("hosts: all", VARIED)):
        with pytest.raises(StithyError) as refused:
            expand(study(keys, one=one, two=CLUSTER, more=more))
        assert because in refused.value.text


def test_a_cluster_has_one_host_without_power_or_all() -> None:
    """The seed draws the host; drives that lie lose it on all, for else nothing would be lost."""
    read = study("cuts: 20", one=CLUSTER, two=CLUSTER, more=VARIED)
    plan = expand(read)
    hosts: dict[tuple[str, str], set[int | None]] = defaultdict(set)
    for window in (step.window for step in plan.steps if step.kind == "window" and step.window):
        values = window.point.values
        key = str(values["scenario.durability.hosts"]), str(values["control"])
        hosts[key].add(choose_host(read.at(window.point), window))
    assert hosts["one", "off"] == {1, 2, 3}
    assert {key for key, drawn in hosts.items() if drawn == {None}} == {
        ("one", "flush-lies"),
        *(("all", control) for control in ("off", "given-up", "flush-lies")),
    }
    likely = [
        sum(step.cost.time_s for step in of.steps) for of in (plan, expand(study("cuts: 20")))
    ]
    assert likely[0] > 2 * likely[1]


@pytest.mark.parametrize(
    ("one", "because"),
    [
        ("{path: /tmp/x}", "its data is on storage that is not emulated"),
        ("{device: /dev/x}", "its data is on storage that is not emulated"),
        ("{ceph: {conf: /etc/ceph/ceph.conf, pool: p}}", "on storage that is not emulated"),
        ("{drive: gp3, count: 2, layer: {lvm: {level: raid1}}}", "on an array of lvm"),
        ("{drive: gp3, roles: {log: {path: /tmp/x}}}", "its log is on storage that is not"),
    ],
)
def test_what_has_no_power_is_refused(one: str, because: str) -> None:
    """Before anything is made, each with its reason."""
    with pytest.raises(StithyError) as refused:
        expand(study(one=one))
    assert because in refused.value.text


def test_each_cut_is_a_window_and_controls_have_fewer() -> None:
    """Of every candidate; each at a moment of its own, which all candidates share."""
    read = study("cuts: 5, controls: 2")
    windows = [step.window for step in expand(read).steps if step.kind == "window" and step.window]
    counted = Counter((str(window.point.values["control"]), window.candidate) for window in windows)
    assert counted == {
        (control, name): 5 if control == "off" else 2
        for control in ("off", "given-up", "flush-lies")
        for name in ("one", "two")
    }
    assert read.asked_point.values["control"] == "off"
    drawn = {(window.block, choose_cut_s(read, window)) for window in windows}
    assert len(drawn) == 5
    assert all(2 <= at_s <= 5 for _, at_s in drawn)
    other = study("cuts: 5, controls: 2, seed: 2")
    assert drawn.isdisjoint({(each.block, choose_cut_s(other, each)) for each in windows})
    kept = {
        str(of.point.values["control"]) for of in windows if choose_rule(read, of).lost_share < 1
    }
    assert kept == {"off"}
    rules = [make_rule(7, number) for number in range(5)]
    assert [rule.unit_bytes for rule in rules[:4]] == [512, 4096, 512, 4096]
    assert (rules[4].lost_share, rules[4].torn_share) == (1, 0)


@pytest.mark.parametrize(
    ("cuts", "lost", "bound"),
    [
        (300, 0, 0.00994),
        (100, 0, 0.02951),
        (20, 0, 0.13911),
        (20, 1, 0.21611),
        (20, 20, 1),
        (1, 0, 0.95),
    ],  # fmt: skip
)
def test_the_bound_is_that_of_the_binomial(cuts: int, lost: int, bound: float) -> None:
    """Source: tables of Clopper and Pearson, one-sided, 95 %."""
    assert bound_share(cuts, lost) == pytest.approx(bound, abs=1e-5)


def test_many_cuts_have_a_bound() -> None:
    """More ways than a float holds."""
    assert bound_share(10_000, 5_000) == pytest.approx(0.5082, abs=1e-3)


def make_window(
    control: str, block: int, lost: float, *, promised: bool = True, users: int = 4
) -> Window:
    """A cut of a candidate."""
    point = str(Point((("users", users), ("control", control))))
    row = {"window_id": f"w-{control}-{block}", "candidate": "one", "point": point,
           "activity": "cut", "block": block, "position": 0, "attempt": 0, "tried": False,
           "missing_because": None, "measure_from_s": 0.0, "measure_to_s": 1.0}  # fmt: skip
    values = {"cut.lost": lost, "cut.promised": float(promised and control == "off"),
              "cut.transactions_lost": 7 * lost, "cut.acknowledged": 100.0,
              "cut.recovery_s": 1.0 + block}  # fmt: skip
    return Window(row, {}, (), values={(name, "all"): {"value": value, "missing_because": None,
                                                       "count": None}
                                       for name, value in values.items()})  # fmt: skip


def gather(*windows: Window) -> Evidence:
    """The evidence of these cuts."""
    points = tuple(dict.fromkeys(window.point for window in windows))
    return Evidence(("one",), points, windows)


@pytest.mark.parametrize(
    ("lost", "controls", "promised", "answered", "said"),
    [
        ((0, 0, 0), (1, 1), True, True, "0 of 3 power cuts lost or damaged anything: at most 64 %"),
        ((0, 1, 0), (1, 1), True, False, "1 of 3 power cuts LOST or damaged something"),
        ((0, 1, 0), (1, 1), False, True, "the study's settings promise no better"),
        ((0, 0, 0), (1, 0), True, False, "0 of 3"),
        ((0, 0, 0), (), True, False, "0 of 3"),
    ],
)
def test_a_broken_promise_and_a_silent_control_are_no_answer(
    lost: tuple[int, ...], controls: tuple[int, ...], promised: bool, answered: bool, said: str
) -> None:
    """A loss that nobody promised to prevent is one; controls lose, or nothing is proven."""
    cuts = [make_window("off", block, of, promised=promised) for block, of in enumerate(lost)]
    named = zip(("given-up", "flush-lies"), controls, strict=False)
    evidence = gather(*cuts, *(make_window(name, 0, of) for name, of in named))
    [tally] = list_tallies(evidence)
    assert said in describe_tally(tally)
    assert (tally.transactions_lost, tally.recovery_s) == (7 * sum(lost), (2.0, 3.0))
    assert CutRuling().rule(evidence, answered=True) is answered
    silent = any("NOTHING IS PROVEN" in text for text in describe_controls([tally]))
    assert silent is (0 in controls or not controls)


def test_controls_are_said_of_each_point() -> None:
    """One that lost nothing at one of them hides none at another, nor does one without any cut."""
    windows = [make_window("off", 0, 0, users=users) for users in (4, 8)]
    windows += [make_window("given-up", 0, users == 8, users=users) for users in (4, 8)]
    windows += [make_window("flush-lies", 0, users == 4, users=users) for users in (4, 8)]
    windows[-1] = replace(windows[-1], values={})
    texts = [*describe_controls(tallies := list_tallies(gather(*windows)))]
    begin = "NOTHING IS PROVEN on one at"
    assert texts == [
        f"{begin} 4 users: power cuts lost nothing with an engine that does not wait for "
        "storage, which must lose something.",
        f"{begin} 8 users: no power cut with drives whose flush does nothing was looked at "
        "to its end.",
    ]
    assert [
        said.partition("of one ")[2].partition(" lost")[0] for said in describe_tallies(tallies)
    ] == ["at 4 users", "at 8 users"]


def test_what_the_ledger_shows_is_said_as_it_is() -> None:
    """A refused transaction that is there is not a lost one."""
    counts = LedgerCounts(acknowledged=5, lost=0, differing=0, refused=2, returned=2, in_doubt=0,
                          in_doubt_found=0, unknown=0)  # fmt: skip
    found, verified = Aftermath(), Mock()
    verified.summary.entries = {"order": counts}
    found.add_ledger(verified)
    found.add_conditions(Mock(broken=[3]))
    assert found.describe() == (
        "2 of the ledger's transactions lost, changed, or there although refused; "
        "broken consistency conditions: 3"
    )


@pytest.mark.parametrize(
    ("spared", "said"), [(None, "1 power cut lost"), (0.0, "of all hosts"), (2.0, "of one host")]
)
def test_whose_power_was_cut_is_said(spared: float | None, said: str) -> None:
    """Of drives there is nothing to say."""
    cut = make_window("off", 0, 0)
    row = {"value": spared, "missing_because": None, "count": None}
    evidence = gather(replace(cut, values={**cut.values, ("cut.hosts_spared", "all"): row}))
    [tally] = list_tallies(evidence)
    assert said in describe_tally(tally)


@pytest.mark.parametrize("promised", [1.0, 0.0])
def test_a_loss_is_a_finding_and_no_reason_for_another_cut(promised: float) -> None:
    """The number of cuts would depend on what they lost; a broken promise still counts as one."""
    columns = {column.name: None for column in get_table("window").columns}
    gone = {column.name: 0 for column in get_table("ledger").columns} | {"deal": "order", "lost": 3}
    values: dict[tuple[str, str], Any] = {("cut.promised", "all"): {"value": promised}}
    row = {**columns, "activity": "cut", "complete": True, "tried": False}
    tables = frozenset({"values", "ledger", "window"})
    [reason] = judge(WindowRecord(row, values=values, ledger=[gone], tables=tables))
    assert (reason.flag.value, reason.flag.is_finding) == (LEDGER.value, True)
    assert reason.flag.is_failure is bool(promised)


def test_a_cut_of_nothing_proves_nothing() -> None:
    """Users who only read have no ledger; what is damaged is a loss all the same."""
    with pytest.raises(InfrastructureError, match="nothing that could be lost"):
        Aftermath(acknowledged=0).require_work("window w")
    for other in (
        Aftermath(acknowledged=1), Aftermath(), Aftermath(damage=["all"], acknowledged=0)
    ):  # fmt: skip
        other.require_work("window w")


def test_a_check_that_fails_is_no_loss() -> None:
    """Such a cut is not counted; it lost all where nobody can read anything."""

    def fail() -> None:
        raise InfrastructureError("no answer", where="here", remedy="none")

    found = Aftermath(acknowledged=1)
    found.read({"ledger": fail, "conditions": lambda: None})
    assert not found.damage
    with pytest.raises(InfrastructureError, match="ledger: "):
        found.require_work("window w")
    late = Aftermath(acknowledged=1)
    assert not late.try_to("not all copies came back", fail)
    late.read({"ledger": fail, "conditions": lambda: None})
    assert not late.damage
    lost = Aftermath()
    lost.read({"ledger": fail, "conditions": fail})
    lost.require_work("window w")
    assert lost.is_lost()
    held = Mock(side_effect=PreconditionError("it is held", where="here", remedy="none"))
    with pytest.raises(PreconditionError):
        Aftermath().keep("the storage did not come back", held)
    unknown = make_window("off", 1, 0)
    evidence = gather(make_window("off", 0, 0), replace(unknown, values={}))
    [tally] = list_tallies(evidence)
    said = describe_tally(tally)
    assert (len(tally.cuts), tally.unknown) == (1, 1)
    assert said.startswith("0 of 1 power cut lost or damaged anything: at most 95 %")
    assert "; 1 window more had no cut that was looked at to its end" in said


def test_another_study_is_ruled_by_nobody() -> None:
    """Without cuts the ruling is what it was."""
    window = make_window("off", 0, 0)
    other = replace(window, row={**window.row, "point": "users=4"})
    assert not CutRuling().rule(gather(other), answered=False)
