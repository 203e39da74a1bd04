"""Findings as sentences: number, direction, and never beyond the evidence."""

from dataclasses import replace

import pytest

from stithy.analysis.answers.findings import Alone, Comparison, Growth, Limits, Nothing
from stithy.analysis.bottlenecks.judge import Cause
from stithy.analysis.verdict.decide import Call, Verdict
from stithy.analysis.verdict.effect import Effect, no_effect
from stithy.metrics import NOPM, P95, Quantity, parse_quantity
from stithy.report.findings import sentences
from stithy.report.words import wording


def _say(finding: Alone | Comparison | Growth | Limits | Nothing) -> str:
    return sentences([finding], "user")[0]


ONE = Verdict(Call.UNDECIDED, 1, 0.02, "1 block, at least 4 are needed")


def _nopm(
    effect: Effect, a: float, b: float, users: int = 13, verdict: Verdict = ONE
) -> Comparison:
    return Comparison(NOPM, "disk", "memory", users, a, b, effect, verdict)


def _verdict(call: Call, blocks: int, because: str | None = None) -> Verdict:
    return Verdict(call, blocks, 0.02, because)


def test_all_metrics_are_told_in_one_direction() -> None:
    """Less is told as a factor below one of the same candidate, never with the names turned."""
    half = Effect(0.5, 0.4, 0.625, 6)
    worse = _say(_nopm(half, 4000, 2000, users=1, verdict=_verdict(Call.WORSE, 6)))
    assert worse.startswith(
        "At 1 user, memory is worse than disk: it completed 0.50 times as many new orders. "
        "The new orders per minute of memory and disk were 2,000 and 4,000."
    )
    times = Comparison(P95, "disk", "memory", 1, 0.1, 0.05, half, _verdict(Call.BETTER, 6))
    assert _say(times).startswith(
        "At 1 user, memory is better than disk: its p95 response time was 0.50 times as long. The "
        "95th percentile of response time was 50.0 ms on memory and 100 ms on disk."
    )
    assert "The ratio of memory to disk is 0.50, between 0.40 and 0.62" in worse
    assert "The ratio of memory to disk is 0.50, between 0.40 and 0.62" in _say(times)


def test_a_plain_interval_that_holds_one_takes_the_claim_away() -> None:
    """No direction is claimed where even it includes 1."""
    few = _verdict(Call.UNDECIDED, 3, "3 blocks, at least 4 are needed")
    said = _say(_nopm(Effect(1.3, 0.9, 1.9, 3), 1000, 1300, verdict=few))
    assert said.startswith(
        "At 13 users, disk and memory are not distinguishable in new orders per minute (not "
        "tested, 3 blocks). "
    )
    assert "times as many" not in said


@pytest.mark.parametrize(
    ("ratio", "call", "how", "interval"),
    [
        (2.0, Call.BETTER, "better than disk: it completed 2.0", "2.0, between 1.60 and 2.50"),
        (0.5, Call.WORSE, "worse than disk: it completed 0.50", "0.50, between 0.40 and 0.62"),
    ],
)
def test_a_verdict_names_who_is_better_with_ratio_and_interval(
    ratio: float, call: Call, how: str, interval: str
) -> None:
    """The second candidate against the first, whichever is better."""
    effect = Effect(ratio, ratio / 1.25, ratio * 1.25, 6)
    said = _say(_nopm(effect, 1000, 1000 * ratio, verdict=_verdict(call, 6)))
    assert said.startswith(f"At 13 users, memory is {how} times as many new orders. ")
    assert said.endswith(
        f" The ratio of memory to disk is {interval} (conservative 95 % intervals, 6 blocks)."
    )


def test_what_blocks_cannot_tell_is_undecided_with_its_interval() -> None:
    """The interval stands there always, and the reason beside it."""
    effect = Effect(1.3, 0.9, 1.9, 6)
    said = _say(_nopm(effect, 1000, 1300, verdict=_verdict(Call.UNDECIDED, 6, "why not")))
    assert said == (
        "At 13 users, it is undecided which of disk and memory is better in new orders per minute. "
        "The new orders per minute of memory and disk were 1,300 and 1,000. The ratio of memory to "
        "disk is 1.30, between 0.900 and 1.900 (conservative 95 % intervals, 6 blocks). It "
        "is undecided because why not."
    )


def test_no_ratio_gives_the_reason() -> None:
    """What cannot be compared says why."""
    effect = no_effect("memory has no window")
    finding = Comparison(NOPM, "disk", "memory", 4, 1.0, None, effect, ONE)
    assert _say(finding) == "At 4 users, disk and memory cannot be compared: memory has no window."


