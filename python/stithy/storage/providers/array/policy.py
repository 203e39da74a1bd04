"""Storage policies in the field's words, and the level of an array that honours each.

Mapped after the policies of hyper-converged storage: failures to tolerate by copies or by erasure
coding, stripe width. A drive stands for what a host is there: on one machine it is what may fail.
"""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from stithy.storage.layer import rule

CODING = re.compile(r"(\d{1,2})\+(\d)")
PARITY = {1: "raid5", 2: "raid6"}
FTT_MOST = 3
WIDTH_MOST = 12
"""Source of both: vSAN storage policies."""


def _coding(value: str) -> str:
    found = CODING.fullmatch(value)
    if found is None or int(found[2]) not in PARITY or int(found[1]) < 2:
        right = "data and parity, such as 3+1 or 4+2; there may be one or two of parity"
        raise rule("not an erasure coding", right)
    return value


class Policy(BaseModel):
    """What the data must survive, and over how many drives they are striped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ftt: Annotated[int, Field(ge=0, le=FTT_MOST)] = Field(
        default=1,
        json_schema_extra={"default": "1, or the parity of `erasure_coding`"},
        description="Failures to tolerate: how many drives may fail without loss of data.",
        examples=[1],
    )
    stripe_width: Annotated[int, Field(ge=1, le=WIDTH_MOST)] = Field(
        default=1,
        description="Over how many drives each copy is striped.",
        examples=[1],
    )
    erasure_coding: Annotated[str, AfterValidator(_coding)] | None = Field(
        default=None,
        json_schema_extra={"default": "none: whole copies"},
        description="Data and parity in a stripe, such as `3+1` (RAID 5) or `4+2` (RAID 6).",
        examples=["3+1"],
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.erasure_coding is None:
            return self
        _, parity = self.parts
        if "ftt" in self.model_fields_set and self.ftt != parity:
            right = f"{self.erasure_coding} tolerates {parity}: leave out `ftt`"
            raise rule("two numbers of failures to tolerate", right)
        if self.stripe_width != 1:
            raise rule("a stripe width beside erasure coding", "leave out `stripe_width`")
        return self

    @property
    def parts(self) -> tuple[int, int]:
        """Data and parity of the erasure coding."""
        data, _, parity = (self.erasure_coding or "0+0").partition("+")
        return int(data), int(parity)

    def level(self, count: int) -> str:
        """The level of an array of `count` drives. Raises what pydantic makes a problem of."""
        if self.erasure_coding is not None:
            data, parity = self.parts
            _need(count, data + parity, f"erasure coding {self.erasure_coding}")
            return PARITY[parity]
        if self.stripe_width > 1:
            return self._striped(count)
        levels = {0: "single", 1: "raid1", 2: "raid1c3"}
        if self.ftt not in levels:
            raise rule("no level has four copies", "tolerate 2 failures, or use erasure coding 4+2")
        return levels[self.ftt]

    def _striped(self, count: int) -> str:
        levels = {0: "raid0", 1: "raid10"}
        if self.ftt not in levels:
            right = "`stripe_width: 1`, or erasure coding 4+2, which tolerates two failures"
            raise rule("no level stripes three copies or more", right)
        copies = self.ftt + 1
        _need(count, copies * self.stripe_width, f"{copies} × a stripe width {self.stripe_width}")
        return levels[self.ftt]


def _need(count: int, needed: int, what: str) -> None:
    if count != needed:
        raise rule(f"{count} drives for {what}", f"`drives: {needed}`: arrays use all they have")
