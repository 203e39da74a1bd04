"""The same drawing in fewer elements: neighbours that look alike become one.

What is painted, and in which order, stays: only what stands side by side is put together, and
nothing that is seen through.
"""

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from math import isclose

UNSEEN = 0.04
"""Pixels that rounding to a tenth takes away."""

_NUMBER = r"-?[\d.]+"
_AT = rf'transform="translate\(({_NUMBER}),({_NUMBER})\)"'
_REST = r"([^<>]*)"
_LINE = re.compile(rf'<line {_AT} x2="({_NUMBER})" y2="({_NUMBER})"{_REST}/>')
_SYMBOL = re.compile(rf'<path {_AT} d="(M[MLAHVZhv\d.,-]*)"{_REST}/>')
_TEXT = re.compile(rf"<text{_REST} {_AT}{_REST}>([^<>]*)</text>")
_STEP = re.compile(r"([MLAHVZhv])([\d.,-]*)")
_THROUGH = re.compile(r"opacity=")

Found = re.Match[str]


def compact(drawing: str) -> str:
    """Lines, symbols and texts that follow each other and look alike, each as one element."""
    drawing = _joined(drawing, _LINE, lambda found: found[5], _lines)
    drawing = _joined(drawing, _SYMBOL, lambda found: found[4], _symbols)
    return _joined(drawing, _TEXT, lambda found: found[1] + found[4], _texts)


def _joined(
    drawing: str,
    pattern: re.Pattern[str],
    look: Callable[[Found], str],
    join: Callable[[Sequence[Found]], str],
) -> str:
    """The drawing, each run of neighbours with the same look as `join` writes it."""
    written, end = [], 0
    for _, run in groupby(_numbered(pattern, drawing, look), key=lambda each: each[0]):
        together = [found for _, found in run]
        written += [drawing[end : together[0].start()], join(together)]
        end = together[-1].end()
    return "".join(written) + drawing[end:]


def _numbered(
    pattern: re.Pattern[str], drawing: str, look: Callable[[Found], str]
) -> list[tuple[int, Found]]:
    """Each element with the number of its run; what is seen through is a run of its own."""
    numbered: list[tuple[int, Found]] = []
    for found in pattern.finditer(drawing):
        run, before = numbered[-1] if numbered else (0, None)
        alike = before and before.end() == found.start() and look(before) == look(found)
        new = not alike or _THROUGH.search(look(found))
        numbered.append((run + 1 if new else run, found))
    return numbered


def _lines(run: Sequence[Found]) -> str:
    steps = (f"M{each[1]},{each[2]}{_to(float(each[3]), float(each[4]))}" for each in run)
    return f'<path d="{"".join(steps)}"{run[0][5]}/>'


def _symbols(run: Sequence[Found]) -> str:
    """One path, but for those with an edge, which is painted over what lies below it."""
    paths = [_moved(each[3], float(each[1]), float(each[2])) for each in run]
    if len(run) == 1 or ' stroke="' not in run[0][4]:
        return f'<path d="{"".join(paths)}"{run[0][4]}/>'
    each = (f'<path d="{path}"/>' for path in paths)
    return f"<g{run[0][4]}>{''.join(each)}</g>"


def _texts(run: Sequence[Found]) -> str:
    if len(run) == 1:
        return run[0][0]
    each = (f'<text x="{one[2]}" y="{one[3]}">{one[5]}</text>' for one in run)
    return f"<g{run[0][1]}{run[0][4]}>{''.join(each)}</g>"


def _moved(path: str, x: float, y: float) -> str:
    """A symbol around the origin as the same one around a point, in steps from its first corner."""
    here, steps = (0.0, 0.0), []
    for command, text in _STEP.findall(path):
        values = [float(each) for each in re.findall(_NUMBER, text)]
        here, step = _STEPS[command](here, values, (x, y))
        steps.append(step)
    return "".join(steps)


Point = tuple[float, float]


def _start(_: Point, values: list[float], at: Point) -> tuple[Point, str]:
    there = (values[0], values[1])
    return there, f"M{_short(at[0] + there[0])},{_short(at[1] + there[1])}"


def _go(here: Point, values: list[float], _: Point) -> tuple[Point, str]:
    there = (values[-2], values[-1])
    return there, _to(there[0] - here[0], there[1] - here[1])


def _arc(here: Point, values: list[float], _: Point) -> tuple[Point, str]:
    there = (values[-2], values[-1])
    shape = ",".join(map(_short, values[:-2]))
    return there, f"a{shape},{_short(there[0] - here[0])},{_short(there[1] - here[1])}"


def _across(here: Point, values: list[float], _: Point) -> tuple[Point, str]:
    return (values[0], here[1]), _to(values[0] - here[0], 0)


def _down(here: Point, values: list[float], _: Point) -> tuple[Point, str]:
    return (here[0], values[0]), _to(0, values[0] - here[1])


def _by_x(here: Point, values: list[float], _: Point) -> tuple[Point, str]:
    return (here[0] + values[0], here[1]), _to(values[0], 0)


def _by_y(here: Point, values: list[float], _: Point) -> tuple[Point, str]:
    return (here[0], here[1] + values[0]), _to(0, values[0])


def _end(here: Point, _: list[float], __: Point) -> tuple[Point, str]:
    return here, "Z"


_STEPS = {
    "M": _start, "L": _go, "A": _arc, "H": _across, "V": _down, "h": _by_x, "v": _by_y, "Z": _end,
}  # fmt: skip


def _to(right: float, down: float) -> str:
    """A straight step."""
    if isclose(down, 0, abs_tol=UNSEEN):
        return f"h{_short(right)}"
    if isclose(right, 0, abs_tol=UNSEEN):
        return f"v{_short(down)}"
    return f"l{_short(right)},{_short(down)}"


def _short(number: float) -> str:
    return f"{number:z.1f}".removesuffix(".0")
