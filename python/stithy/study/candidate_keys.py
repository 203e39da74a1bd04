"""What every candidate may say, whoever provides it; its provider's keys stand before these."""

from functools import cache
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    create_model,
)

from stithy.money import EXAMPLE, Money, parse_money
from stithy.registry import plugins
from stithy.study.wrong import wrong


def _cost(value: Any) -> Money | None:
    if value is None or isinstance(value, Money):
        return value
    try:
        return parse_money(value)
    except ValueError as error:
        raise wrong("not a cost", str(error)) from error


CostValue = Annotated[
    Money | None,
    PlainValidator(_cost),
    PlainSerializer(lambda cost: None if cost is None else str(cost)),
    WithJsonSchema({"type": "string"}),
]
"""A cost in a study file."""


class CandidateKeys(BaseModel):
    """The keys of every candidate."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cost: CostValue = Field(
        default=None,
        json_schema_extra={"default": "not told"},
        description=(
            "What the storage costs, counted alike for every candidate and in one currency: its "
            "purchase, or a year of it. The report divides it by NOPM."
        ),
        examples=[EXAMPLE],
    )


@cache
def candidate_model(provider: str) -> type[BaseModel]:
    """The `Spec` of a provider with the keys of every candidate."""
    spec = plugins("provider")[provider].Spec
    return create_model(spec.__name__, __base__=(CandidateKeys, spec), __doc__=spec.__doc__)
