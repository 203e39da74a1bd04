"""How the bench judges: targets, medians, and what makes a result count for nothing."""

from dataclasses import replace

import pytest

import hammer
from measurements import Drive, RoundTrips

DRIVE = Drive(
    nopm=60_000,
    tpm=133_000,
    cpu_us_per_transaction=14.0,
    cpu_us_per_transaction_measured=13.0,
    errors=0,
    retries=0,
    response_p95_ms={"new-order": 9.0},
)
ROUND = hammer.Round(RoundTrips(cpu_us_per_round_trip=7.0, tps=40_000), bank_tps=3_000, drive=DRIVE)
LOAD = hammer.Load(prepare_s=4.0, copy_s=8.0)


def test_ratios_are_of_the_medians() -> None:
    """One slow round of three changes nothing."""
    slow = replace(ROUND, drive=replace(DRIVE, nopm=1.0, cpu_us_per_transaction=900.0))
    cpu, orders, load = hammer.compare([ROUND, slow, ROUND], [LOAD])
    assert (cpu.ratio, orders.ratio, load.ratio) == (2.0, 20.0, 0.5)


@pytest.mark.parametrize(
    ("drive", "loads"),
    [
        (replace(DRIVE, cpu_us_per_transaction=28.1), LOAD),
        (replace(DRIVE, nopm=44_999), LOAD),
        (DRIVE, replace(LOAD, prepare_s=16.1)),
    ],
)
def test_a_missed_target_is_a_failure(drive: Drive, loads: hammer.Load) -> None:
    """Each of the three counts."""
    rounds = [replace(ROUND, drive=drive)]
    lines = hammer.compare(rounds, [loads])
    assert [line.met for line in lines].count(False) == 1
    assert hammer.verdict(lines, rounds, broken=[]) == hammer.TARGET_MISSED


def test_broken_conditions_and_errors_outweigh_every_target() -> None:
    """A fast wrong answer is worth nothing."""
    lines = hammer.compare([ROUND], [LOAD])
    failing = [replace(ROUND, drive=replace(DRIVE, errors=1))]
    assert hammer.verdict(lines, [ROUND], broken=[]) == 0
    assert hammer.verdict(lines, [ROUND], broken=[3]) == hammer.NOT_VALID
    assert hammer.verdict(lines, failing, broken=[]) == hammer.NOT_VALID
