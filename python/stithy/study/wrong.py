"""How a rule of the model says what is wrong, so that `locate` can say it with the place."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pydantic import AfterValidator, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from stithy.study.document import Loc


class Wrong(NamedTuple):
    """One broken rule: what is wrong, with which value, below the field that is checked.

    `part`: from which character of a text to before which, where not all of it is wrong.
    """

    what: str
    right: str
    value: object = None
    loc: Loc = ()
    part: tuple[int, int] | None = None


def wrong(what: str, right: str, part: tuple[int, int] | None = None) -> PydanticCustomError:
    """An error about the value that is being checked, or a part of it; to be raised."""
    context = {"what": what, "right": right, "part": part}
    return PydanticCustomError("rule", "{what}: {right}", context)


def refuse(found: Iterable[Wrong]) -> None:
    """Raise all broken rules at once, if there are any, each at its own place."""
    details = [
        InitErrorDetails(
            type=wrong(each.what, each.right, each.part), loc=each.loc, input=each.value
        )
        for each in found
    ]
    if details:
        raise ValidationError.from_exception_data("study", details)


def within(low: float, high: float, show: Callable[[float], str]) -> AfterValidator:
    """Bounds of a quantity, told in the units of people."""

    def check(value: float) -> float:
        if value < low:
            raise wrong("too small", f"at least {show(low)}")
        if value > high:
            raise wrong("too large", f"at most {show(high)}")
        return value

    return AfterValidator(check)
