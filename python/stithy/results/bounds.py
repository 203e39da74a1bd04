"""What the facts of a manifest can be: a number or a metric that none has was never a run's.

A manifest without a digest, as the first runs have it, may hold anything after years on a disk.
What no run can have had is damage, and is told as such; it is never drawn. Bounds are wide: what a
later version may ask for is within them.
"""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from stithy.metrics import PERCENTILES, find, parse_quantity

COUNT_MOST = 2**63 - 1
"""What a column of a table can hold."""

LEVEL_MOST = 1_000_000
"""Own: ten times what a study may ask for."""

YEARS_S = 1e9
"""Own: about thirty years, longer than anything that is measured."""

YEAR_9999_S = 253_402_300_799
"""The last second that a calendar of four digits has."""

Level = Annotated[int, Field(ge=1, le=LEVEL_MOST)]
"""A level, or a number of users or connections."""

AtLeastOne = Annotated[int, Field(ge=1, le=COUNT_MOST)]
"""A number of things of which there is one at least; a size that is not empty."""

Count = Annotated[int, Field(ge=0, le=COUNT_MOST)]
"""A number of things."""

Seed = Annotated[int, Field(ge=0, lt=2**64)]
"""A seed of a generator of 64 bits."""

Percent = Annotated[int, Field(ge=0, le=100)]
"""Whole per cent."""

Share = Annotated[float, Field(ge=0, le=1)]
"""A part of 1."""

Rate = Annotated[float, Field(ge=0, le=1e15)]
"""How often something was seen to happen in a second."""

Positive = Annotated[float, Field(gt=0, le=1e15)]
"""A rate that was asked for, a divisor or a sum of money: above 0."""

Span = Annotated[float, Field(ge=0, le=YEARS_S)]
"""How long something takes, seconds."""

PositiveSpan = Annotated[float, Field(gt=0, le=YEARS_S)]
"""The same, and not nothing."""

Moment = Annotated[float, Field(ge=0, le=YEAR_9999_S)]
"""A Unix time, seconds."""


def _asked(text: str) -> str:
    parse_quantity(text)
    return text


def known_metric(name: str) -> str:
    """The name of a metric. Raises ValueError where there is none of this name."""
    if find(name) is None:
        raise ValueError(f"there is no metric {name!r:.40}")
    return name


def _percentile(name: str) -> str:
    if name not in PERCENTILES:
        raise ValueError(f"there is no percentile {name!r:.40}")
    return name


Asked = Annotated[str, AfterValidator(_asked)]
"""What a question is about, named as in a study."""

Percentile = Annotated[str, AfterValidator(_percentile)]
"""A percentile by its name."""

EVERY_MACHINE_HAS = ("cpus", "memory_bytes")
"""Facts of a machine's fingerprint of which every machine has some."""


def beyond(facts: Mapping[str, object]) -> str | None:
    """The first fact of a fingerprint that no machine can have, in words; None where all can be.

    Numbers below 0 are somebody's settings, but no sizes and no counts.
    """
    for name, value in facts.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        least = 1 if name in EVERY_MACHINE_HAS else 0 if name.endswith("_bytes") else -COUNT_MOST
        if not least <= value <= COUNT_MOST:
            return f"{name} of {value}, which no machine has"
    return None
