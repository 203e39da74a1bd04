"""What all commands share when they show something: talk, tables, JSON."""

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from stithy.report.words.escape import seen

if TYPE_CHECKING:
    from stithy.run.cleanup.handlers import Left


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


def table(header: Sequence[str], rows: Sequence[Sequence[str]], sides: str = "") -> str:
    """A plain text table: columns by their widest cell, two spaces between, no lines drawn.

    Shapes: every row has as many entries as `header`; `sides` a letter for each column, `<` or `>`
    as in formats (default: all left).
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    formats = list(zip(sides or "<" * len(header), widths, strict=True))
    return "\n".join(_line(row, formats) for row in lines)


def _line(row: Sequence[str], formats: Sequence[tuple[str, int]]) -> str:
    cells = (f"{cell:{side}{width}}" for cell, (side, width) in zip(row, formats, strict=True))
    return "  ".join(cells).rstrip()


def left_text(left: "Left") -> str:
    """What of a run could not be removed, and why."""
    facts = ", ".join(f"{name} {value}" for name, value in left.resource.facts.items())
    return f"not removed: {left.resource.kind} ({facts}): {left.reason}"


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
