"""What is said of neighbours that tenants bear or do not, by hand."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from stithy.analysis.effect import (
    Effect,
    Paired,
    estimate_paired_difference,
    estimate_paired_ratio,
    make_unknown_effect,
)
from stithy.point import Point
from stithy.scenarios.noisy_neighbour.disturbance import Disturbance
from stithy.scenarios.noisy_neighbour.plan import LIMIT, NEIGHBOUR, VOLUME
from stithy.scenarios.noisy_neighbour.report.findings import P95, P99, TPM, findings, state

FEW = make_unknown_effect("it needs 10,000 answers")
SMALL, LARGE = (
    estimate_paired_ratio([1.0] * 4, [by, by * 1.01, by, by * 1.02]) for by in (1.2, 3.0)
)
KEPT_ALL = estimate_paired_difference([0.95] * 4, [0.94, 0.96, 0.95, 0.97])
LOST_ALL = estimate_paired_difference([1.0] * 4, [0.0] * 4)


class _Evidence:
    """Of which only the candidates are asked."""

    windows = ()

    def __init__(self, *candidates: str) -> None:
        self.candidates = candidates


def _point(neighbour: int, **others: Any) -> Point:
    return Point(((NEIGHBOUR, neighbour), *others.items()))


def _context(evidence: _Evidence, *factors: str, **known: Any) -> Any:
    usual = {"manifest": None, "facts_of": lambda _: None}
    return SimpleNamespace(
        evidence=evidence, factors=(NEIGHBOUR, *factors),
        factor_values=lambda point: dict(point.values), **usual | known,
    )  # fmt: skip


def _one(neighbour: int, p95: Effect = SMALL, candidate: str = "a", **known: Any) -> Disturbance:
    usual: dict[str, Any] = {
        "asked": float(neighbour), "offered": float(neighbour), "achieved": float(neighbour),
        "isolation": 0.95, "alone_isolation": 0.95, "goodput": 1.0, "lost": KEPT_ALL,
        "point": _point(neighbour),
    }  # fmt: skip
    growth = {P99: known.pop("p99", FEW), P95: p95, TPM: known.pop("tpm", SMALL)}
    every = {name: Paired(each, tuple(range(each.pairs))) for name, each in growth.items()}
    return Disturbance(candidate=candidate, growth=every, **usual | known)


def _said(*found: Disturbance, context: Any = None) -> list[str]:
    return list(findings(cast(Any, context or _context(_Evidence("a"))), found))


def test_the_largest_neighbour_is_that_before_the_first_that_is_not_borne() -> None:
    """A heavier one that is borne by chance counts for nothing, and the other way it is open."""
    [said] = _said(_one(700), _one(300), _one(500, LARGE))
    assert said.startswith("a bears a neighbour of 300, and not one of 500 (isolation at")
    [said] = _said(_one(300, LARGE), _one(700, LARGE))
    assert said.startswith("a bears none of the measured neighbours, not even 300 (")
    [said] = _said(_one(300, LARGE), _one(700))
    assert said.startswith("Which neighbour a bears is not decided: it would be 700, but not 300 (")


def test_a_neighbour_that_is_not_borne_is_named_where_a_lighter_one_is_not_decided() -> None:
    """The interval of 300 holds the bound, that of 700 lies beyond it."""
    wide = estimate_paired_ratio([1.0] * 4, [1.2, 2.0, 1.1, 1.9])
    [said] = _said(_one(300, wide), _one(700, LARGE))
    assert said.startswith("Which neighbour a bears is not decided: not one of 700; beside 300,")


def test_a_heavier_neighbour_that_is_not_decided_is_named_with_the_reason() -> None:
    """Beside the largest that is borne, and up to the first that is not."""
    wide = estimate_paired_ratio([1.0] * 4, [1.2, 2.0, 1.1, 1.9])
    [said] = _said(_one(300), _one(700, wide))
    assert "a bears a neighbour of 300; whether 700 is borne is not decided: p95 may be 4" in said
    [said] = _said(_one(300), _one(500, isolation=None), _one(700, LARGE), _one(900, wide))
    assert (
        "300, and not one of 700; whether 500 is borne is not decided: isolation is not known ("
        in said
    )


def test_a_neighbour_that_achieved_nothing_is_borne_by_nobody() -> None:
    """As where each of its cycles failed, however little the tenants then lost."""
    [said, failed] = _said(_one(300, asked=None, offered=None, achieved=0.0, failed=4))
    assert said.startswith(
        "Which neighbour a bears is not decided: beside 300, the neighbour achieved nothing ("
    )
    assert "failed in 4 cycles" in failed
    [said, _] = _said(_one(200), _one(300, achieved=0.0, failed=4))
    assert "a bears a neighbour of 200; whether 300" in said
    assert "undecided whether a or b absorbs it better" in _compared(P95_BETTER_ON_B, a=0.0, b=0.0)


def test_what_a_neighbour_achieved_and_how_long_it_worked_stands_beside_what_was_asked() -> None:
    """Of 700 it came to 400; one in cycles worked a third of the time."""
    said = _said(_one(700, achieved=400.0, worked=0.3))
    assert "a neighbour of 700, which achieved 400 of 700 per second and worked 30 % of" in said[0]
    assert said[1] == "On a the neighbour of 700 was saturated: it achieved 400 of 700 per second."


def test_why_nothing_is_decided_is_said() -> None:
    """By isolation, by the percentile, or by both."""
    unclear = estimate_paired_difference([0.9] * 4, [0.5, 0.95, 0.9, 0.8])
    cases: dict[str, dict[str, Any]] = {
        "isolation is 70 % already alone": {"isolation": 0.7, "alone_isolation": 0.7},
        "isolation of 79 % beside 95 % alone may be chance": {"isolation": 0.79, "lost": unclear},
        "isolation is not known": {"isolation": None},
        "p95 is not known, as it needs 10,000 answers": {"p95": FEW},
        "3 blocks are too few for a claim about p95": {
            "p95": estimate_paired_ratio([1.0] * 3, [1.0] * 3)
        },
        "it worked too little of the time for p95 to show it": {"worked": 0.04},
    }
    for reason, known in cases.items():
        assert reason in _said(_one(300, **known))[0]
    wide = estimate_paired_ratio([1.0] * 4, [1.2, 2.0, 1.1, 1.9])
    both = _said(_one(300, wide, alone_isolation=0.7, isolation=0.7))[0]
    assert "already alone; p95 may be 4" in both


def test_lost_isolation_decides_where_there_is_no_percentile() -> None:
    """Tenants that get next to nothing have too few transactions for one."""
    [said] = _said(_one(300, FEW, isolation=0.0, alone_isolation=1.0, lost=LOST_ALL))
    assert said.startswith("a bears none of the measured neighbours, not even 300 (")


def test_all_candidates_at_a_load_are_judged_by_the_same_percentile() -> None:
    """p99 of one alone does not leave the other without an answer."""
    context = _context(_Evidence("a", "b"))
    said = _said(_one(300, p99=SMALL), _one(300, candidate="b"), context=context)
    assert all("p95 at most 2 times" in each for each in said[:2])
    assert said[0].startswith("a bears")
    assert said[1].startswith("b bears")
    assert "p99 at most" in _said(_one(300, p99=SMALL))[0]


def test_a_cycle_that_failed_is_no_saturation() -> None:
    """And a neighbour of which nothing is known achieved nothing that could be said."""
    failed = _one(2, achieved=1.0, failed=1)
    assert state(failed) == "failed"
    said = _said(failed)
    assert said[1] == "On a the neighbour of 2 failed in 1 cycle: it achieved 1 of 2 per second."
    assert _said(_one(2, achieved=None, failed=2))[1] == (
        "On a the neighbour of 2 failed in 2 cycles."
    )
    never = _one(2, achieved=0.0)
    assert (
        _said(never)[1] == "On a the neighbour of 2 was saturated: it achieved 0 of 2 per second."
    )
    held = _one(2, offered=None, achieved=1.0, has_limit=True)
    assert "was held back by `limit`, or by the storage: it achieved 1 of" in _said(held)[1]


P95_BETTER_ON_B = {"a": 4.0, "b": 2.0}


def _grown(metric: str, by: dict[str, float], name: str) -> Effect:
    """Of a metric in four blocks, each of which has a little more than the one before."""
    if name not in by:
        return make_unknown_effect(f"no block has {metric} of both")
    alone = [1 + 0.01 * block for block in range(4)]
    return estimate_paired_ratio(alone, [by[name] * each for each in alone])


def _compared(
    p95: dict[str, float] | None = None,
    tpm: dict[str, float] | None = None,
    **achieved: float | None,
) -> str:
    found = [
        _one(300, _grown("p95", p95 or {}, name), name, achieved=achieved.get(name, 300.0),
             tpm=_grown("tpm", tpm or {}, name))
        for name in "ab"
    ]  # fmt: skip
    said = _said(*found, context=_context(_Evidence("a", "b")))
    return next(each for each in said if each.startswith("With a neighbour"))


def test_who_absorbs_it_better_is_said_with_what_the_neighbour_achieved_on_each() -> None:
    """Who had less to absorb is not called better for it."""
    said = _compared(P95_BETTER_ON_B)
    assert "b absorbs the neighbour better than a by a factor of 2.00" in said
    unequal = _compared(P95_BETTER_ON_B, a=200.0)
    assert unequal.endswith("; the neighbour achieved, per second, 200 on a and 300 on b.")
    assert "b absorbs the neighbour better" in unequal
    assert (
        "it is undecided whether a or b absorbs it better: p95 grows 2.00 times as much on a"
        in (_compared(P95_BETTER_ON_B, b=200.0))
    )


@pytest.mark.parametrize(
    ("achieved", "of"),
    [({"b": None}, "b"), ({"a": None}, "a"), ({"a": None, "b": None}, "a and b")],
)
def test_nobody_is_called_better_where_it_is_not_known_what_the_neighbour_achieved(
    achieved: dict[str, float | None], of: str
) -> None:
    """Such as a load of which none came to its end: who had less to absorb, nobody knows."""
    said = _compared(P95_BETTER_ON_B, None, **achieved)
    assert "it is undecided whether a or b absorbs it better: p95 grows 2.00 times" in said
    assert said.endswith(f"; what the neighbour achieved on {of} is not known.")


def test_without_a_percentile_of_both_they_are_compared_by_the_throughput_that_is_kept() -> None:
    """More of it is better, where less growth of a percentile was."""
    said = _compared(tpm={"a": 0.12, "b": 0.53})
    assert "b absorbs the neighbour better than a by a factor of 4.42" in said
    assert "in the throughput that tenants keep. They are not compared by p95: no block has" in said
    assert "a and b are not compared: no block has tpm of both" in _compared()


def _apart(own: str, volume: str = "backup") -> dict[str, Any]:
    drives = [SimpleNamespace(role="data", device="/dev/loop0"),
              SimpleNamespace(role="backup", device=own)]  # fmt: skip
    return {
        "manifest": SimpleNamespace(scenario_facts={"volume": volume}),
        "facts_of": lambda _: SimpleNamespace(drives=drives, roles=(), devices=()),
    }


def test_a_neighbour_on_drives_of_its_own_must_cost_nothing_and_it_is_said_whether_it_does() -> (
    None
):
    """The control: intervals include 1, or something else is shared."""
    same = estimate_paired_ratio([1.0] * 4, [0.98, 1.01, 1.02, 1.0])
    evidence, own = _Evidence("a"), _apart("/dev/loop1")
    context = _context(evidence, **own)
    assert _said(_one(300, same, tpm=same), context=context)[1] == (
        "On a the neighbour of 300 has drives of its own, and costs the tenants nothing that is "
        "seen: the intervals of p95 (0.94 to 1.07) and TPM (0.94 to 1.07) include 1."
    )
    hurt = _said(_one(300, SMALL, tpm=same), context=context)[1]
    assert "drives of its own, but the interval of p95 (1.1" in hurt
    assert "excludes 1: tenants and neighbour share something else, such as CPUs." in hurt
    few = estimate_paired_ratio([1.0] * 2, [1.2, 1.2001])
    open_ = "drives of its own, but whether it costs the tenants anything is not decided: "
    assert f"{open_}2 blocks are too few." in _said(_one(300, few, tpm=few), context=context)[1]
    unknown = _said(_one(300, FEW, tpm=same), context=context)[1]
    assert f"{open_}p95 is not known, as it needs 10,000 answers." in unknown


def test_a_neighbour_on_the_tenants_devices_is_no_control() -> None:
    """Whatever the role is called; and what a point says counts before what all have."""
    evidence = _Evidence("a")
    shared = (_apart("/dev/loop0"), _apart("/dev/loop1", "data"), {"manifest": None})
    assert all(len(_said(_one(300), context=_context(evidence, **each))) == 1 for each in shared)
    point = _point(300, **{VOLUME: "backup"})
    context = _context(evidence, **_apart("/dev/loop1", "data"))
    assert len(_said(_one(300, point=point), context=context)) == 2


def test_of_several_limits_each_is_told_by_the_same_percentile() -> None:
    """One of them has p99, too."""
    found = [
        _one(300, p99=p99, point=_point(300, **{LIMIT: limit}))
        for limit, p99 in ((100, SMALL), (400, FEW))
    ]
    said = _said(*found, context=_context(_Evidence("a"), LIMIT))[-1]
    assert "with a limit of 100 p95 is 1.2" in said
    assert "with a limit of 400 p95 is 1.2" in said
