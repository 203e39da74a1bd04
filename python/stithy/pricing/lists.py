"""Price lists: what a cloud takes for a month of GB, IOPS and MB/s; shipped, or a person's file.

A list is a file of YAML that a person writes, with the day and the source of its prices. Nothing
is ever fetched.
"""

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from stithy.errors import UserError
from stithy.names import make_printable, read_named, suggest_instead
from stithy.study.document import read_document
from stithy.study.problems import StudyError
from stithy.units import make_rule_error

SUFFIX = ".yaml"
FOLDER = files("stithy.pricing") / "prices"
BYTES_MOST = 2**16

Amount = Annotated[float, Field(ge=0)]
_KEYS = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def check_date(text: str) -> str:
    """Require a day such as 2026-01-15."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise make_rule_error("not a day", "such as 2026-01-15") from error


def check_currency(text: str) -> str:
    """Require the code of a currency, as ISO 4217 has it."""
    if re.fullmatch("[A-Z]{3}", text) is None:
        raise make_rule_error("not a currency", "three capital letters, such as EUR")
    return text


Currency = Annotated[str, AfterValidator(check_currency)]


class ListRate(BaseModel):
    """The price of one for a month; `free` of them cost nothing, and more than `most` are not sold.

    A list leaves out rates that cost nothing.
    """

    model_config = _KEYS

    price: Amount = Field(description="Price of one for a month.", examples=[0.08])
    free: Amount = Field(description="How many cost nothing.", examples=[0])
    most: Amount | None = Field(
        default=None,
        json_schema_extra={"default": "any number"},
        description="The price holds up to so many.",
        examples=[16_000],
    )


class PriceList(BaseModel):
    """A cloud's prices for a month, as the file has them."""

    model_config = _KEYS

    title: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(
        description="What is rented, and where.", examples=["our provider, Frankfurt"]
    )
    currency: Currency = Field(description="The currency of its prices.", examples=["EUR"])
    date: Annotated[str, AfterValidator(check_date)] = Field(
        description="The day of its prices.", examples=["2026-01-15"]
    )
    source: Annotated[str, StringConstraints(min_length=1, max_length=1000)] = Field(
        description="Where they are from.", examples=["price page"]
    )
    per_gb: ListRate | None = Field(default=None, description="Price of a GB.")
    per_iops: ListRate | None = Field(default=None, description="Price of an I/O per second.")
    per_mb_s: ListRate | None = Field(default=None, description="Price of a MB/s.")


@cache
def list_shipped() -> tuple[str, ...]:
    """List the names of the shipped price lists."""
    entries = (path.name for path in FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in entries if name.endswith(SUFFIX)))


def read_price_list(value: Any) -> PriceList | None:
    """Read the list that a study names, or a manifest has: its name, its file, or all of it."""
    if value is None or isinstance(value, PriceList):
        return value
    if isinstance(value, Mapping):
        return PriceList.model_validate(value)
    if not isinstance(value, str):
        raise make_rule_error("not a price list", f"one of {', '.join(list_shipped())}, or a file")
    if "/" not in value and not value.endswith((SUFFIX, ".yml")):
        if value not in list_shipped():
            right = f"{suggest_instead(value, list_shipped())} A file is named with its folder"
            raise make_rule_error("not a price list", right)
        return parse_price_list(value, (FOLDER / f"{value}{SUFFIX}").read_text(encoding="utf-8"))
    try:
        text = read_named(Path(value), BYTES_MOST, "price list").decode()
    except UnicodeDecodeError as error:
        raise make_rule_error("not a text in UTF-8", "save the price list as UTF-8") from error
    except UserError as error:
        raise make_rule_error("a price list that cannot be read", error.text) from error
    return parse_price_list(make_printable(value), text)


def parse_price_list(name: str, text: str) -> PriceList:
    """Read the text of a list. Raises a rule error that carries each fault, with its place."""
    found: dict[str, Any] = {"what": "a price list with faults", "right": "see the list's lines"}
    try:
        document = read_document(name, text)
        document.below = ("cost", "items", "", "list")
        found |= {"problems": document.problems, "document": document}
        if not document.problems:
            return PriceList.model_validate(document.data)
    except StudyError as error:
        found |= {"problems": error.problems}
    except ValidationError as error:
        found |= {"error": error}
    raise PydanticCustomError("rule", "{what}: {right}", found)
