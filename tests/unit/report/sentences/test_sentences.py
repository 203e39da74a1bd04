"""Findings as sentences: number, direction, and never beyond the evidence."""

from dataclasses import replace

import pytest

from stithy.analysis.answers.findings import Alone, Comparison, Growth, Limits, Nothing
from stithy.analysis.limits.level import Cause
from stithy.analysis.verdict.decide import Call, Verdict
from stithy.analysis.verdict.effect import Difference, Effect, no_effect
from stithy.metrics import NOPM, P95, parse_quantity
from stithy.report.parts.answer import sentences


def _say(finding: Alone | Comparison | Growth | Limits | Nothing) -> str:
    return sentences([finding], "user")[0]


ONE = Verdict(Call.UNDECIDED, 1, 0.02, "1 block, at least 4 are needed")


def _nopm(
    effect: Effect, a: float, b: float, users: int = 13, verdict: Verdict = ONE
) -> Comparison:
    return Comparison(NOPM, "disk", "memory", users, a, b, effect, verdict)


def _verdict(call: Call, blocks: int, because: str | None = None) -> Verdict:
    return Verdict(call, blocks, 0.02, because)


def test_one_window_each_is_said_to_decide_nothing() -> None:
    """A ratio of two windows is told with what it rests on."""
    said = _say(_nopm(Effect(3.087, None, None, 1, difference=Difference(9585.0)), 4593, 14178))
    assert said == (
        "At 13 users, memory completed 3.1 times as many new orders as disk "
        "(not tested, 1 block). The new orders per minute of memory and disk were "
        "14,178 and 4,593, a mean difference within blocks of +9,585. "
        "A test needs at least 4 blocks."
    )


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


def test_differences_stand_beside_ratios_with_their_intervals() -> None:
    """Whoever waits, waits milliseconds."""
    less = Difference(-0.107, -0.12, -0.094)
    effect = Effect(0.324, 0.3, 0.35, 4, difference=less)
    finding = Comparison(P95, "disk", "memory", 13, 0.159, 0.0515, effect, _verdict(Call.BETTER, 4))
    assert (
        ", a mean difference within blocks of \N{MINUS SIGN}107 ms "
        "(\N{MINUS SIGN}120 ms to \N{MINUS SIGN}94.0 ms)." in _say(finding)
    )


def test_a_few_blocks_give_a_plain_interval_that_is_called_so() -> None:
    """It is right for someone who looks once, and no verdict."""
    few = _verdict(Call.UNDECIDED, 3, "3 blocks, at least 4 are needed")
    said = _say(_nopm(Effect(0.5, 0.4, 0.625, 3), 4000, 2000, verdict=few))
    assert said == (
        "At 13 users, memory completed 0.50 times as many new orders as disk "
        "(not tested, 3 blocks). The new orders per minute of memory and disk were "
        "2,000 and 4,000. The ratio of memory to disk is 0.50, between 0.40 and 0.62 (plain 95 % t "
        "intervals, 3 blocks). A test needs at least 4 blocks."
    )


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


def test_equivalence_is_told_with_its_margin_and_a_fine_interval() -> None:
    """Two digits behind the point would make bounds of 1.00 of it."""
    effect = Effect(1.002, 0.991, 1.013, 16)
    said = _say(_nopm(effect, 1000, 1002, verdict=_verdict(Call.EQUIVALENT, 16)))
    assert said == (
        "At 13 users, disk and memory are equivalent within 2 % in new orders per minute. The new "
        "orders per minute of memory and disk were 1,002 and 1,000. The ratio of memory to disk is "
        "1.002, between 0.991 and 1.013 (conservative 95 % intervals, 16 blocks)."
    )


def test_a_difference_within_the_margin_is_called_negligible() -> None:
    """It is there, and nobody need care."""
    effect = Effect(1.01, 1.005, 1.015, 20)
    said = _say(_nopm(effect, 1000, 1010, verdict=_verdict(Call.NEGLIGIBLE, 20)))
    assert "disk and memory differ by less than 2 % in new orders per minute. " in said
    assert "between 1.005 and 1.015" in said


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


@pytest.mark.parametrize("ratio", [0.93, 1.0, 1.09])
def test_small_differences_of_single_windows_are_not_claimed(ratio: float) -> None:
    """Below a tenth one window each cannot tell the candidates apart."""
    said = _say(_nopm(Effect(ratio, None, None, 1), 1000, 1000 * ratio))
    assert (
        "disk and memory differ by less than 10 % in new orders per minute (not tested, 1 block)"
        in said
    )
    assert "undecided" not in said


def test_no_ratio_gives_the_reason() -> None:
    """What cannot be compared says why."""
    effect = no_effect("memory has no window")
    finding = Comparison(NOPM, "disk", "memory", 4, 1.0, None, effect, ONE)
    assert _say(finding) == "At 4 users, disk and memory cannot be compared: memory has no window."


