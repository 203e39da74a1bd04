"""Durations, sizes, rates and shares are read as people write them, and back."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy import units
from stithy.metrics import Unit
from stithy.thresholds import RELATIONS, Constant, MeasuredSide, Threshold, format_decimal
from stithy.units import format_duration, format_size, parse_duration
from support.points import at

READ: dict[str, dict[str, float]] = {
    "duration": {"90s": 90, "2 min": 120, "500 ms": 0.5, "1.5 h": 5400, " 20  S ": 20,
                 "1 d": 86400, "3 us": 3e-6, "1 h 30 min": 5400, "2m5s": 125},
    "size": {"1 GiB": 2**30, "384MB": 384_000_000, "512 KiB": 2**19, "1kB": 1000,
             "0.5 TiB": 2**39, "7 B": 7, "100M": 100 * 2**20, "64m": 2**26, "8k": 8192, "1G": 2**30,
             "2 T": 2**41},
    "percent": {"0%": 0, "50 %": 50, " 100% ": 100},
    "fine_percent": {"2%": 2, "1.5 %": 1.5, "0.125%": 0.125},
    "rate": {"500/s": 500, "600 / min": 10, "0.25/s": 0.25},
}  # fmt: skip
REFUSED: dict[str, tuple[str, list[object]]] = {
    "duration": (r"such as 5 s|use us, ms", ["", "5", "s", "-1 s", "1e3 s", "1 fortnight", None,
                                             "5 s x", "5 s, 2 min", "9" * 308 + " d"]),
    "size": (r"such as 1 GiB|use KiB", ["", "5", 5, "-1 B", "1 parsec", "9" * 400, "1,5 GiB",
                                        "1 GiB 5 MiB", "9" * 400 + "B", "9" * 308 + " TB"]),
    "percent": (r"such as 50%", ["50", 50, "101%", "-1%", "2.5%", "%", True]),
    "fine_percent": (r"such as 2% or 1\.5%", ["1.5", 1.5, "100.1%", "-1%", "1.%", "1,5%", "٣%"]),
    "rate": (r"such as 500/s", ["500", 500, "500/", "/s", "-5/s", "5/parsec", None,
                                "9" * 308 + "/us"]),
}  # fmt: skip
SHOWN: dict[str, dict[float, str]] = {
    "duration": {0: "0 s", 0.00085: "850 µs", 0.9996: "1 s", 0.99962e-3: "1 ms", 59.96: "1 min",
                 0.0123: "12.3 ms", 3.4: "3.4 s", 125: "2 min 5 s", 4200: "1 h 10 min",
                 -12e-6: "-12 µs", -3e-7: "0 µs", -0.25: "-250 ms"},
    "measured_duration": {0: "0 s", 0.00085: "850 µs", 0.0009996: "1.00 ms", 0.0045: "4.50 ms",
                          0.009996: "10.0 ms", 0.09996: "100 ms", 0.9996: "1.00 s", 20: "20.0 s",
                          59.96: "1 min", -0.25: "-250 ms"},
    "scale": {1: "1", 8: "1/8"},
    "percent": {0.02: "2%", 0.333: "33.3%", 0.00125: "0.125%"},
    "rate": {500: "500/s", 0.25: "0.25/s", 12000: "12,000/s"},
}  # fmt: skip


def _function(name: str) -> Callable[[Any], Any]:
    found: Callable[[Any], Any] = getattr(units, name)
    return found


@pytest.mark.parametrize("kind", READ)
def test_a_quantity_becomes_its_base_unit(kind: str) -> None:
    """With or without a space, in any case; binary units are powers of 1024, others of 1000."""
    for text, expected in READ[kind].items():
        assert _function(f"parse_{kind}")(text) == pytest.approx(expected, rel=1e-12), text


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_quantity_says_what_would_be_one(kind: str) -> None:
    """Of a bare number nobody knows whether it is seconds or minutes; nothing is guessed."""
    example, texts = REFUSED[kind]
    for text in texts:
        with pytest.raises(ValueError, match=example):
            _function(f"parse_{kind}")(text)


@pytest.mark.parametrize("kind", SHOWN)
def test_a_quantity_is_shown_in_the_unit_that_fits(kind: str) -> None:
    """Two units at most; a measured one has the digits that it is known to, zeros too."""
    for value, expected in SHOWN[kind].items():
        assert _function(f"format_{kind}")(value) == expected


@given(st.integers(0, 10**7), st.integers(0, 2**55))
def test_what_is_shown_reads_back_within_its_rounding(seconds: int, size_bytes: int) -> None:
    """Durations to their last unit, to the minute above an hour; sizes to three digits."""
    parts = format_duration(seconds).split()
    pairs = zip(parts[::2], parts[1::2], strict=True)
    read = sum(parse_duration(f"{number} {unit}") for number, unit in pairs)
    assert abs(read - seconds) < (60 if seconds >= 3600 else 1)
    assert units.parse_size(format_size(size_bytes)) == pytest.approx(size_bytes, rel=0.006)


CONSTANTS: tuple[tuple[float, Unit, str], ...] = (
    (0.005, "s", "5 ms"), (0.0005, "s", "500 us"), (90.0, "s", "90 s"), (2.0**30, "B", "1 GiB"),
    (2.0**26, "B/s", "64 MiB/s"), (1000.0, "B", "1000 B"), (0.125, "share", "12.5%"),
    (5000.0, "1/s", "5000"), (1e-7, "", "0.0000001"), (1e22, "", "10000000000000000000000"),
)  # fmt: skip
"""Constants of thresholds, in the unit that gives them exactly, and never with an exponent."""


@pytest.mark.parametrize("relation", RELATIONS)
def test_only_relations_with_an_equals_sign_hold_of_equal_values(relation: str) -> None:
    """At the threshold itself `>=` and `<=` are met, `>` and `<` are not."""
    value = MeasuredSide("log-on-nvme", "p95", at(13), "payment", 1.2)
    threshold = Threshold(Constant(0.005, "s"), relation, value)  # type: ignore[arg-type]  # parametrised over all
    assert str(threshold) == f"5 ms {relation} 1.2 * log-on-nvme.payment.p95_at_13"
    holds = [threshold.holds(left, 1.0) for left in (0.9, 1.0, 1.1)]
    assert holds == [relation[0] == "<", relation.endswith("="), relation[0] == ">"]
    assert format_decimal(6000.0) == "6000"
    assert [str(Constant(value, unit)) for value, unit, _ in CONSTANTS] == [
        written for _, _, written in CONSTANTS
    ]
