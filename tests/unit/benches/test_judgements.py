"""Long proofs judge what the report says, and what was wrong stays wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

import limits
import null_studies
import prove
import verdicts
from book import Book, Done, Part
from fabricated import Size, fabricate
from limit_cases import CASES, LIFTED, NO_CASE, Case, Drive
from simulated_studies import Outcome, Truth, Where, end_of, skewed, tally
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.verdict import DIFFERENT, Call
from stithy.plan.expand import nullify_study
from stithy.study.load import parse_study
from support.drawn import context_built
from support.sample_run import Shape, build_run


def test_a_killed_proof_goes_on(tmp_path: Path) -> None:
    """A line that the kill tore is done again; flushes that lie must lose and do nothing else."""
    path = tmp_path / "book.jsonl"
    for counts, sound in (({"lost": 5, "foreign": 1}, False), ({}, False), ({"lost": 5}, True)):
        wrong = {"lost": 0, "foreign": 0, "late": 0, "ragged": 0, **counts}
        seen = {"wrong": wrong, "work": {"written_bytes": 0, "read_bytes": 0}}
        done = Done(Part("cut", 0), not counts, seen)
        assert prove.must_lose(done).sound == sound
    Book(path).add(done)
    whole = path.read_text()
    path.write_text(whole + whole[: len(whole) // 2])
    assert Book(path).missing("cut", 3) == [1, 2]
    assert prove.shown([*Book(path).done.values()]) == 5


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_limit_has_a_study(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says what is right of each of its candidates but `lifted`."""
    monkeypatch.setattr(limits, "FOLDER", tmp_path)
    for name, storage in case.storage.items():
        if isinstance(storage, Drive):
            limits.profile_path(name).write_text(storage.profile(name))
    text = json.dumps(limits.study_of(case, limits.LONG))
    assert parse_study("s.yaml", text.encode()).load.repeat == 1
    assert set(case.limits) == set(case.storage) - {LIFTED}
    seen = {limit for each in CASES for right in each.limits.values() for limit in right}
    assert seen == set(RULES) - set(NO_CASE)


@pytest.mark.parametrize(("right", "changes", "outcome", "code"), [
    ("log", {}, "right", 0),
    ("log", {"valid": False}, "right", 5),
    ("log", {"limit": "driver"}, "wrong", 99),
    ("log", {"limit": "locks", "flags": ["interference"]}, "wrong", 99),
    ("log", {"limit": "emulation", "valid": False}, "instrument failed", 5),
    ("log", {"limit": "several", "says": None}, "not told", 5),
    ("log", {"limit": "host-cpu", "flags": ["interference"]}, "disturbed", 5),
    ("driver", {"limit": "driver", "valid": False}, "right", 0),
])  # fmt: skip
def test_wrong_limits_fail_the_proof(
    right: str, changes: limits.Seen, outcome: str, code: int
) -> None:
    """What is lifted must give more; a failed instrument is shown only where it was built in."""
    seen = {
        "candidate": "slow", "users": 4, "nopm": 100.0, "valid": True, "limit": "log",
        "says": "waits", "flags": [], "also": [], **changes,
    }  # fmt: skip
    seen["outcome"] = limits.outcome((right,), seen)
    assert seen["outcome"] == outcome
    for more, shown in ((300.0, code), (110.0, 99)):
        windows = [seen, seen | {"candidate": LIFTED, "nopm": more, "outcome": None}]
        case = {"windows": windows, "lifted": limits.lifted(windows)}
        assert limits.shown([Done(Part("limits-log", 0), not limits.faults(case), case)]) == shown


@pytest.mark.parametrize("call", Call)
def test_only_a_claimed_difference_of_a_null_study_is_wrong(call: Call) -> None:
    """The target is missed by the second; a failed study is no verdict; its volumes are alike."""
    seen: dict[str, Any] = {
        "storage": null_studies.DIRECTORY, "call": call.value, "blocks": 8, "ratio": 1.0,
        "low": 0.9, "high": 1.1, "windows": [{"valid": True}, {"valid": False}],
    }  # fmt: skip
    done = Done(Part(null_studies.PROOF, 0), call not in DIFFERENT, seen)
    wrong = call not in (Call.EQUIVALENT, Call.UNDECIDED)
    assert null_studies.shown([done]) == 0
    assert null_studies.shown([done, done]) == (99 if wrong else 0)
    failed = {"storage": "gp3", "failed": "no room", "code": 4}
    assert null_studies.shown([done, Done(Part(null_studies.PROOF, 1), False, failed)]) == 5
    for seed in range(6):
        study = parse_study("s.yaml", null_studies.study_text(seed).encode())
        assert (study.seed, study.primary.blocks, study.primary.margin_percent) == (seed, 6, 2.0)
        first, second = (each.spec for each in nullify_study(study).candidates.values())
        assert (first == second) is (null_studies.storage(seed) != null_studies.DIRECTORY)


def test_proofs_judge_what_the_report_says(tmp_path: Path) -> None:
    """Its verdict with every window behind it, and its limits; fabricated runs are whole."""
    names = ("same", "same-again")
    build_run(tmp_path / "null", Shape(candidates=names, users=(4,), repeat=2, null=True))
    seen = null_studies.judged(tmp_path / "null")
    assert (seen["call"], seen["blocks"], len(seen["logs"])) == ("undecided", 2, 2)
    case = Case("x", "x", {}, {"same": ("users",)}, {})
    windows = limits.judged(case, tmp_path / "null")["windows"]
    limited = context_built(tmp_path / "null").limited
    assert [each["limit"] for each in windows] == [each.kind for each in limited.values()]
    size = Size(2, 2, 2, ramp_up_s=1, duration_s=3)
    fabricate(tmp_path / "run", size)
    context = context_built(tmp_path / "run")
    assert context.run.problems == ()
    assert (len(context.evidence.windows), len(context.evidence.merged)) == (size.windows, 4)


def test_the_bench_of_verdicts_measures_what_it_says() -> None:
    """A study ends at the first look that decides; skew misleads bare boundaries as published."""
    bare = tally(skewed, Truth(), Where.CANDIDATE, studies=3000, end=verdicts.bare_end)
    assert bare.different_share == pytest.approx(0.129, abs=0.02)
    assert end_of([0.69, 0.70] * 10) == Outcome(Call.BETTER, 4)
    assert end_of([0.5, -0.5] * 10) == Outcome(Call.UNDECIDED, 20)
