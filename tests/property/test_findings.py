"""Whatever a run measured, its findings never contradict each other."""

import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stithy.activities.hammer.judge import find_driver_late, find_little_headroom
from stithy.analysis.bottlenecks.judge import Limited, judge
from stithy.analysis.bottlenecks.observation import Cpus
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.findings import Comparison, Finding, list_findings
from stithy.analysis.instruments import drop_refuted, is_late, measure_headroom
from stithy.analysis.verdict import DIFFERENT
from stithy.metrics import ALL
from stithy.report.context import Context
from stithy.report.findings import describe_all
from stithy.report.sections import answer
from stithy.report.sections.validity import machine
from stithy.results.manifest import CalibrationFacts
from support.points import at
from support.sample_observation import disk, observed, sessions

USERS = 4
LENGTH_S = 20.0

share = st.floats(0.0, 1.0)


@st.composite
def runs(draw: st.DrawFn) -> Context:
    """Any run at one level: any rates, any calibration, anything seen of any window."""
    names = ("sata", "nvme", "tmpfs")[: draw(st.integers(2, 3))]
    calibrated = draw(st.none() | st.floats(100.0, 100_000.0))
    rates = {name: draw(st.floats(50.0, 5_000.0)) for name in names}
    if draw(st.booleans()):  # nearly alike, as candidates often are
        rates = {name: rates[names[0]] * draw(st.floats(0.9, 1.1)) for name in names}
    rows = [
        _row(
            name, block, rates[name] * draw(st.floats(0.99, 1.01)), calibrated, draw(st.booleans())
        )
        for block in range(draw(st.integers(1, 6)))
        for name in names
    ]
    known = drop_refuted(rows)
    windows = tuple(_window(row) for row in known)
    seen = {name: _seen(draw) for name in names}
    limited = {each.id: _limited(each, seen[each.candidate]) for each in windows}
    facts = CalibrationFacts(connections=USERS, rate_per_s_max=calibrated)
    return cast(Context, SimpleNamespace(
        evidence=Evidence(names, (at(USERS),), windows), limited=limited, level_unit="user",
        manifest=SimpleNamespace(calibration=facts), load=None, workload=None, engines={},
    ))  # fmt: skip


def _row(
    name: str, block: int, rate: float, calibrated: float | None, late: bool
) -> dict[str, Any]:
    return {
        "window_id": f"w-{name}-{block}", "candidate": name, "point": str(at(USERS)),
        "users": USERS,
        "block": block,
        "attempt": 0, "position": 0, "tried": False, "missing_because": None, "activity": "hammer",
        "tpm": 60 * rate,
        "measure_from_s": 0.0, "measure_to_s": LENGTH_S, "pace": "none",
        "started_at_s": 0.0, "transactions": round(rate * LENGTH_S), "backlog": 0, "errors": 0,
        "driver_rate_per_s_max": calibrated, "driver_users_max": None, "service_p50_s": 1e-3,
        "lateness_mean_s": 0.1 if late and block == 0 else 0.0, "lateness_p99_s": 1e-5,
    }  # fmt: skip


def _window(row: Any) -> Window:
    done = {"response_p95_s": USERS / row["tpm"], "committed": row["transactions"]}
    done["response_mean_s"] = done["response_p95_s"] / 2
    reasons = (find_driver_late(row, {ALL: done}), find_little_headroom(row))
    return Window(row, {ALL: done}, tuple(each for each in reasons if each is not None))


def _seen(draw: st.DrawFn) -> dict[str, Any]:
    """What was seen of a candidate's windows, but for the driver."""
    paced = draw(st.booleans())
    groups = {name: draw(share) for name in ("cpu", "device", "log", "locks")}
    return {
        "places": USERS, "paced": paced, "under_way": USERS * draw(share) if paced else USERS,
        "sessions": sessions(60, **groups), "server": Cpus(2, draw(share)),
        "devices": disk(draw(share)),
    }  # fmt: skip


def _limited(window: Window, seen: dict[str, Any]) -> Limited:
    late = "the hammer was late" if is_late(window.row) else None
    made = replace(
        observed(**seen), window_id=window.id, late=late, headroom=measure_headroom(window.row)
    )
    return judge(made)


def _claims(context: Context, found: tuple[Finding, ...]) -> list[str]:
    """Every sentence of the first screen that tells of the driver or of limits."""
    room = machine.describe_headroom(context)
    texts = [*describe_all(found, "user"), *answer.list_cap_flaws(context)]
    return [*texts, room.text] if room is not None else texts


def _refused(found: tuple[Finding, ...]) -> Iterator[tuple[str, float]]:
    """Who was shown to do less, and how many times as much the other one did at least."""
    for each in found:
        if isinstance(each, Comparison) and each.metric.known.source == "window":
            low, high = each.effect.low, each.effect.high
            if each.verdict.call in DIFFERENT and low is not None and high is not None:
                yield (each.a, low) if low > 1 else (each.b, 1 / high)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(context=runs())
def test_no_two_sentences_of_a_report_contradict_each_other(context: Context) -> None:
    """The driver is not both idle and the limit; who did less is not told to be as good as any."""
    found = list_findings(context.evidence, context.limited)
    claims = _claims(context, found)
    text = " ".join(claims)
    by_driver = "capped by the load driver" in text or "the load driver limited" in text
    assert not (by_driver and "The driver used at most" in text)
    shares = [int(each) for each in re.findall(r"(\d+) % of (?:the rate|what it can do)", text)]
    assert max(shares, default=0) <= 100
    rates = [each.row["transactions"] / LENGTH_S for each in context.evidence.windows]
    facts = context.manifest.calibration if context.manifest else None
    if facts and facts.rate_per_s_max and max(rates) > facts.rate_per_s_max:
        assert "headroom is not proven" in text
        assert "was asked for" not in text
    for slower, low in _refused(found):
        for claim in claims:
            capped = re.search(r"the throughput of (.*?) was limited by (.*)", claim)
            if capped is None or slower not in capped[1]:
                continue
            assert "the load driver" not in capped[2]
            assert "no storage result" not in capped[2]
            most = re.search(r"at most ([\d.]+) times as much", capped[2])
            assert most is None or float(most[1]) >= low - 0.01
