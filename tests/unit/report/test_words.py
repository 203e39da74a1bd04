"""What people read: numbers and names as texts, loads, and findings as sentences."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from stithy.analysis.analyze import list_isolations
from stithy.analysis.bottlenecks.judge import Cause
from stithy.analysis.capacity import Capacity, CapacityFinding, End
from stithy.analysis.checks.instruments import DRIVE_SLOWED
from stithy.analysis.effect import Effect, make_unknown_effect
from stithy.analysis.findings import Comparison, Finding, LimitedCapacity, Limits
from stithy.analysis.verdict import Call, Verdict
from stithy.metrics import parse_quantity
from stithy.report.between import format_ratio_change
from stithy.report.drawing.draw import escape_unprintable
from stithy.report.findings import describe_all
from stithy.report.findings.changes import Growth
from stithy.report.tables import SHOW
from stithy.report.words import escape, loads, wording
from stithy.report.words.wording import explain_missing
from stithy.workloads.order_entry import HAMMERDB
from support.points import at
from support.sample_drives import drive_rows
from support.sample_run import Shape, manifest
from support.searched import SEARCH

BEYOND, UNDER = "over 1,000,000", "under 0.001"


@pytest.mark.parametrize(("write", "values", "texts"), [
    (wording.format_chance, (0.125, 0.0001, 0.0, 1.0), ("12.5 %", "< 0.1 %", "0.0 %", "100.0 %")),
    (wording.format_finely, (0.9861, 1.0003, 0.99996, 1.0, 0.0421, 0.0004, 1203.4, 1e300, 0.0),
     ("0.986", "1.0003", "0.99996", "1.000", "0.0421", UNDER, "1,203", BEYOND, "0.000")),
    (wording.format_factor, (1.0003, 1.0996, 1.1, 3.14), ("1.0003", "1.100", "1.10", "3.1")),
    (wording.format_times, (0.0421, 0.001, 0.0004, 1e300), ("0.042", "0.001", UNDER, BEYOND)),
    (wording.format_in_table, (1.084, 12.404, 0.0421, 1203.4), ("1.08", "12.40", "0.042", "1,203")),
    (wording.format_at_most, (0.014, 0.00412, 0.2, 1.0), ("2 %", "0.5 %", "20 %", "100 %")),
    (wording.format_times_at_most, (1.25, 1.2501, 2.51, 10.2), ("1.25", "1.26", "2.6", "11")),
    (format_ratio_change, (1.123, 1.0004, 0.9996, 1.0, 12.4, 0.0421, 0.00421, 123456.0),
     ("+12.3 %", "+0.04 %", "−0.04 %", "+0.0 %", "×12.4", "−95.8 %", "×0.0042", "×123,456")),
    (SHOW["correlation"], (-0.001, -0.45, 0.3), ("0.00", "-0.45", "0.30")),
    (lambda s: " ".join(wording.format_apart(s, 1.0, "s")), (1.0004,), ("1.0004 s 1 s",)),
    (lambda rate: wording.format_apart(rate, 5e6, "B/s")[0], (5000001.0,), ("5000001 B/s",)),
])  # fmt: skip
def test_no_number_reads_as_another(
    write: Callable[[float], str], values: Sequence[float], texts: Sequence[str]
) -> None:
    """Beside 1 not as 1, rare not as never, at most rounded up, a change never as none."""
    assert tuple(write(value) for value in values) == texts


@pytest.mark.parametrize("text", [
    "(95_% interval, 4_blocks)", "159_ms against 51.5_ms", "850_µs", "2_min_5_s", "1_h_10_min",
    "64_MiB/s", "13_users", "a margin of 1.5_%.", "within 1_s;", "1,204_B", "loop_· cold",
    "5 of 100 studies", "4 million", "{% if x > 5 %}", "figure 3 shows", "3 memory",
])  # fmt: skip
def test_a_number_and_its_unit_do_not_break(text: str) -> None:
    """Neither do the parts of a duration; other spaces do."""
    assert escape.join_units(text.replace("_", " ")) == text.replace("_", escape.NO_BREAK)


def test_letters_that_act_or_have_no_font_are_told_by_number() -> None:
    """Right-to-left marks and control characters; others stay, of any script; ends of names too."""
    assert escape.escape_unseen("a\u202eb\x07c") == "a[U+202E]b[U+0007]c"
    text = "Größe ≥ 2 µs \N{NO-BREAK SPACE}\N{HEBREW LETTER ALEF}\n"
    assert escape.escape_unseen(f"{text}中😀\t\u200b\u00ad") == f"{text}中😀\t\u200b\u00ad"
    assert (
        escape_unprintable(f"{text}😀 中\u202e\x1b") == f"{text}[U+1F600] [U+4E2D][U+202E][U+001B]"
    )
    assert escape.truncate_name("nvme", 8) == "nvme"
    assert escape.truncate_name("a-very-long-name-of-a-drive", 12) == "a-very-…rive"
    assert escape.truncate_name("a\u202eb\nc", 20) == "a[U+202E]b c"


JOINER = "\N{WORD JOINER}"


@pytest.mark.parametrize(("text", "written"), [
    ("7.2 ms, -5 and 5 %", "7.2 ms, -5 and 5 %"), ("&lt; a|b", "\\&lt; a\\|b"),
    ("<b onclick=x>*b* _it_ `c`", "\\<b onclick=x\\>\\*b\\* \\_it\\_ \\`c\\`"),
    ("[a](b) ![c](d)\ne", "\\[a\\](b) \\!\\[c\\](d) e"), ("--- ", f"{JOINER}---"),
    ("@maintainers see #1", f"@{JOINER}maintainers see #{JOINER}1"),
    ("http://a.b www.c.d", f"http{JOINER}://a.b www{JOINER}.c.d"),
    ("# no heading", f"{JOINER}# no heading"), ("1. no list", f"{JOINER}1. no list"),
])  # fmt: skip
def test_what_would_act_in_markdown_is_escaped(text: str, written: str) -> None:
    """And nothing else, so that it can be read as it is, too."""
    assert escape.escape_markdown(text) == written


MIX = "specified mix and keys"


@pytest.mark.parametrize(("facts", "options", "said"), [
    ({}, {}, f"Closed loop, back to back, one connection per user, {MIX}, read committed"),
    ({"pace": "keyed", "connections": 64}, {"delivery": "deferred", "users_per_warehouse": 10},
     "Closed loop, keyed as specified, over 64 connections, deliveries deferred, "
     f"10 at home in each warehouse, {MIX}, read committed"),
    ({"pace": "rate", "rate_per_s": 500.0, "arrivals": "poisson"}, {"profile": "hammerdb"},
     f"Open loop, 500/s Poisson, users are connections, {HAMMERDB}, read committed"),
    ({"pace": "think", "think_s": 2.0, "touch_percent": 30, "isolation": "repeatable-read"}, {},
     "Closed loop, think 2 s, one connection per user, 30 % of the data touched, "
     f"{MIX}, repeatable read"),
    (None, {}, "Load not recorded"),
])  # fmt: skip
def test_loop_and_what_users_do_are_one_clause(
    facts: dict[str, Any] | None, options: dict[str, Any], said: str
) -> None:
    """Whatever the study asked; what is not recorded is not made up."""
    known = manifest(Shape(load=facts or {}, options=options))
    assert loads.describe_load(known.load if facts is not None else None, known.workload) == said


@pytest.mark.parametrize(("engines", "levels"), [
    (["postgresql"], ["read committed"]),
    (["sqlite"], ["serializable"]),
    (["postgresql", "sqlite"], ["read committed", "serializable"]),
])  # fmt: skip
def test_an_engine_with_one_isolation_level_has_that(engines: list[str], levels: list[str]) -> None:
    """SQLite's writers come one after the other, whatever a study asks."""
    assert list_isolations(manifest(Shape()).load, engines) == levels


