"""What a loss under a fault is worth: a broken promise, or a finding."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from stithy.activities.hammer.judge import LEDGER
from stithy.activity import get_table
from stithy.analysis.analyze import Analysis
from stithy.analysis.decision import is_answered
from stithy.analysis.effect import Effect, Paired, make_unknown_effect
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.gathering import WindowRecord, judge
from stithy.analysis.verdict import PrimaryComparison
from stithy.metrics import ALL, Quantity
from stithy.point import Point
from stithy.results.layout import RunDirectory
from stithy.scenarios.failure.declared import UNCHECKED
from stithy.scenarios.failure.impact import list_impacts
from stithy.scenarios.failure.judge import Suffered
from stithy.scenarios.failure.report.findings import describe_one, describe_survival, find_survival
from stithy.scenarios.failure.report.tables import write_cell
from stithy.scenarios.failure.survival import DEGRADED, list_survivals
from stithy.statements import Statement
from support.hlog import encode, histogram, log

NONE, FAULT = (Point.of(users=4, fault=name) for name in ("none", "drive-gone"))
WHOLE = {
    "activity": "hammer, fault-none", "tried": False, "complete": True, "position": 0, "errors": 0,
    "tpm": 900.0, "proof_before": 1, "proof_after": 11, "headline_acknowledged": 10,
    "headline_in_doubt_found": 0, "ledger_acknowledged": 10, "gap_s": 2.0,
}  # fmt: skip
COLUMNS = {column.name: None for name in ("window", "load") for column in get_table(name).columns}
COUNTS = {column.name: 0 for column in get_table("ledger").columns}
GONE = {**COUNTS, "deal": "order", "lost": 3}
TABLES = frozenset({"values", "load", "ledger", "window"})


def window(
    candidate: str, promised: float | None, block: int = 0, gone: bool = False,
    fault: str = "drive-gone", damaged: float | str | None = None, **row: Any,
) -> Window:  # fmt: skip
    """A window as judged; `promised` None: without a fault."""
    point = NONE if promised is None else FAULT.replaced("fault", fault)
    made = {**COLUMNS, **WHOLE, "point": str(point), "candidate": candidate, "block": block, **row}
    made["window_id"] = f"{candidate}-{point.slug}-{block}"
    values: dict[tuple[str, str], Any] = {}
    if promised is not None:
        values[("fault.promised", ALL)] = {"value": promised, "missing_because": None, "count": 1}
        because, of = (damaged, None) if isinstance(damaged, str) else (None, damaged)
        values[("fault.damaged", ALL)] = {"value": of, "missing_because": because, "count": 1}
        values[("fault.phase_s", "degraded")] = {"value": 40.0, "missing_because": None, "count": 1}
    record = WindowRecord(made, values=values, ledger=[GONE] if gone else [], tables=TABLES)
    spans = () if promised is None else ({"name": "fault", "from_s": 1.0, "to_s": 2.0},)
    return Window(made, {}, judge(record), values=values, spans=spans)


@pytest.mark.parametrize(
    ("promised", "row", "valid", "answered", "lost"),
    [
        (1.0, {}, True, True, 0),
        (1.0, {"gone": True}, False, False, 1),
        (0.0, {"gone": True}, True, True, 1),
        (1.0, {"headline_in_doubt_found": -1}, False, False, 1),
        (0.0, {"headline_in_doubt_found": -1}, True, True, 1),
        (1.0, {"ledger_unverified_because": "no start", "proof_after": None}, False, False, 1),
        (0.0, {"ledger_unverified_because": "no start", "proof_after": None,
               "missing_because": "the server ended"}, False, True, 1),
        (1.0, {"damaged": 1.0}, False, False, 1),
        (0.0, {"damaged": 1.0}, True, True, 1),
        (1.0, {"damaged": UNCHECKED}, True, True, 0),
        (1.0, {"damaged": "no answer"}, True, True, 0),
        (1.0, {"damaged": "no answer", "ledger_unverified_because": "no start"}, False, False, 1),
        (0.0, {"ledger_unverified_because": "stopped by a person", "proof_after": None,
               "missing_because": "stopped"}, False, False, 0),
        (0.0, {"errors": 5}, False, False, 0),
    ],
)  # fmt: skip
def test_a_loss_breaks_a_promise_or_is_a_finding(
    promised: float, row: dict[str, Any], valid: bool, answered: bool, lost: int
) -> None:
    """One of two candidates has it; the other kept everything."""
    windows = (
        *(window(name, None) for name in "ab"),
        window("a", promised, **row), window("b", 1.0),
    )  # fmt: skip
    evidence = Evidence(("a", "b"), (NONE, FAULT), windows, primary=PrimaryComparison(point=FAULT))
    [of_a, of_b] = Suffered.list_in(evidence)
    assert (windows[2].valid, len(of_a.list_lost())) == (valid, lost)
    findings = [reason for reason in windows[2].reasons if reason.flag.is_finding]
    assert bool(findings) == (lost and not promised), "such a window is not measured again"
    assert (len(of_b.list_counted()), of_b.list_lost()) == (1, ())
    assert is_answered(evidence) == answered


DISAGREES = {"headline_in_doubt_found": -1}
NO_START = {"ledger_unverified_because": "no start", "proof_after": None, "missing_because": "end"}
KEPT_B = "; b kept every commit, with a pause of 2.00 s"


@pytest.mark.parametrize(
    ("of_a", "expected"),
    [
        ([{}], "a kept every commit through a drive that is gone, with a pause of 2.00 s"
               f"{KEPT_B}."),
        ([{"gap_s": 0.12}], "a kept every commit through a drive that is gone, with no noticeably "
                            f"longer pause (120 ms){KEPT_B}."),
        ([{"gap_s": 3.6}, {"gap_s": 4.2}], "a kept every commit through a drive that is gone, with "
                                           f"a pause of 3.90 s (88.1 ms to 7.71 s){KEPT_B}."),
        ([{"errors": 1}], "a kept every commit through a drive that is gone; no window of it is "
                          f"valid, so its pause is not known{KEPT_B}."),
        ([{"ledger_acknowledged": 0}], "a is not proven to have kept every commit through a drive "
         f"that is gone: no whole ledger was compared after it{KEPT_B}."),
        ([{"ledger_problem": "no space"}], "a is not proven to have kept every commit through a "
         f"drive that is gone: no whole ledger was compared after it (no space){KEPT_B}."),
        ([{}, {"ledger_unverified_because": "no space"}],
         "a kept every commit through a drive that is gone in 1 of 2 windows, with a pause of "
         f"2.00 s{KEPT_B}."),
        ([], f"a was not measured through a drive that is gone{KEPT_B}."),
        ([{"gone": True}], "a lost 3 acknowledged orders through a drive that is gone, although it "
                           f"promises to survive that{KEPT_B}."),
        ([{"gone": True, "promised": 0.0}, {"promised": 0.0}],
         "a lost 3 acknowledged orders through a drive that is gone in 1 of 2 windows, which it "
         f"does not promise to survive{KEPT_B}."),
        ([NO_START | {"promised": 0.0}],
         "a lost the database through a drive that is gone, "
         f"which it does not promise to survive{KEPT_B}."),
        ([{"damaged": 1.0}], "a damaged the database through a drive that is gone, although it "
                             f"promises to survive that{KEPT_B}."),
        ([{"damaged": UNCHECKED}], "a kept every commit through a drive that is gone, with a pause "
                                   f"of 2.00 s{KEPT_B}."),
        ([{"damaged": "no answer"}], "a is not proven to have kept every commit through a drive "
                                     "that is gone: its files could not be checked (no answer)"
                                     f"{KEPT_B}."),
        ([DISAGREES], "a counted other work than it had acknowledged through a drive that is "
                      f"gone, although it promises to survive that{KEPT_B}."),
    ],
)  # fmt: skip
def test_the_first_sentence_is_true(of_a: list[dict[str, Any]], expected: str) -> None:
    """What one of two candidates does; the other keeps everything."""
    windows = [window(name, None, gap_s=0.05) for name in "ab"]
    windows += [window("a", block=n, **{"promised": 1.0, **row}) for n, row in enumerate(of_a)]
    said = say([*windows, window("b", 1.0)])
    assert said[0] == expected
    why = "a lost the database: it could not be read after a drive that is gone: no start."
    assert (why in said) == ("lost the database" in expected)


def say(windows: list[Window], candidates: str = "ab", **paired: Effect) -> list[str]:
    """The sentences of a run of these windows; `paired`: throughput while degraded."""
    [finding] = find_survival(analyse(windows, candidates, **paired))
    said = describe_survival(finding, "user")
    assert isinstance(said, Statement)
    return [str(part) for part in said.values.values()]


def analyse(windows: list[Window], candidates: str, **paired: Effect) -> Analysis:
    """The run of these windows."""
    points = tuple(dict.fromkeys(each.point for each in windows))
    evidence = Evidence(tuple(candidates), points, tuple(windows))
    cells = {(name, FAULT): Paired(effect) for name, effect in paired.items()}
    evidence = replace(evidence, paired={DEGRADED: cells})
    lost = [each.id for each in windows for reason in each.reasons if reason.flag is LEDGER
            or reason.flag.value == LEDGER.value]  # fmt: skip
    rows = pl.DataFrame([GONE | {"window_id": name} for name in lost], schema=[*GONE])
    run: Any = SimpleNamespace(ledger=rows)
    return Analysis(run, evidence, run)


def test_a_loss_is_said_before_what_is_asked() -> None:
    """Also one without a fault, and of a single candidate; then the others."""
    every = [window("a", None, gone=True), window("a", 1.0), window("a", 1.0, fault="drive-slow")]
    assert say(every, "a") == [
        "a lost 3 acknowledged orders without a fault.",
        "a kept every commit through a slow drive, with a pause of 2.00 s.",
        "a kept every commit through a drive that is gone, with a pause of 2.00 s.",
    ]


def test_no_pause_is_said_only_where_none_may_be() -> None:
    """On average it is short enough; two blocks do not show that it always is."""
    gaps = enumerate((0.04, 0.20))
    windows = [each for block, gap_s in gaps
               for each in (window("a", None, block, gap_s=0.05),
                            window("a", 1.0, block, gap_s=gap_s))]  # fmt: skip
    [said, _] = say(windows, "a")
    assert "with a pause of 120 ms" in said


def test_a_factor_may_have_braces() -> None:
    """Its values are not a part of the template."""
    [survival] = list_survivals(analyse([window("a", None), window("a", 1.0)], "a"))
    assert describe_one(survival, "through {it}").startswith("a kept every commit through {it}, ")


@pytest.mark.parametrize(
    ("effect", "expected", "kind"),
    [
        (Effect(0.69, 0.6, 0.8, 4), " and 31 % (20 to 40) less throughput for 40.0 s.",
         "conservative 95 % intervals of 4"),
        (Effect(0.69, 0.6, 0.8, 3), " and 31 % (20 to 40) less throughput for 40.0 s.",
         "plain 95 % t intervals of 3"),
        (Effect(0.69, None, None, 1), " and 31 % less throughput for 40.0 s.", None),
        (Effect(1.2, 1.1, 1.3, 4), " and 20 % (10 to 30) more throughput for 40.0 s.",
         "conservative 95 % intervals of 4"),
        (Effect(0.97, 0.9, 1.1, 4), ".", None),
        (make_unknown_effect("no second"), ".", None),
    ],
)  # fmt: skip
def test_what_is_degraded_is_said_if_it_shows(
    effect: Effect, expected: str, kind: str | None
) -> None:
    """With its interval and what kind that is, and how long it lasted."""
    said, *others = say([window("a", None, gap_s=0.05), window("a", 1.0)], "a", a=effect)
    assert said.partition("a pause of 2.00 s")[2] == expected
    assert others == ([f"Bounds are {kind} valid windows."] if kind else [])


@pytest.mark.parametrize(
    ("of_a", "cell"),
    [
        ([{}, {"ledger_unverified_because": "no space"}],
         "promised: kept in 1 of 2 windows, paused 2.00 s"),
        ([{"gap_s": None}], "promised: kept; its pause is not known"),
        ([{"errors": 1}], "promised: kept; no valid window"),
        ([{"gap_s": 0.06}], "promised: kept, no noticeably longer pause"),
    ],
)  # fmt: skip
def test_a_cell_of_the_matrix_claims_no_more_than_the_sentence(
    of_a: list[dict[str, Any]], cell: str
) -> None:
    """In how many windows it is proven, and whether there is a pause to speak of."""
    windows = [window("a", 1.0, n, **{"gap_s": 2.0, **row}) for n, row in enumerate(of_a)]
    [survival] = list_survivals(analyse([window("a", None, gap_s=0.05), *windows], "a"))
    assert write_cell(survival) == cell


def test_nothing_is_drawn_beside_a_window_without_numbers() -> None:
    """Its times are not known; another block's are."""
    ended: Any = {"missing_because": "the server ended", "tpm": None, "measure_to_s": None}
    windows = [window("a", None, **ended), window("a", 1.0), window("a", 1.0, 1)]
    [of] = Suffered.list_in(analyse(windows, "a").evidence)
    assert of.find_pair() is None
    [of] = Suffered.list_in(analyse([*windows, window("a", None, 1, errors=5)], "a").evidence)
    assert [each.block for each in of.find_pair() or ()] == [1, 1]


