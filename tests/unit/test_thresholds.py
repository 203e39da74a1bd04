"""What a threshold is, and how it is written."""

import pytest

from stithy.metrics import Unit
from stithy.thresholds import RELATIONS, Constant, MeasuredValue, Threshold, decimal


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.005, "5 ms"),
        (0.0005, "500 us"),
        (0.1, "100 ms"),
        (3e-6, "3 us"),
        (1.5, "1.5 s"),
        (90.0, "90 s"),
    ],
)
def test_a_duration_is_written_in_the_unit_that_fits_its_size(value: float, expected: str) -> None:
    """So that a report shows it as the study has it."""
    assert str(Constant(value, "s")) == expected


def test_a_number_is_written_without_an_exponent() -> None:
    """The grammar has none."""
    assert decimal(1e-7) == "0.0000001"
    assert decimal(6000.0) == "6000"
    assert decimal(1e22) == "10000000000000000000000"


def test_a_threshold_is_written_as_a_study_has_it() -> None:
    """Factor, candidate, transaction type, metric, level."""
    value = MeasuredValue("log-on-nvme", "p95", 13, "payment", 1.2)
    threshold = Threshold(Constant(0.005, "s"), ">=", value)
    assert str(threshold) == "5 ms >= 1.2 * log-on-nvme.payment.p95_at_13"


@pytest.mark.parametrize("relation", RELATIONS)
def test_only_relations_with_an_equals_sign_hold_of_equal_values(relation: str) -> None:
    """At the threshold itself `>=` and `<=` are met, `>` and `<` are not."""
    one = Constant(1.0, "s")
    threshold = Threshold(one, relation, one)  # type: ignore[arg-type]  # parametrised over all
    assert threshold.holds(1.0, 1.0) == relation.endswith("=")


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (2.0**26, "B/s", "64 MiB/s"),
        (2.0**30, "B", "1 GiB"),
        (1000.0, "B", "1000 B"),
        (0.125, "share", "12.5%"),
        (0.9, "share", "90%"),
        (1 / 3, "share", "0.3333333333333333"),
        (5000.0, "1/s", "5000"),
        (8.0, "", "8"),
    ],
)
def test_a_constant_is_written_in_the_unit_that_gives_it_exactly(
    value: float, unit: Unit, expected: str
) -> None:
    """So that it is read back as the same."""
    assert str(Constant(value, unit)) == expected
