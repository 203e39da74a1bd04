"""Findings as sentences: number, direction, and never beyond the evidence."""

from dataclasses import replace

import pytest

from stithy.analysis.answers.findings import Alone, Comparison, Growth, Limits, Nothing
from stithy.analysis.limits.level import Cause
from stithy.analysis.verdict.decide import Call, Verdict
from stithy.analysis.verdict.effect import Effect, no_effect
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
    said = _say(_nopm(Effect(3.087, None, None, 1), 4593, 14178))
    assert said == (
        "At 13 users, memory completed 3.1 times as many new orders per minute as disk "
        "(14,178 against 4,593); undecided: 1 block, at least 4 are needed."
    )


def test_the_direction_is_turned_so_that_the_factor_is_above_one() -> None:
    """A ratio of a half is told as twice, with the candidates the other way round."""
    said = _say(_nopm(Effect(0.5, None, None, 1), 4000, 2000, users=1))
    assert said.startswith("At 1 user, disk completed 2.0 times as many")
    assert "(4,000 against 2,000)" in said


def test_a_few_blocks_give_a_plain_interval_that_is_called_so() -> None:
    """It is right for someone who looks once, and no verdict."""
    few = _verdict(Call.UNDECIDED, 3, "3 blocks, at least 4 are needed")
    said = _say(_nopm(Effect(0.5, 0.4, 0.625, 3), 4000, 2000, verdict=few))
    assert said == (
        "At 13 users, disk completed 2.0 times as many new orders per minute as memory "
        "(4,000 against 2,000); undecided: 3 blocks, at least 4 are needed (plain t interval of "
        "the ratio of disk to memory: 1.60 to 2.50)."
    )


def test_a_plain_interval_that_holds_one_takes_the_claim_away() -> None:
    """No direction is claimed where even it includes 1."""
    few = _verdict(Call.UNDECIDED, 3, "3 blocks, at least 4 are needed")
    said = _say(_nopm(Effect(1.3, 0.9, 1.9, 3), 1000, 1300, verdict=few))
    assert said.startswith(
        "At 13 users, the new orders per minute of memory and disk were not distinguishable "
        "(1,300 and 1,000); undecided: "
    )
    assert "times as many" not in said


@pytest.mark.parametrize(
    ("ratio", "call", "name"),
    [(2.0, Call.BETTER, "memory"), (0.5, Call.WORSE, "disk")],
)
def test_a_verdict_names_who_is_better_with_ratio_and_interval(
    ratio: float, call: Call, name: str
) -> None:
    """Whichever of the two it is, with the larger first."""
    other = "disk" if name == "memory" else "memory"
    effect = Effect(ratio, ratio / 1.25, ratio * 1.25, 6)
    said = _say(_nopm(effect, 1000, 1000 * ratio, verdict=_verdict(call, 6)))
    assert said.startswith(
        f"At 13 users, {name} is better: {name} completed 2.0 times as many new orders per minute "
        f"as {other} ("
    )
    assert said.endswith(
        f"; ratio of {name} to {other} between 1.60 and 2.50 (conservative 95 % interval, "
        "6 blocks)."
    )


def test_equivalence_is_told_with_its_margin_and_a_fine_interval() -> None:
    """Two digits behind the point would make bounds of 1.00 of it."""
    effect = Effect(1.002, 0.991, 1.013, 16)
    said = _say(_nopm(effect, 1000, 1002, verdict=_verdict(Call.EQUIVALENT, 16)))
    assert said == (
        "At 13 users, disk and memory are equivalent within 2 %: the new orders per minute of "
        "memory and disk were 1,002 and 1,000; ratio of memory to disk between 0.991 and 1.013 "
        "(conservative 95 % interval, 16 blocks)."
    )


def test_a_difference_within_the_margin_is_called_negligible() -> None:
    """It is there, and nobody need care."""
    effect = Effect(1.01, 1.005, 1.015, 20)
    said = _say(_nopm(effect, 1000, 1010, verdict=_verdict(Call.NEGLIGIBLE, 20)))
    assert "disk and memory differ, but negligibly, by less than 2 %: " in said
    assert "between 1.005 and 1.015" in said


def test_what_blocks_cannot_tell_is_undecided_with_its_interval() -> None:
    """The interval stands there always, and the reason beside it."""
    effect = Effect(1.3, 0.9, 1.9, 6)
    said = _say(_nopm(effect, 1000, 1300, verdict=_verdict(Call.UNDECIDED, 6, "why not")))
    assert said == (
        "At 13 users, it is undecided which of disk and memory is better: the new orders per "
        "minute of memory and disk were 1,300 and 1,000; ratio of memory to disk between 0.900 "
        "and 1.900 (conservative 95 % interval, 6 blocks); why not."
    )


@pytest.mark.parametrize("ratio", [0.93, 1.0, 1.09])
def test_small_differences_of_single_windows_are_not_claimed(ratio: float) -> None:
    """Below a tenth one window each cannot tell the candidates apart."""
    said = _say(_nopm(Effect(ratio, None, None, 1), 1000, 1000 * ratio))
    assert "were too close to tell apart" in said
    assert said.endswith("; undecided: 1 block, at least 4 are needed.")


def test_no_ratio_gives_the_reason() -> None:
    """What cannot be compared says why."""
    effect = no_effect("memory has no window")
    finding = Comparison(NOPM, "disk", "memory", 4, 1.0, None, effect, ONE)
    assert _say(finding) == "At 4 users, disk and memory cannot be compared: memory has no window."


