"""Money as people write it, `1200 EUR`: an amount, and the code of its currency.

Nothing is converted: a study has one currency. Printed and read again a sum is the same.
"""

import re
from dataclasses import dataclass

EXAMPLE = "1200 EUR"

_MONEY = re.compile(r"(\d{1,12}(?:\.\d{1,2})?)\s*([A-Z]{3})", re.ASCII)
_ZERO = re.compile(r"[0.]+")


@dataclass(frozen=True)
class Money:
    """A sum above 0; `currency` is three capital letters, as ISO 4217 has them."""

    amount: float
    currency: str

    @property
    def shown(self) -> str:
        """For people: `1,200 EUR`."""
        return f"{_whole(f'{self.amount:,.2f}')} {self.currency}"

    def __str__(self) -> str:
        """As it is written in a study."""
        return f"{_whole(f'{self.amount:.2f}')} {self.currency}"


def parse_money(text: object) -> Money:
    """The sum that a text such as `1200 EUR` or `0.5 USD` names.

    Raises ValueError, with what would be right, for anything else, and for nothing.
    """
    match = _MONEY.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"a plain number and the code of a currency are needed, such as {EXAMPLE}")
    if _ZERO.fullmatch(match[1]):
        raise ValueError("more than 0 is needed; what costs nothing, or is not known, has no cost")
    return Money(float(match[1]), match[2])


def _whole(digits: str) -> str:
    return digits.removesuffix(".00")
