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
from stithy.metrics import P95, P99, TPM
from stithy.point import Point
from stithy.scenarios.noisy_neighbour.disturbance import Disturbance
from stithy.scenarios.noisy_neighbour.plan import LIMIT, NEIGHBOUR, VOLUME
from stithy.scenarios.noisy_neighbour.report.findings import write_findings

FEW = make_unknown_effect("it needs 10,000 answers")
SMALL, LARGE = (estimate_paired_ratio([1.0] * 4, [by, by * 1.01, by, by * 1.02])
                for by in (1.2, 3.0))  # fmt: skip
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
    usual = {"manifest": None, "find_facts": lambda _: None}
    return SimpleNamespace(
        evidence=evidence, factors=(NEIGHBOUR, *factors),
        list_factor_values=lambda point: dict(point.values), **usual | known,
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
    return list(write_findings(cast(Any, context or _context(_Evidence("a"))), found))


WIDE = estimate_paired_ratio([1.0] * 4, [1.2, 2.0, 1.1, 1.9])
UNCLEAR = estimate_paired_difference([0.9] * 4, [0.5, 0.95, 0.9, 0.8])
THREE = estimate_paired_ratio([1.0] * 3, [1.0] * 3)


@pytest.mark.parametrize(("found", "parts"), [
    ([_one(700), _one(300), _one(500, LARGE)],
     ["a bears a neighbour of 300, and not one of 500 (isolation at"]),
    ([_one(300, LARGE), _one(700, LARGE)],
     ["a bears none of the measured neighbours, not even 300 ("]),
    ([_one(300, LARGE), _one(700)],
     ["Which neighbour a bears is not decided: it would be 700, but not 300 ("]),
    ([_one(300, WIDE), _one(700, LARGE)],
     ["Which neighbour a bears is not decided: not one of 700; beside 300,"]),
    ([_one(300), _one(700, WIDE)],
     ["a bears a neighbour of 300; whether 700 is borne is not decided: p95 may be 4"]),
    ([_one(300), _one(500, isolation=None), _one(700, LARGE), _one(900, WIDE)],
     ["300, and not one of 700; whether 500 is borne is not decided: isolation is not known ("]),
    ([_one(300, asked=None, offered=None, achieved=0.0, failed=4)],
     ["Which neighbour a bears is not decided: beside 300, the neighbour achieved nothing (",
      "failed in 4 cycles"]),
    ([_one(200), _one(300, achieved=0.0, failed=4)],
     ["a bears a neighbour of 200; whether 300"]),
    ([_one(700, achieved=400.0, worked=0.3)],
     ["a neighbour of 700, which achieved 400 of 700 per second and worked 30 % of",
      "On a the neighbour of 700 was saturated: it achieved 400 of 700 per second."]),
    ([_one(300, isolation=0.7, alone_isolation=0.7)], ["isolation is 70 % already alone"]),
    ([_one(300, isolation=0.79, lost=UNCLEAR)],
     ["isolation of 79 % beside 95 % alone may be chance"]),
    ([_one(300, FEW)], ["p95 is not known, as it needs 10,000 answers"]),
    ([_one(300, THREE)], ["3 blocks are too few for a claim about p95"]),
    ([_one(300, worked=0.04)], ["it worked too little of the time for p95 to show it"]),
    ([_one(300, WIDE, alone_isolation=0.7, isolation=0.7)], ["already alone; p95 may be 4"]),
    ([_one(300, FEW, isolation=0.0, alone_isolation=1.0, lost=LOST_ALL)],
     ["a bears none of the measured neighbours, not even 300 ("]),
    ([_one(300, p99=SMALL)], ["p99 at most"]),
    ([_one(2, achieved=1.0, failed=1)],
     ["On a the neighbour of 2 failed in 1 cycle: it achieved 1 of 2 per second."]),
    ([_one(2, achieved=None, failed=2)], ["On a the neighbour of 2 failed in 2 cycles."]),
    ([_one(2, achieved=0.0)],
     ["On a the neighbour of 2 was saturated: it achieved 0 of 2 per second."]),
    ([_one(2, offered=None, achieved=1.0, has_limit=True)],
     ["was held back by `limit`, or by the storage: it achieved 1 of"]),
])  # fmt: skip
def test_what_tenants_bear_has_its_reason(found: list[Disturbance], parts: list[str]) -> None:
    """The largest before the first that is not borne; why nothing is decided; what it achieved."""
    said = " ".join(_said(*found))
    assert [part for part in parts if part not in said] == [], said


def test_all_candidates_at_a_load_are_judged_by_the_same_percentile() -> None:
    """p99 of one alone does not leave the other without an answer."""
    context = _context(_Evidence("a", "b"))
    said = _said(_one(300, p99=SMALL), _one(300, candidate="b"), context=context)
    assert all("p95 at most 2 times" in each for each in said[:2])
    assert [each.partition(" bears")[0] for each in said[:2]] == ["a", "b"]


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


@pytest.mark.parametrize(("said", "parts"), [
    (_compared(P95_BETTER_ON_B), ["b absorbs the neighbour better than a by a factor of 2.00"]),
    (_compared(P95_BETTER_ON_B, a=200.0), [
        "b absorbs the neighbour better",
        "; the neighbour achieved, per second, 200 on a and 300 on b."]),
    (_compared(P95_BETTER_ON_B, b=200.0),
     ["it is undecided whether a or b absorbs it better: p95 grows 2.00 times as much on a"]),
    (_compared(P95_BETTER_ON_B, a=0.0, b=0.0), ["undecided whether a or b absorbs it better"]),
    *((_compared(P95_BETTER_ON_B, **dict.fromkeys(unknown)), [
        "it is undecided whether a or b absorbs it better: p95 grows 2.00 times",
        f"; what the neighbour achieved on {' and '.join(unknown)} is not known."])
      for unknown in ("b", "a", "ab")),
    (_compared(tpm={"a": 0.12, "b": 0.53}), [
        "b absorbs the neighbour better than a by a factor of 4.42",
        "in the throughput that tenants keep. They are not compared by p95: no block has"]),
    (_compared(), ["a and b are not compared: no block has tpm of both"]),
])  # fmt: skip
def test_who_absorbs_better_is_said_carefully(said: str, parts: list[str]) -> None:
    """Who had less to absorb is not called better for it, nor where nobody knows."""
    assert [part for part in parts if part not in said] == [], said


def _apart(own: str, volume: str = "backup") -> dict[str, Any]:
    drives = [SimpleNamespace(role="data", device="/dev/loop0"),
              SimpleNamespace(role="backup", device=own)]  # fmt: skip
    return {
        "manifest": SimpleNamespace(scenario_facts={"volume": volume}),
        "find_facts": lambda _: SimpleNamespace(drives=drives, roles=(), devices=()),
    }


SAME = estimate_paired_ratio([1.0] * 4, [0.98, 1.01, 1.02, 1.0])
TWO = estimate_paired_ratio([1.0] * 2, [1.2, 1.2001])


@pytest.mark.parametrize(("p95", "tpm", "parts"), [
    (SAME, SAME, [", and costs the tenants nothing that is seen: the intervals of p95 (0.94 to "
                  "1.07) and TPM (0.94 to 1.07) include 1."]),
    (SMALL, SAME, [", but the interval of p95 (1.1",
                   "excludes 1: tenants and neighbour share something else, such as CPUs."]),
    (TWO, TWO, ["tenants anything is not decided: 2 blocks are too few."]),
    (FEW, SAME, ["anything is not decided: p95 is not known, as it needs 10,000 answers."]),
])  # fmt: skip
def test_own_drives_make_a_control(p95: Effect, tpm: Effect, parts: list[str]) -> None:
    """Intervals include 1, or something else is shared."""
    context = _context(_Evidence("a"), **_apart("/dev/loop1"))
    said = _said(_one(300, p95, tpm=tpm), context=context)[1]
    assert said.startswith("On a the neighbour of 300 has drives of its own")
    assert [part for part in parts if part not in said] == [], said


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
