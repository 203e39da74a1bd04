"""What all commands share when they show something: talk, tables, JSON."""

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal

from stithy.report.words.escape import seen

Align = Literal["left", "right"]


def say(text: str) -> None:
    """Talk to the person: standard error, so that standard output stays data.

    Letters that would act on a terminal, in a server's message for example, are reported by number.
    A terminal that was closed, or a log's full disk, ends the talk and not the work.
    """
    with suppress(OSError):
        print(seen(text), file=sys.stderr)


def show(text: str) -> None:
    """Data for people: standard output; letters that would act there are reported by number."""
    print(seen(text))


def show_pieces(pieces: Iterable[str]) -> None:
    """Data for programs that is a document already, piece by piece: standard output."""
    for piece in pieces:
        print(piece, end="")


def show_json(value: object) -> None:
    """Data for programs: one JSON document on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], align: Sequence[Align] | None = None
) -> str:
    """A plain text table: columns by their widest cell, two spaces between, no lines drawn.

    Shapes: every row and `align` (default: all left) have as many entries as `header`.
    """
    sides = align or ["left"] * len(header)
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [_line(row, widths, sides) for row in [header, *rows]]
    return "\n".join(line.rstrip() for line in lines)


def _line(row: Sequence[str], widths: Sequence[int], sides: Sequence[Align]) -> str:
    cells = zip(row, widths, sides, strict=True)
    return "  ".join(
        cell.rjust(width) if side == "right" else cell.ljust(width) for cell, width, side in cells
    )


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
