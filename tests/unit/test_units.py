"""Durations, sizes, rates and sums of money are read as people write them, and written back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.units import (
    Money,
    format_duration,
    format_measured_duration,
    format_percent,
    format_rate,
    format_size,
    parse_duration,
    parse_fine_percent,
    parse_money,
    parse_percent,
    parse_rate,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 90),
        ("2 min", 120),
        ("500 ms", 0.5),
        ("1.5 h", 5400),
        (" 20  S ", 20),
        ("1 d", 86400),
        ("3 us", 3e-6),
    ],
)
def test_a_duration_becomes_seconds(text: str, expected: float) -> None:
    """With or without a space, in any case."""
    assert parse_duration(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 GiB", 2**30),
        ("384MB", 384_000_000),
        ("512 KiB", 2**19),
        ("1kB", 1000),
        ("0.5 TiB", 2**39),
        ("7 B", 7),
    ],
)
def test_a_size_becomes_bytes(text: str, expected: int) -> None:
    """Binary units are powers of 1024, decimal ones of 1000."""
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "5", "s", "-1 s", "1e3 s", "1 fortnight", None, 5, "9" * 400])
def test_what_is_no_quantity_says_what_would_be_one(text: object) -> None:
    """A bare number is refused: nobody knows whether 5 is seconds or minutes."""
    with pytest.raises(ValueError, match=r"such as 5 s|use us, ms"):
        parse_duration(text)
    with pytest.raises(ValueError, match=r"such as 1 GiB|use KiB"):
        parse_size(text)


def test_a_number_too_large_for_a_float_is_refused() -> None:
    """Four hundred digits would be infinity."""
    with pytest.raises(ValueError, match="a smaller number is needed"):
        parse_size("9" * 400 + " GiB")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (0.00085, "850 µs"),
        (0.9996, "1 s"),
        (0.99962e-3, "1 ms"),
        (59.96, "1 min"),
        (0.0123, "12.3 ms"),
        (3.4, "3.4 s"),
        (20, "20 s"),
        (125, "2 min 5 s"),
        (120, "2 min"),
        (4200, "1 h 10 min"),
        (-12e-6, "-12 µs"),
        (-3e-7, "0 µs"),
        (-0.25, "-250 ms"),
    ],
)
def test_a_duration_is_shown_in_the_unit_that_fits(seconds: float, expected: str) -> None:
    """Two units at most."""
    assert format_duration(seconds) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (0.00085, "850 µs"),
        (0.0009996, "1.00 ms"),
        (0.0045, "4.50 ms"),
        (0.009996, "10.0 ms"),
        (0.012, "12.0 ms"),
        (0.09996, "100 ms"),
        (0.9996, "1.00 s"),
        (20, "20.0 s"),
        (59.96, "1 min"),
        (-0.25, "-250 ms"),
    ],
)
def test_a_measured_duration_has_the_digits_that_it_is_known_to(
    seconds: float, expected: str
) -> None:
    """Zeros at the end too: 4.50 ms beside 4.15 ms."""
    assert format_measured_duration(seconds) == expected


@given(st.integers(0, 10**7))
def test_a_shown_duration_of_whole_seconds_is_never_off_by_more_than_its_last_unit(
    seconds: int,
) -> None:
    """Reading the parts back gives the value, to the minute above an hour."""
    parts = format_duration(seconds).split()
    read = sum(
        parse_duration(f"{number} {unit}")
        for number, unit in zip(parts[::2], parts[1::2], strict=True)
    )
    assert abs(read - seconds) < (60 if seconds >= 3600 else 1)


@given(st.integers(0, 2**55))
def test_a_shown_size_is_right_to_three_digits(size_bytes: int) -> None:
    """Reading it back gives the value within its rounding."""
    assert parse_size(format_size(size_bytes)) == pytest.approx(size_bytes, rel=0.006)


@pytest.mark.parametrize(("text", "expected"), [("0%", 0), ("50 %", 50), (" 100% ", 100)])
def test_a_percentage_becomes_whole_percent(text: str, expected: int) -> None:
    """With or without a space."""
    assert parse_percent(text) == expected


@pytest.mark.parametrize("text", ["50", 50, "101%", "-1%", "2.5%", "%", True])
def test_what_is_no_percentage_is_refused_with_an_example(text: object) -> None:
    """A bare number could be a share or a percentage."""
    with pytest.raises(ValueError, match=r"such as 50%"):
        parse_percent(text)


@pytest.mark.parametrize(
    ("text", "expected", "shown"),
    [
        ("2%", 2, "2%"),
        ("1.5 %", 1.5, "1.5%"),
        ("0.125%", 0.125, "0.125%"),
        ("33.3%", 33.3, "33.3%"),
    ],
)
def test_a_fine_percentage_may_have_decimals(text: str, expected: float, shown: str) -> None:
    """And is shown as it was given."""
    assert parse_fine_percent(text) == expected
    assert format_percent(expected / 100) == shown


@pytest.mark.parametrize("text", ["1.5", 1.5, "100.1%", "-1%", "1.%", ".5%", "1,5%", "٣%"])
def test_what_is_no_fine_percentage_is_refused_with_an_example(text: object) -> None:
    """Of a comma nobody knows which it is."""
    with pytest.raises(ValueError, match=r"such as 2% or 1\.5%"):
        parse_fine_percent(text)


@pytest.mark.parametrize(
    ("text", "expected", "shown"),
    [
        ("500/s", 500, "500/s"),
        ("600 / min", 10, "10/s"),
        ("0.25/s", 0.25, "0.25/s"),
        ("12000/s", 12000, "12,000/s"),
    ],
)
def test_a_rate_is_a_number_by_a_unit_of_time(text: str, expected: float, shown: str) -> None:
    """Times a second once read; shown by the second."""
    assert parse_rate(text) == pytest.approx(expected)
    assert format_rate(parse_rate(text)) == shown


@pytest.mark.parametrize("text", ["500", 500, "500/", "/s", "-5/s", "5/parsec", None])
def test_what_is_no_rate_is_refused_with_an_example(text: object) -> None:
    """A bare number could be by the second or by the minute."""
    with pytest.raises(ValueError, match=r"such as 500/s"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "money", "written", "shown"),
    [
        ("1200 EUR", Money(1200.0, "EUR"), "1200 EUR", "1,200 EUR"),
        (" 1200.50EUR ", Money(1200.5, "EUR"), "1200.50 EUR", "1,200.50 EUR"),
        ("0.07 USD", Money(0.07, "USD"), "0.07 USD", "0.07 USD"),
        ("999999999999.99 JPY", Money(999999999999.99, "JPY"), "999999999999.99 JPY", None),
    ],
)
def test_a_sum_is_an_amount_and_a_currency(
    text: str, money: Money, written: str, shown: str | None
) -> None:
    """Printed and read again it is the same, to the hundredth."""
    assert parse_money(text) == money
    assert str(money) == written
    assert parse_money(str(money)) == money
    assert shown in (None, money.shown)


@pytest.mark.parametrize(
    "text",
    ["1200", "EUR", "1,200 EUR", "1200 eur", "1200 €", "-5 EUR", "1.234 EUR", "1e3 EUR", "", 1200,
     None, "EUR 1200", "٣ EUR", "1" * 13 + " EUR", "12 EUR\n5 USD"],
)  # fmt: skip
def test_whatever_else_is_refused_with_an_example(text: object) -> None:
    """No amount is guessed from what could be read in two ways."""
    with pytest.raises(ValueError, match="such as 1200 EUR"):
        parse_money(text)


@pytest.mark.parametrize("text", ["0 EUR", "0.00 EUR"])
def test_nothing_is_no_cost(text: str) -> None:
    """Nothing can be divided by it, and who does not know a cost writes none."""
    with pytest.raises(ValueError, match="more than 0"):
        parse_money(text)