def test_no_interval_is_explained_that_is_not_shown() -> None:
    """Of a candidate that lost something no pause is said."""
    windows = [window("a", 0.0, block, gone=True, gap_s=block + 2.0) for block in range(2)]
    assert not any("Bounds are" in said for said in say(windows, "a"))


@pytest.mark.parametrize(("second_s", "mean_s"), [(4.0, 3.0), (None, None)])
def test_windows_that_never_recovered_are_not_left_out(
    second_s: float | None, mean_s: float | None
) -> None:
    """The mean of the others would be better than what happened."""
    windows = []
    for block, back_s in enumerate((2.0, second_s)):
        of = window("a", 1.0, block)
        row = {"value": back_s, "missing_because": None, "count": None}
        windows.append(replace(of, values={**of.values, ("fault.recovery_s", ALL): row}))
    [suffered] = Suffered.list_in(analyse(windows, "a").evidence)
    assert suffered.average_if_complete(Quantity("fault.recovery_s")) == mean_s


def write_log(folder: Path, of: Window, started_s: float, counts: list[int]) -> Window:
    """The window with a log in which so many transactions of 2 ms ended in each second."""
    spans = tuple(
        {"name": name, "from_s": started_s + from_s, "to_s": started_s + to_s}
        for name, from_s, to_s in (("fault", 3.0, 6.0), ("repair", 6.0, 7.0))
    )  # fmt: skip
    times = {"started_at_s": started_s, "measure_from_s": started_s, "gap_from_s": started_s + 3.0,
             "measure_to_s": started_s + len(counts)}  # fmt: skip
    row = {**of.row, **times, "tpm": 60 * sum(counts) / len(counts),
           "headline_per_s": sum(counts) / len(counts)}  # fmt: skip
    done = {ALL: {"committed": sum(counts), "rolled_back": 0}}
    made = replace(of, row=row, transactions=done, spans=spans if of.values else ())
    lines = [f"Tag=a,{started_s + second:.3f},1.000,2.0,{encode(histogram(*[2000] * count))}\n"
             for second, count in enumerate(counts) if count]  # fmt: skip
    stem = RunDirectory(folder).window(made.id).hlog_stem
    stem.parent.mkdir(parents=True)
    stem.with_name(f"{stem.name}.response.hlog").write_text(log(*lines))
    return made


