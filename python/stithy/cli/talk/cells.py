"""Quantities as they stand in the cells of tables: a dash where there is none."""

UNKNOWN = "-"


def time_text(seconds: float | None) -> str:
    """A time."""
    from stithy.units import format_duration

    return UNKNOWN if seconds is None else format_duration(seconds)


def size_text(size_bytes: float | None) -> str:
    """A size."""
    from stithy.units import format_size

    return UNKNOWN if size_bytes is None else format_size(size_bytes)


def rate_text(value: float | None) -> str:
    """A whole number."""
    return UNKNOWN if value is None else f"{value:,.0f}"
