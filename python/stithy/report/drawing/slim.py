"""A figure's specification as the page carries it, in a fraction of its bytes.

Its rows stand as columns, and what it holds more than once stands there once. The page's script
makes all of it again; a value that a row does not have is null, and left out.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


REPEATED = "&"
"""The key of what stands for a repeated part: its value is the part's place in `repeated`."""

WORTH_IT = 30
"""Own: parts with fewer letters are not worth a place of their own."""


def slim(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with `columns` in the place of `datasets`, and the parts it repeats.

    Shapes: `repeated` is a list of parts; `{"&": place}` stands for one wherever it is, in parts as
    well.
    """
    rest = {key: value for key, value in spec.items() if key != "datasets"}
    columns = {name: _columns(rows) for name, rows in spec["datasets"].items()}
    return _once({**rest, "columns": columns})


def _once(document: Mapping[str, Any]) -> dict[str, Any]:
    texts = Counter(text for value in document.values() for text in _parts(value))
    parts = _Parts({text for text, times in texts.items() if times > 1 and len(text) >= WORTH_IT})
    told = {key: parts.told(value) for key, value in document.items()}
    return {**told, "repeated": parts.repeated}


@dataclass(frozen=True)
class _Parts:
    """What a specification holds more than once: `many` as text, `repeated` each part once."""

    many: Set[str]
    repeated: list[Any] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def told(self, value: Any) -> Any:
        """The value, or what stands for it."""
        if not isinstance(value, dict | list | tuple) or (text := _text(value)) not in self.many:
            return self._within(value)
        if text not in self.places:
            self.places[text] = len(self.repeated)
            self.repeated.append(None)  # its place, before those of the parts within it
            self.repeated[self.places[text]] = self._within(value)
        return {REPEATED: self.places[text]}

    def _within(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.told(each) for key, each in value.items()}
        return [self.told(each) for each in value] if isinstance(value, list | tuple) else value


def _parts(value: Any) -> Iterator[str]:
    """Each object and list within a value, and itself, as text."""
    if isinstance(value, dict | list | tuple):
        yield _text(value)
        for each in value.values() if isinstance(value, dict) else value:
            yield from _parts(each)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _columns(rows: Sequence[Row]) -> dict[str, Any]:
    """Each column by its name: one value where all rows have the same, else a list of them.

    A list of texts that repeat is `[texts, places]`: each text once, and for each row its place.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {
        "rows": len(rows),
        "of": {name: _column([row.get(name) for row in rows]) for name in names},
    }


def _column(values: list[Any]) -> Any:
    first = values[0]
    if all(type(value) is type(first) and value == first for value in values):
        return {"all": first}
    if all(value is None or isinstance(value, str) for value in values):
        texts = list(dict.fromkeys(values))
        places = {text: place for place, text in enumerate(texts)}
        return {"texts": texts, "at": [places[value] for value in values]}
    return [
        int(value) if isinstance(value, float) and value.is_integer() else value for value in values
    ]