def _said_of(metric: str, a: float, b: float, call: Call = Call.BETTER) -> str:
    """A verdict on these values of disk and memory."""
    effect = Effect(b / a, b / a / 1.25, b / a * 1.25, 4)
    finding = Comparison(
        parse_quantity(metric), "disk", "memory", 4, a, b, effect, _verdict(call, 4, "why not")
    )
    return _say(finding).removeprefix("At 4 users, ").split(" The ratio")[0]


@pytest.mark.parametrize(
    ("metric", "a", "b", "call", "expected"),
    [
        (
            "tpm", 1000.0, 2500.0, Call.BETTER,
            "memory is better than disk: it completed 2.5 times as many transactions. "
            "The transactions per minute of memory and disk were 2,500 and 1,000.",
        ),
        (
            "p99 of payment", 0.05, 0.024, Call.BETTER,
            "memory is better than disk: its p99 of payment was 0.48 times as long. "
            "The 99th percentile of response time of payment was 24.0 ms on memory and 50.0 ms on "
            "disk.",
        ),
        (
            "block.reads_per_s of sda", 571.0, 1200.0, Call.HIGHER,
            "memory has more than disk: its reads per second of the block devices (sda) came to "
            "2.1 times as much. The reads per second of the block devices (sda) came to 1,200/s on "
            "memory and 571/s on disk.",
        ),
        (
            "block.utilisation_share", 0.9, 0.45, Call.LOWER,
            "memory has less than disk: its utilisation of the block devices was 0.50 times as "
            "much. The utilisation of the block devices was 45 % on memory and 90 % on disk.",
        ),
        (
            "database.wal_bytes_per_s", 2.0**20, 2.0**21, Call.HIGHER,
            "memory has more than disk: its WAL bytes per second of the database came to 2.0 times "
            "as much. The WAL bytes per second of the database came to 2 MiB/s on memory and 1 "
            "MiB/s on disk.",
        ),
        (
            "drive.flush_p99.9", 0.004, 0.001, Call.BETTER,
            "memory is better than disk: its 99.9th percentile of the emulated drive's flush time "
            "was 0.25 times as long. The 99.9th percentile of the emulated drive's flush time was "
            "1.00 ms on memory and 4.00 ms on disk.",
        ),
    ],
)  # fmt: skip
def test_every_kind_of_quantity_has_a_sentence(
    metric: str, a: float, b: float, call: Call, expected: str
) -> None:
    """Work is counted, times are long, shares and rates are much."""
    assert _said_of(metric, a, b, call) == expected


def test_a_single_candidate_is_told_without_comparison() -> None:
    """One window and several are counted in words and figures."""
    limits = Limits(13, (("disk", _cause("log", 0.6)),))
    assert _say(Alone("disk", 13, 4593.0, 0.159, 1, limits)) == (
        "At 13 users, disk completed 4,593 new orders per minute in one window; the commit log "
        "limited disk. Its p95 response time was 159 ms. There is no second candidate to compare "
        "it with."
    )
    assert "in 3 windows" in _say(Alone("disk", 13, 4593.0, None, 3))
    assert "p95" not in _say(Alone("disk", 13, 4593.0, None, 3))


def test_growth_names_every_candidate_and_the_unknown_ones() -> None:
    """Growth and decline have their own verbs."""
    said = _say(Growth(1, 13, (("disk", 4.3), ("memory", 0.8), ("tape", None))))
    assert said == (
        "From 1 to 13 users, the new orders per minute of disk grew to 4.3 times and memory fell "
        "to 0.80 times; of tape it is not known, for want of valid windows."
    )


def _cause(limit: str, share: float | None, windows: int = 4, says: str = "") -> Cause:
    return Cause(limit, share, windows, 4, says, 0.2, True)


def test_what_is_not_told_by_one_limit_says_what_was_seen_or_is_missing() -> None:
    """Neither is a claim that nothing limited."""
    mixed = _cause("several", None, says="the server's CPU was busy 66 % of the time")
    blind = _cause("unknown", None, says="the load driver could not be judged")
    assert _say(Limits(1, (("sata", mixed), ("nvme", blind)))) == (
        "At 1 user, nothing by itself limited sata (the server's CPU was busy 66 % of the time); "
        "it is not determined what limited nvme (the load driver could not be judged)."
    )


