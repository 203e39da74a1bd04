"""Sums of money as people write them."""

import pytest

from stithy.money import Money, parse_money


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