def test_phases_meet_the_same_seconds_of_none(tmp_path: Path) -> None:
    """Since the users' start, whenever that was; a window without its log has no phase."""
    alone = write_log(tmp_path, window("a", None), 5000.25, [100] * 10)
    beside = write_log(tmp_path, window("a", 1.0), 1000.5, [100] * 3 + [0, 0, 40, 30, 90, 110, 120])
    evidence = Evidence(("a",), (NONE, FAULT), (alone, beside))
    run: Any = SimpleNamespace(directory=RunDirectory(tmp_path))
    analysis = Analysis(run, evidence, run, {alone.id: None, beside.id: None})
    impacts = dict(list_impacts(analysis, "a", FAULT, NONE))
    ratios = {of: impacts[Quantity("fault.throughput_ratio", of)].effect
              for of in ("baseline", "pause", "degraded", "after")}  # fmt: skip
    found = {of: effect.apart and math.exp(effect.apart[0]) for of, effect in ratios.items()}
    expected = {"baseline": 1.0, "pause": (), "degraded": 0.35, "after": 3.2 / 3}
    assert found == {of: pytest.approx(ratio) if ratio else () for of, ratio in expected.items()}
    assert ratios["pause"].missing_because == "it is 0 in a window, so there is no ratio"
    p99 = impacts[Quantity("fault.p99_ratio", "after")].effect
    assert p99.missing_because == "p99 needs 10,000 values in each window, and one window has 300"
    lost = impacts[Quantity("fault.lost_work")].effect
    assert lost.value == pytest.approx(1000 - 690)
    per_s = replace(analysis, evidence=replace(evidence, throughput=Quantity("tps")))
    lost = dict(list_impacts(per_s, "a", FAULT, NONE))[Quantity("fault.lost_work")].effect
    assert lost.value == pytest.approx(1000 - 690), "whatever unit the workload counts by"
    for path in tmp_path.rglob("*.hlog"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    assert not [of for of in dict(list_impacts(analysis, "a", FAULT, NONE)) if of.of]