def test_a_percentile_of_a_drive_rests_on_what_its_log_holds_of_the_measurement() -> None:
    """More was answered in the ramp-up, which says nothing of the seconds that were measured."""
    rows = [row | {"logged": logged} for logged in (9_999, 10_000) for row in drive_rows("w", 0.0)]
    p99_s = loads.make_drives_table(pl.DataFrame(rows), ["w"]).frame["latency_p99_s"].to_list()
    assert [value is None for value in p99_s] == [True] * 4 + [False] * 4


def _say(finding: Finding) -> str:
    return describe_all([finding], "user")[0]


def _compared(
    ratio: float, call: Call, metric: str = "nopm", *, blocks: int = 6, **more: Any
) -> Comparison:
    """Memory against disk at 4 users: so many times as much, by these blocks."""
    bounds: tuple[float, float] = more.pop("bounds", (ratio / 1.25, ratio * 1.25))
    values: tuple[float, float] = more.pop("values", (1000.0, 1000.0 * ratio))
    verdict = Verdict(call, blocks, 0.02, more.pop("because", None))
    effect = Effect(ratio, *bounds, blocks)
    asked = parse_quantity(metric)
    return Comparison(asked, "disk", "memory", at(4), *values, effect, verdict, **more)


@pytest.mark.parametrize(("finding", "parts"), [
    (_compared(0.5, Call.WORSE), ["memory is worse than disk: it completed 0.50 times as many",
                                  "were 500 on memory and 1,000 on disk.",
                                  "is 0.50, between 0.40 and 0.62"]),
    (_compared(0.5, Call.BETTER, "p95", values=(0.1, 0.05)),
     ["memory is better than disk: its p95 response time was 0.50 times as long",
      "50.0 ms on memory and 100 ms on disk", "The ratio of memory to disk is 0.50"]),
    (_compared(1.2, Call.BETTER, values=(1010.0, 1000.0)),
     ["were 1,000 on memory and 1,010 on disk. The ratio is the mean over the blocks; the"]),
    (_compared(1.00008, Call.NEGLIGIBLE, bounds=(1.00002, 1.0002), values=(5000.1, 5000.4)),
     ["were 5000.4 on memory and 5000.1 on disk. ", "between 1.00002 and 1.00020"]),
    (replace(_compared(2.0, Call.UNDECIDED), effect=make_unknown_effect("memory has no window")),
     ["At 4 users, disk and memory cannot be compared: memory has no window."]),
    (_compared(2.1, Call.HIGHER, "block.reads_per_s of sda", values=(571.0, 1200.0)),
     ["memory has more than disk: its reads per second of the block devices (sda) came to 2.1 "
      "times as much", "1,200/s on memory and 571/s on disk"]),
    (_compared(0.5, Call.LOWER, "block.utilisation_share", values=(0.9, 0.45)),
     ["memory has less than disk: its utilisation", "was 45 % on memory and 90 % on disk"]),
    (Growth(at(1), at(13), (("disk", 4.3), ("memory", 0.8), ("tape", None))),
     ["of disk grew to 4.3 times and memory fell to 0.80 times; the growth of tape is not"]),
    (Limits(at(1), (("sata", Cause("several", None, 4, 4, "the CPU was busy 66 %", 0.2, True)),
                ("nvme", Cause("unknown", None, 4, 4, "nobody judged", 0.2, True)))),
     ["several resources limited sata (the CPU was busy 66 %); unknown factors limited nvme "
      "(nobody judged)."]),
])  # fmt: skip
def test_a_finding_is_said_with_its_direction(finding: Finding, parts: list[str]) -> None:
    """The second candidate against the first, whichever is better; work, times, shares, rates."""
    said = _say(finding)
    assert [part for part in parts if part not in said] == [], said


