"""What the commands of `stithy hammer` share when they show something."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stithy.wire.messages import AnyMessage

Show = Callable[["AnyMessage"], None]


def time_text(seconds: float | None) -> str:
    """A time for people, `-` where there is none."""
    from stithy.units import format_duration

    return "-" if seconds is None else format_duration(seconds)


def rate_text(value: float | None) -> str:
    """A number for people, `-` where there is none."""
    return "-" if value is None else f"{value:,.0f}"
