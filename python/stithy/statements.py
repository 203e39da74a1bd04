"""Sentences as facts: a template with its values, and the one renderer of numbers and plurals.

A field of a template names a value and how it is written: `{late:duration}`, `{share:.0f %}`,
`{windows:+window}` (`1 window`, `2 windows`), `{windows:is|are}`, `{runs:once|# times}`; all else
is a format of Python.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any, Self

from stithy.units import (
    format_duration,
    format_list,
    format_measured_duration,
    format_share,
    format_size,
)

QUANTITIES: Mapping[str, Callable[[float], str]] = {
    "duration": format_duration, "measured": format_measured_duration, "size": format_size,
    "share": format_share,
}  # fmt: skip
"""How a number with a unit is written; one in per cent is `.0f %` as well."""

DRIVE = re.compile(r"(?<=-)([a-z]*)(\d+)$")
"""The number of a drive of several in a role: `data-2`, `data-host2`."""


@dataclass(frozen=True)
class Ends:
    """A quantity, or a drive's name, that several statements have: the least and the greatest."""

    low: Any
    high: Any


@dataclass(frozen=True)
class Styled:
    """A value that is written in a way of its own."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text


_NOTHING: Mapping[str, Any] = {}


class Statement(str):
    """A sentence or a part of one that reads as its text, and keeps its values by their names.

    A value may be a statement itself.
    """

    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, /, **values: Any) -> Self:
        """Render it. Raises KeyError where the template names a value that is not there."""
        statement = super().__new__(cls, _RENDERER.vformat(template, (), values))
        statement.template, statement.values = template, values
        return statement

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Copy the template and the values, not the text."""
        return (self.template,), dict(self.values)

    def list_numbers(self, of: str = "") -> Iterator[tuple[str, float]]:
        """List its numbers by their names: `delay`, `times.0.took`."""
        for name, value in self.values.items():
            if isinstance(value, Statement):
                yield from value.list_numbers(f"{of}{name}.")
            elif _is_number(value):
                yield f"{of}{name}", float(value)

    def list_parts(self) -> Iterator["Statement"]:
        """List the statements that it joins; itself where it joins none."""
        if "0" not in self.values:
            yield self
            return
        for value in self.values.values():
            if isinstance(value, Statement):
                yield from value.list_parts()

    def list_facts(self, context: Mapping[str, Any] = _NOTHING) -> Iterator[dict[str, Any]]:
        """List the values that stand beside each other, with those around them, by their names."""
        own = {
            name: value.value if isinstance(value, Styled) else value
            for name, value in self.values.items()
            if not isinstance(value, Statement)
        }
        if any(_is_number(value) for value in own.values()):
            yield {**context, **own}
        for value in self.values.values():
            if isinstance(value, Statement):
                yield from value.list_facts({**context, **own})

    def drop_quantities(self) -> object:
        """Return what it has in common with those that `merge` makes one of."""
        specs = _list_specs(self.template)
        return self.template, *(
            (name, _drop_quantity(value, specs.get(name, "")))
            for name, value in self.values.items()
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def join_parts(parts: Sequence[str], between: str = ", ") -> Statement:
    """Join texts, statements among them, to one."""
    values = {str(index): part for index, part in enumerate(parts)}
    return Statement(between.join(f"{{{name}}}" for name in values), **values)


def join_list(parts: Sequence[str]) -> Statement:
    """Join them as a sentence has them: `a, b and c`."""
    *first, last = parts
    return join_parts([join_parts(first), last] if first else [last], " and ")


def merge(statements: Sequence[Statement]) -> Statement:
    """Make one of those that differ in quantities and drives alone: `310 to 389 µs`."""
    first = statements[0]
    specs = _list_specs(first.template)
    return Statement(first.template, **{
        name: _merge_values([each.values[name] for each in statements], specs.get(name, ""))
        for name in first.values
    })  # fmt: skip


def _merge_values(values: Sequence[Any], spec: str) -> Any:
    if isinstance(values[0], Statement):
        return merge(values)
    if values.count(values[0]) == len(values):
        return values[0]
    by = _read_number if spec == "drive" else None
    return Ends(min(values, key=by), max(values, key=by))


def _read_number(name: str) -> int:
    number = DRIVE.search(name)
    return int(number[2]) if number else 0


def _drop_quantity(value: Any, spec: str) -> object:
    if isinstance(value, Statement):
        return value.drop_quantities()
    if spec == "drive":
        return DRIVE.sub(r"\1", value)
    return None if spec in QUANTITIES or spec.endswith(" %") else value


def _list_specs(template: str) -> dict[str, str]:
    return {name: spec or "" for _, name, spec, _ in _RENDERER.parse(template) if name}


class _Renderer(Formatter):
    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs[str(key)]

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Ends):
            return _join_ends(*(self.format_field(each, format_spec)
                                for each in (value.low, value.high)))  # fmt: skip
        if format_spec in QUANTITIES:
            return QUANTITIES[format_spec](value)
        if format_spec.endswith(" %"):
            return f"{100 * value:{format_spec.removesuffix(' %')}} %"
        if format_spec.startswith("+"):
            return f"{value:,} {format_spec[1:]}{'' if value == 1 else 's'}"
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return one if value == 1 else many.replace("#", f"{value:,}")
        if format_spec == "list":
            return format_list(value)
        if format_spec == "sentence":
            return f"{value[0].upper()}{value[1:]}"
        return str(value) if format_spec in ("", "drive") else format(value, format_spec)


def _join_ends(low: str, high: str) -> str:
    """`310 to 389 µs`, `950 µs to 1.2 ms`; `20 %` where both read so."""
    number, _, unit = low.rpartition(" ")
    if low == high:
        return low
    return f"{number} to {high}" if number and high.endswith(f" {unit}") else f"{low} to {high}"


_RENDERER = _Renderer()