DISTURBED = ((0.0, 0.1), (0.0, 0.0), (0.0, 0.2), (0.0, 0.0))


@pytest.mark.parametrize(("call", "interval", "bounds", "words"), [
    (Call.BETTER, (1.5, 2.5), DISTURBED, "Even so, the verdict holds: 2 of 4 blocks were disturbed "
     "(“emulated drive too slow”), which changed a ratio by at most 22 %, and the interval"),
    (Call.UNDECIDED, (0.9, 2.5), DISTURBED, " by at most 22 %; the interval includes that."),
    (Call.UNDECIDED, (None, None), DISTURBED[:1], "1 of 1 block was disturbed "
     "(“emulated drive too slow”), which changed a ratio by at most 11 %. A test needs"),
])  # fmt: skip
def test_disturbed_blocks_are_said(call: Call, interval: Any, bounds: Any, words: str) -> None:
    """With what they changed at most; no interval is said to include it where there is none."""
    low, high = interval
    finding = _compared(2.0, call, blocks=len(bounds), flags=(DRIVE_SLOWED,))
    finding = replace(finding, effect=Effect(2.0, low, high, len(bounds), bounds=bounds))
    assert words in _say(finding)


def _busy(limit: str, share: float) -> Cause:
    return Cause(limit, share, 4, 4, "", 0.2, True, "server-cpu", share)