def test_another_level_than_that_asked_about_says_so() -> None:
    """A reader must not take it for the answer."""
    finding = _nopm(Effect(3.0, None, None, 1), 1000, 3000, users=4)
    said = _say(replace(finding, instead_of=13))
    assert said.startswith("At 4 users (no block at 13 users has valid values of both), memory")


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


def test_what_is_neither_good_nor_bad_is_undecided_about_who_has_more() -> None:
    """Nobody is better by it."""
    said = _said_of("block.queue_length", 2.0, 2.6, Call.UNDECIDED)
    assert said == (
        "it is undecided which of disk and memory has more in queue length of the block devices. "
        "The queue length of the block devices came to 2.6 on memory and 2 on disk."
    )


def test_a_percentile_without_a_ratio_is_told_with_its_values_and_the_reason() -> None:
    """What was measured is there, what it does not support is not claimed."""
    effect = no_effect("p95 needs 2,000 values in a window, and one has 850")
    finding = Comparison(P95, "disk", "memory", 1, 0.159, 0.0515, effect, ONE)
    assert _say(finding) == (
        "At 1 user, disk and memory cannot be compared: p95 needs 2,000 values in a window, and "
        "one has 850. The 95th percentile of response time was 51.5 ms on memory and 159 ms on "
        "disk."
    )


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


def test_growth_of_many_tells_the_least_and_the_most() -> None:
    """A sentence of twenty-six numbers is read by nobody."""
    factors = tuple((f"c{number}", 2.0 + number / 10) for number in range(6))
    said = _say(Growth(1, 4, (*factors, ("tape", None))))
    assert said == (
        "From 1 to 4 users, the new orders per minute of c0 grew to 2.0 times and c5 grew to 2.5 "
        "times, those of the other 4 lie between; of tape it is not known, for want of valid "
        "windows."
    )


def test_growth_names_every_candidate_and_the_unknown_ones() -> None:
    """Growth and decline have their own verbs."""
    said = _say(Growth(1, 13, (("disk", 4.3), ("memory", 0.8), ("tape", None))))
    assert said == (
        "From 1 to 13 users, the new orders per minute of disk grew to 4.3 times and memory fell "
        "to 0.80 times; of tape it is not known, for want of valid windows."
    )


def _cause(limit: str, share: float | None, windows: int = 4, says: str = "") -> Cause:
    return Cause(limit, share, windows, 4, says, 0.2, True)


def test_candidates_of_one_limit_are_named_together_with_their_shares() -> None:
    """Each with how much of the bound it reached; other limits come after."""
    cpu, full = _cause("server-cpu", 0.866), _cause("server-cpu", 0.96, windows=3)
    said = _say(Limits(4, (("sata", cpu), ("nvme", full), ("disk", _cause("log", 0.62)))))
    assert said == (
        "At 4 users, the CPUs of the server limited sata (busy 87 % of the time) and nvme (busy "
        "96 % of the time, in 3 of 4 windows); the commit log limited disk (62 % of the users' "
        "time)."
    )


def test_what_is_not_told_by_one_limit_says_what_was_seen_or_is_missing() -> None:
    """Neither is a claim that nothing limited."""
    mixed = _cause("several", None, says="the server's CPU was busy 66 % of the time")
    blind = _cause("unknown", None, says="the load driver could not be judged")
    assert _say(Limits(1, (("sata", mixed), ("nvme", blind)))) == (
        "At 1 user, nothing by itself limited sata (the server's CPU was busy 66 % of the time); "
        "it is not determined what limited nvme (the load driver could not be judged)."
    )


def test_an_open_loop_is_limited_by_its_rate_and_a_late_driver_by_no_share() -> None:
    """Where nobody waits for an answer, the number of users limits nothing."""
    asked = Limits(4, (("sata", _cause("users", 1.0)),), is_open=True)
    assert sentences([asked], "connection") == (
        "At 4 connections, the rate that was asked for limited sata.",
    )
    assert _say(Limits(4, (("sata", _cause("driver", 1.0)),))) == (
        "At 4 users, the load driver limited sata."
    )


def test_no_answer_says_why() -> None:
    """A run without valid windows answers nothing."""
    because = "no window is valid (2 by “errors”)"
    assert _say(Nothing(because)) == f"This run gives no answer: {because}."


def test_levels_of_an_open_loop_are_connections() -> None:
    """At a rate there are no users to speak of."""
    finding = Alone("disk", 32, 4593.0, None, 1)
    assert sentences([finding], "connection")[0].startswith("At 32 connections, disk completed ")


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


def test_growth_that_is_none_is_no_growth() -> None:
    """Nobody grows to 1.00 times."""
    said = _say(Growth(4, 13, (("disk", 0.998), ("memory", 1.2))))
    assert "of disk stayed within 0.5 % and memory grew to 1.20 times" in said


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


def test_where_nothing_was_watched_the_first_sentence_says_so() -> None:
    """Nobody may think that storage limited."""
    assert _limited().endswith("; the bottleneck was not observed")
