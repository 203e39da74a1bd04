"""The proof of what limited counts what it says: wrong limits, failed instruments, lifted ones."""

import json
from pathlib import Path
from typing import Any

import pytest

import limits
from book import Done, Part
from limit_cases import CASES, LIFTED, NO_CASE, Case, Drive
from limits import LONG, faults, judged, lifted, lines, outcome, profile_path, study_of, told
from stithy.analysis.bottlenecks.rules import RULES
from stithy.report.context import context_of
from stithy.results.read import read_run
from stithy.study.load import parse_study
from support.sample_run import Shape, build_run


def window(**changes: Any) -> limits.Seen:
    """A window that is limited by the commit log, as it should be."""
    return {
        "candidate": "slow", "users": 4, "nopm": 100.0, "valid": True, "limit": "log",
        "says": "waits", "flags": [], "also": [], "outcome": "right", **changes,
    }  # fmt: skip


def done(*windows: limits.Seen) -> Done:
    """A case that was measured, with these windows."""
    seen = {"windows": list(windows), "lifted": lifted(windows)}
    return Done(Part("limits-log", 0), not faults(seen), seen)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_is_a_study_of_one_block(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says what is right of each of its candidates but `lifted`."""
    monkeypatch.setattr(limits, "FOLDER", tmp_path)
    for name, storage in case.storage.items():
        if isinstance(storage, Drive):
            profile_path(name).write_text(storage.profile(name))
    text = json.dumps(study_of(case, LONG))
    study = parse_study("s.yaml", text.encode())
    assert study.load.repeat == 1
    assert set(case.limits) == set(case.storage) - {LIFTED}


def test_every_rule_has_a_case() -> None:
    """A rule that nobody has seen hold on a real server is a guess, and is named as such."""
    seen = {limit for case in CASES for right in case.limits.values() for limit in right}
    assert seen == set(RULES) - set(NO_CASE)


@pytest.mark.parametrize(
    ("limit", "valid", "expected"),
    [
        ("log", True, "right"),
        ("server-cpu", True, "wrong"),
        ("server-cpu", False, "wrong"),
        ("emulation", False, "instrument failed"),
        ("driver", True, "wrong"),
        ("several", True, "not told"),
        ("unknown", True, "not told"),
    ],
)
def test_only_another_limit_is_wrong(limit: str, valid: bool, expected: str) -> None:
    """An instrument that failed says so in a window that does not count."""
    assert outcome(("log",), window(limit=limit, valid=valid)) == expected
    assert outcome(None, window(limit=limit, valid=valid)) is None


def test_other_programs_may_take_the_cpus_and_make_no_other_limit() -> None:
    """Where they wanted them."""
    disturbed = {"flags": ["interference"]}
    assert outcome(("log",), window(limit="host-cpu", **disturbed)) == "disturbed"
    assert outcome(("log",), window(limit="driver", **disturbed)) == "disturbed"
    assert outcome(("log",), window(limit="locks", **disturbed)) == "wrong"


def test_a_failed_instrument_is_right_where_it_is_what_was_built_in() -> None:
    """Then it is the limit that the report should tell."""
    assert outcome(("driver",), window(limit="driver", valid=False)) == "right"


def test_what_is_lifted_must_give_more(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise the case is not what it says, and the proof fails."""
    as_built = done(window(), window(candidate=LIFTED, nopm=300.0, outcome=None))
    assert as_built.seen["lifted"] == {"slow": 3.0}
    assert as_built.sound
    assert told([as_built]) == 0
    other = done(window(), window(candidate=LIFTED, nopm=110.0, outcome=None))
    assert not other.sound
    assert told([as_built, other]) == 99
    assert "slow: without what was built in only 1.10 times as much" in capsys.readouterr().out


def test_a_wrong_limit_and_a_failed_study_fail_the_proof(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever else is right."""
    right = done(window())
    assert told([right]) == 0
    wrong = done(window(limit="locks", outcome="wrong"))
    assert told([right, wrong]) == 99
    printed = capsys.readouterr().out
    assert "windows, wrong: 1" in printed
    assert "limits-log: slow at 4 users: locks (waits)" in printed
    failed = Done(Part("limits-log", 0), False, {"failed": "no room", "code": 4})
    assert told([right, failed]) == 5
    assert told([wrong, failed]) == 99
    assert list(lines(failed)) == ["failed with 4"]
    assert list(lines(wrong)) == ["slow at 4 users: wrong, locks: waits"]


@pytest.mark.parametrize(
    "hidden",
    [
        window(limit="several", says=None, outcome="not told"),
        window(limit="emulation", valid=False, outcome="instrument failed"),
        window(valid=False),
    ],
    ids=["not told", "instrument failed", "right but invalid"],
)
def test_a_case_that_no_window_shows_is_no_proof(
    hidden: limits.Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing wrong was seen, and nothing right."""
    assert told([done(window()), done(hidden)]) == 5
    printed = capsys.readouterr().out
    assert "cases that a window which counts shows: 1" in printed
    assert "limits-log: no window that counts shows it" in printed


def test_an_instrument_that_had_to_fail_is_shown_by_its_failure() -> None:
    """A late driver makes a window invalid, and that is what the case is for."""
    assert told([done(window(limit="driver", valid=False))]) == 0


def test_the_limit_is_that_of_the_report(tmp_path: Path) -> None:
    """Window by window, with every rule's answer."""
    build_run(tmp_path, Shape(users=(4,)))
    case = Case("x", "x", {}, {"disk": ("users",)}, {})
    seen = judged(case, tmp_path)["windows"]
    limited = context_of(read_run(tmp_path)).limited
    assert [each["limit"] for each in seen] == [each.kind for each in limited.values()]
    assert {each["candidate"]: each["outcome"] is None for each in seen} == {
        "disk": False,
        "memory": True,
    }
    assert all(each["judged"] for each in seen)