@pytest.mark.parametrize(("metric", "ratio", "disk", "memory", "bound", "end"), [
    ("nopm", 1.13, ("log", 0.7), ("server-cpu", 0.96), "at least 1.13", "CPUs limited memory"),
    ("nopm", 1.13, ("server-cpu", 0.85), ("log", 0.84), "at least", "CPUs limited disk"),
    ("nopm", 1.13, ("log", 0.7), ("server-cpu", 0.84), "completed 1.13", "memory"),
    ("nopm", 0.8, ("server-cpu", 0.87), ("log", 0.5), "at most 0.80", "CPUs limited disk"),
    ("p95", 0.8, ("server-cpu", 0.9), ("server-cpu", 0.9), "was 0.80", "CPUs limited both"),
    ("nopm", 1 / 171, ("several", 0.5), ("unknown", 0.5), "171 times fewer new orders",
     "several resources limited disk, unknown factors limited memory"),
])  # fmt: skip
def test_a_throughput_against_full_cpus_is_a_floor(
    metric: str, ratio: float, disk: Any, memory: Any, bound: str, end: str
) -> None:
    """From 85 % on, on either side, in a first sentence of few words."""
    limits = Limits(at(4), (("disk", _busy(*disk)), ("memory", _busy(*memory))))
    call = Call.BETTER if (metric == "nopm") == (ratio > 1) else Call.WORSE
    found = _compared(ratio, call, metric, bounds=(ratio / 1.01, ratio * 1.01), limits=limits)
    first = _say(found).split(". ")[0]
    assert bound in first
    assert first.endswith(end)
    assert len(first.split()) <= 26
    assert "at " in bound or "at least" not in first


SATA, DRIVER = Capacity("sata", End(34, 0.95, 2), End(36, 1.08, 2)), "the driver was the limit"


@pytest.mark.parametrize(("of", "words"), [
    ([SATA, replace(SATA, candidate="ssd")],
     "not known which of sata and ssd serves more, because their brackets are too close"),
    ([SATA, replace(SATA, candidate="ssd"), Capacity("hdd", End(2, 0.4, 2), End(3, 1.4, 2))],
     "not known which of sata and ssd serves most, because their brackets are too close"),
    ([replace(SATA, high=None), Capacity("ssd", End(34, 0.9, 2), None)], "the search ends below"),
    ([Capacity("hdd", None, None, 1, DRIVER)], "whether hdd serves 1 user within 1 s is not"),
    ([Capacity("sata", End(64, 0.3, 2), None, 68, DRIVER)],
     "sata serves at least 64 users within 1 s; at 68, the driver was the limit; "),
    ([Capacity("hdd", End(2, 0.4, 1), None, cut_off=True)], "so far: its search was interrupted"),
    ([SATA, replace(SATA, low=End(9, 0.9, 1))], "with one window at some ends)."),
    ([replace(SATA, high=End(36, 1.0004, 2))], "(at 36, p95 of new-order is 1.0004 s)"),
    ([replace(SATA, high=End(36, 1.08, 2, is_of_few=True))], "p95 of new-order is longer);"),
    ([Capacity("hdd", None, End(1, 1.4, 2))], "hdd does not serve even 1 user within 1 s"),
])  # fmt: skip
def test_users_served_are_said_with_what_it_rests_on(of: list[Capacity], words: str) -> None:
    """Nothing is claimed beyond the windows; what misses by little does not read as the limit."""
    assert words in _say(CapacityFinding(SEARCH, tuple(of), None))


def test_users_served_are_said_with_what_limited_them() -> None:
    """In the same sentence: a reader of the first one takes no CPU for the storage."""
    limits = Limits(at(36), (("sata", Cause("server-cpu", 0.97, 2, 2, "", 0.2, False)),))
    text = _say(LimitedCapacity(SEARCH, (SATA,), None, None, limits))
    assert "; at 36 users, the database's CPUs limited sata; " in text


@pytest.mark.parametrize(("meets", "words"), [
    ((True, True), "; both meet the target (p95 of new-order ≤ 1 s)."),
    ((False, False), "; both miss the target (p95 of new-order ≤ 1 s)."),
    ((False, True), "; memory meets the target (p95 of new-order ≤ 1 s), disk misses it."),
])  # fmt: skip
def test_the_answer_says_who_meets_the_target(meets: tuple[bool, bool], words: str) -> None:
    """In its first sentence."""
    both = tuple(zip(("disk", "memory"), meets, strict=True))
    answer = _compared(0.5, Call.BETTER, "p95", target=SEARCH.limit, meets=both)
    assert words in _say(answer).split(" The ")[0]


def test_reasons_that_differ_in_numbers_alone_are_said_once() -> None:
    """From the least to the greatest; numbers in names stay, and so do other reasons."""
    told = "p95 (needs 2,000 values, and there are {})."
    known = [("a1", told.format("1,208")), ("b", told.format("372")), ("c", "cost.")]
    assert list(explain_missing(known)) == [
        "Missing for a1 and b: p95 (needs 2,000 values, and there are 372 to 1,208).",
        "Missing for c: cost.",
    ]