def test_values_that_lie_the_other_way_than_the_blocks_are_told_as_such() -> None:
    """A mean over windows, or a merged percentile, may: nobody may take it for a slip."""
    effect = Effect(1.2, 1.05, 1.4, 4)
    said = _say(_nopm(effect, 1010, 1000, verdict=_verdict(Call.BETTER, 4)))
    assert "memory is better than disk: it completed 1.20 times as many new orders" in said
    assert "were 1,000 and 1,010. The ratio is that of the blocks; all windows together lie" in said


def test_values_that_differ_are_not_said_to_be_equal() -> None:
    """With as many digits as it takes."""
    effect = Effect(1.00008, 1.00002, 1.0002, 20)
    said = _say(_nopm(effect, 5000.1, 5000.4, verdict=_verdict(Call.NEGLIGIBLE, 20)))
    assert "were 5000.4 and 5000.1. " in said
    assert "between 1.00002 and 1.00020" in said


def test_the_ends_of_an_interval_are_never_nothing_and_never_endless() -> None:
    """Two blocks that differ by thousands give such a one."""
    few = _verdict(Call.UNDECIDED, 2, "2 blocks, at least 4 are needed")
    said = _say(_nopm(Effect(30.0, 1e-9, 1e12, 2), 100, 3000, verdict=few))
    assert (
        "is 30, between under 0.001 and over 1,000,000 (plain 95 % t intervals, 2 blocks)." in said
    )


def _limited(*, metric: str = "nopm", ratio: float = 1.13, **causes: Cause) -> str:
    """The first sentence of a verdict on sata and nvme that these limited."""
    call = Call.BETTER if (metric == "nopm") == (ratio > 1) else Call.WORSE
    finding = Comparison(
        parse_quantity(metric), "sata", "nvme", 1500, 1.0, ratio,
        Effect(ratio, ratio / 1.01, ratio * 1.01, 4), _verdict(call, 4),
        limits=Limits(1500, tuple(causes.items())),
    )  # fmt: skip
    return _say(finding).split(". ")[0]


def _busy(share: float, limit: str = "server-cpu") -> Cause:
    return replace(_cause(limit, share), cpus="server-cpu", cpus_share=share)


def test_a_throughput_against_full_cpus_is_a_floor() -> None:
    """From 85 % on, on either side: better storage could not have shown more."""
    told = "At 1,500 users, nvme is better than sata: it completed at least 1.13 times as many new "
    told += "orders; the server's CPUs limited "
    assert _limited(sata=_busy(0.7, "log"), nvme=_busy(0.96)) == f"{told}nvme"
    assert _limited(sata=_busy(0.87), nvme=_busy(0.96)) == f"{told}both"
    assert _limited(sata=_busy(0.87), nvme=_busy(0.84, "log")) == f"{told}sata"
    assert "at least" not in _limited(sata=_busy(0.7, "log"), nvme=_busy(0.84))
    assert "at most 0.80 times" in _limited(ratio=0.8, sata=_busy(0.87), nvme=_busy(0.5))
    assert "at least" not in _limited(metric="p95", ratio=0.8, sata=_busy(0.9), nvme=_busy(0.9))


@pytest.mark.parametrize(
    ("sata", "nvme", "said"),
    [
        ("device-rate", "users", "device saturation limited sata, user count limited nvme"),
        ("device-latency", "device-latency", "storage latency limited both"),
        (
            "several",
            "unknown",
            "several resources limited sata, unknown factors limited nvme",
        ),
    ],
)
def test_the_first_sentence_names_what_limited_and_is_short(
    sata: str, nvme: str, said: str
) -> None:
    """In at most 25 words, whatever it was."""
    first = _limited(sata=_cause(sata, 0.9), nvme=_cause(nvme, 0.9))
    assert first.endswith(f"; {said}")
    times = _limited(metric="p95", ratio=0.16, sata=_cause(sata, 0.9), nvme=_cause(nvme, 0.9))
    assert times.endswith(f"; {said}")
    assert max(len(each.split()) for each in (first, times)) <= 25


@pytest.mark.parametrize(
    ("metric", "ratio", "said"),
    [
        (P95, 1 / 171, "its p95 response time was 171 times shorter"),
        (NOPM, 1 / 171, "it completed 171 times fewer new orders"),
        (NOPM, 0.5, "it completed 0.50 times as many new orders"),
    ],
)
def test_a_ratio_too_small_to_read_is_turned(metric: Quantity, ratio: float, said: str) -> None:
    """0.0058 times as long says nothing to anybody; a bound turns with it."""
    assert wording.against(metric, "it", ratio) == said
    if ratio < 0.1:
        bounded = wording.against(metric, "it", ratio, bound="at most ")
        assert "at least 171 times" in bounded
