"""A figure's specification as the page carries it: its rows as columns, a fraction of their bytes.

The page's script makes rows of them again; a value that a row does not have is null, and left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def slim(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with `columns` in the place of `datasets`."""
    rest = {key: value for key, value in spec.items() if key != "datasets"}
    return {**rest, "columns": {name: _columns(rows) for name, rows in spec["datasets"].items()}}


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