def test_another_level_than_that_asked_about_says_so() -> None:
    """A reader must not take it for the answer."""
    finding = _nopm(Effect(3.0, None, None, 1), 1000, 3000, users=4)
    said = _say(replace(finding, instead_of=13))
    assert said.startswith("At 4 users, as no block at 13 users has valid values of both, memory")


def test_response_times_are_told_by_who_waited_longer() -> None:
    """Times are durations; the longer one comes first."""
    finding = Comparison(
        P95, "disk", "memory", 13, 0.159, 0.0515,
        Effect(0.324, 0.2, 0.5, 4), _verdict(Call.BETTER, 4),
    )  # fmt: skip
    assert _say(finding) == (
        "At 13 users, memory is better: the 95th percentile of response time was 3.1 times as long "
        "on disk as on memory (159 ms against 51.5 ms); ratio of disk to memory between 2.0 and "
        "5.0 (conservative 95 % interval, 4 blocks)."
    )


def _said_of(metric: str, a: float, b: float, call: Call = Call.BETTER) -> str:
    """A verdict on these values of disk and memory."""
    effect = Effect(b / a, b / a / 1.25, b / a * 1.25, 4)
    finding = Comparison(
        parse_quantity(metric), "disk", "memory", 4, a, b, effect, _verdict(call, 4, "why not")
    )
    return _say(finding).removeprefix("At 4 users, ").split("; ratio")[0]


@pytest.mark.parametrize(
    ("metric", "a", "b", "call", "expected"),
    [
        (
            "tpm", 1000.0, 2500.0, Call.BETTER,
            "memory is better: memory completed 2.5 times as many transactions per minute as disk "
            "(2,500 against 1,000)",
        ),
        (
            "p99 of payment", 0.05, 0.024, Call.BETTER,
            "memory is better: the 99th percentile of response time of payment was 2.1 times as "
            "long on disk as on memory (50.0 ms against 24.0 ms)",
        ),
        (
            "block.reads_per_s of sda", 571.0, 1200.0, Call.HIGHER,
            "memory has more than disk: the reads per second of the block devices (sda) came to "
            "2.1 times as much on memory as on disk (1,200/s against 571/s)",
        ),
        (
            "block.utilisation_share", 0.9, 0.45, Call.LOWER,
            "disk has more than memory: the utilisation of the block devices was 2.0 times as much "
            "on disk as on memory (90 % against 45 %)",
        ),
        (
            "pressure.some_share of io", 0.4, 0.1, Call.BETTER,
            "memory is better: the share of time in which a task waited (io) was 4.0 times as much "
            "on disk as on memory (40 % against 10 %)",
        ),
        (
            "database.wal_bytes_per_s", 2.0**20, 2.0**21, Call.HIGHER,
            "memory has more than disk: the WAL bytes per second of the database came to 2.0 times "
            "as much on memory as on disk (2 MiB/s against 1 MiB/s)",
        ),
        (
            "drive.flush_p99.9", 0.004, 0.001, Call.BETTER,
            "memory is better: the 99.9th percentile of the emulated drive's flush time was 4.0 "
            "times as long on disk as on memory (4.00 ms against 1.00 ms)",
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
        "it is undecided which of disk and memory has more: the queue length of the block devices "
        "came to 2.6 on memory and 2 on disk"
    )


def test_a_percentile_without_a_ratio_is_told_with_its_values_and_the_reason() -> None:
    """What was measured is there, what it does not support is not claimed."""
    effect = no_effect("p95 needs 2,000 values in a window, and one has 850")
    finding = Comparison(P95, "disk", "memory", 1, 0.159, 0.0515, effect, ONE)
    assert _say(finding) == (
        "At 1 user, the 95th percentile of response time was 159 ms on disk and 51.5 ms on memory, "
        "which cannot be compared: p95 needs 2,000 values in a window, and one has 850."
    )


def test_a_single_candidate_is_told_without_comparison() -> None:
    """One window and several are counted in words and figures."""
    said = _say(Alone("disk", 13, 4593.0, 0.159, 1))
    assert "in one window; there is no second candidate" in said
    assert "in 3 windows" in _say(Alone("disk", 13, 4593.0, None, 3))
    assert "95th" not in _say(Alone("disk", 13, 4593.0, None, 3))


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
    claim = "memory completed 1.20 times as many new orders per minute as disk, block by block"
    assert claim in said
    assert "though not over all windows (1,000 against 1,010); ratio of memory to disk" in said


def test_values_that_differ_are_not_said_to_be_equal() -> None:
    """With as many digits as it takes."""
    effect = Effect(1.00008, 1.00002, 1.0002, 20)
    said = _say(_nopm(effect, 5000.1, 5000.4, verdict=_verdict(Call.NEGLIGIBLE, 20)))
    assert "were 5000.4 and 5000.1; ratio of memory to disk between 1.00002 and 1.00020" in said


def test_the_ends_of_an_interval_are_never_nothing_and_never_endless() -> None:
    """Two blocks that differ by thousands give such a one."""
    few = _verdict(Call.UNDECIDED, 2, "2 blocks, at least 4 are needed")
    said = _say(_nopm(Effect(30.0, 1e-9, 1e12, 2), 100, 3000, verdict=few))
    assert said.endswith("interval of the ratio of memory to disk: under 0.001 to over 1,000,000).")


def test_growth_that_is_none_is_no_growth() -> None:
    """Nobody grows to 1.00 times."""
    said = _say(Growth(4, 13, (("disk", 0.998), ("memory", 1.2))))
    assert "of disk stayed within 0.5 % and memory grew to 1.20 times" in said
