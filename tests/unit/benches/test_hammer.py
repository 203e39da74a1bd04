"""How the bench judges: targets, medians, and what makes a result count for nothing."""

from dataclasses import replace

import pytest

import hammer
import kept
from measurements import Drive
from references import RoundTrips

DRIVE = Drive(
    nopm=60_000,
    tpm=133_000,
    cpu_us_per_transaction=8.0,
    cpu_us_per_transaction_measured=7.5,
    errors=0,
    retries=0,
    response_p95_ms={"new-order": 9.0},
)
ROUND = hammer.Round(
    reads=RoundTrips(cpu_us_per_round_trip=5.0, tps=40_000),
    bank_tps=3_000,
    calls=RoundTrips(cpu_us_per_round_trip=16.0, tps=4_000),
    drive=DRIVE,
    plain=replace(DRIVE, cpu_us_per_transaction=90.0),
)
LOAD = hammer.Load(prepare_s=4.0, copy_s=4.0)


def test_ratios_are_of_the_medians() -> None:
    """One slow round of three changes nothing."""
    slow = replace(ROUND, drive=replace(DRIVE, nopm=1.0, cpu_us_per_transaction=900.0))
    ratios = [line.ratio for line in hammer.compare([ROUND, slow, ROUND], [LOAD])]
    assert ratios == [1.6, 0.5, None, 20.0, 1.0]


def test_a_line_without_a_target_is_only_there_to_be_read() -> None:
    """The like for the like is shown and judges nothing."""
    dear = replace(ROUND, calls=RoundTrips(cpu_us_per_round_trip=1.0, tps=4_000))
    lines = hammer.compare([dear], [LOAD])
    assert [line.met for line in lines] == [True, None, True, True, True]


@pytest.mark.parametrize(
    ("each", "load"),
    [
        (replace(ROUND, drive=replace(DRIVE, cpu_us_per_transaction=8.1)), LOAD),
        (replace(ROUND, plain=replace(DRIVE, cpu_us_per_transaction=120.1)), LOAD),
        (replace(ROUND, drive=replace(DRIVE, nopm=59_999)), LOAD),
        (ROUND, replace(LOAD, prepare_s=5.1)),
    ],
)
def test_a_missed_target_is_a_failure(each: hammer.Round, load: hammer.Load) -> None:
    """Each of the four counts."""
    lines = hammer.compare([each], [load])
    assert [line.met for line in lines].count(False) == 1
    assert hammer.verdict(lines, [each], broken=[]) == kept.TARGET_MISSED


def test_broken_conditions_and_errors_outweigh_every_target() -> None:
    """A fast wrong answer is worth nothing."""
    lines = hammer.compare([ROUND], [LOAD])
    failing = [replace(ROUND, drive=replace(DRIVE, errors=1))]
    assert hammer.verdict(lines, [ROUND], broken=[]) == 0
    assert hammer.verdict(lines, [ROUND], broken=[3]) == kept.NOT_VALID
    assert hammer.verdict(lines, failing, broken=[]) == kept.NOT_VALID
