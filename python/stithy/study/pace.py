"""The value of `load.pace`: when virtual users in a closed loop act."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, PlainValidator, TypeAdapter, WithJsonSchema

from stithy.study.wrong import within, wrong
from stithy.units import Seconds, format_duration

Kind = Literal["none", "keyed", "think"]
WORDS: tuple[Kind, ...] = ("none", "keyed")
THINK_S_MIN = 1e-3
THINK_S_MAX = 3600.0


@dataclass(frozen=True)
class Pace:
    """`none`: back to back; `keyed`: as specified; `think`: a mean think time of `think_s`."""

    kind: Kind = "none"
    think_s: float | None = None


class _Think(BaseModel):
    """The form `{think: 2 s}`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    think: Annotated[Seconds, within(THINK_S_MIN, THINK_S_MAX, format_duration)]


RIGHT = "one of none, keyed, {think: 2 s}"


def read_pace(value: Any) -> Pace:
    """The pace that a word or a mapping names; an error says which there are."""
    if isinstance(value, Pace):
        return value
    if isinstance(value, dict) and value.keys() == {"think"}:
        return Pace("think", _Think.model_validate(value).think)
    named = next((word for word in WORDS if word == value), None)
    if named is None:
        raise wrong("not a pace", RIGHT)
    return Pace(named)


_THINK_SCHEMA = TypeAdapter(_Think).json_schema()

PaceValue = Annotated[
    Pace,
    PlainValidator(read_pace),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(WORDS)},
                {
                    "type": "object",
                    "properties": {
                        "think": {
                            key: each
                            for key, each in _THINK_SCHEMA["properties"]["think"].items()
                            if key != "title"
                        }
                    },
                    "required": ["think"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
"""A pace in a study file."""
