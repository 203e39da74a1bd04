"""A figure in fewer bytes, and the same figure when it is read again."""

import json
from typing import Any

from stithy.report.drawing.compact import slim


def whole(value: Any, repeated: list[Any]) -> Any:
    """As the page's script does it."""
    if isinstance(value, dict):
        if "&" in value:
            return whole(repeated[value["&"]], repeated)
        return {key: whole(each, repeated) for key, each in value.items()}
    return [whole(each, repeated) for each in value] if isinstance(value, list) else value


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The columns of one set of rows."""
    made = slim({"datasets": {"data-0": rows}})
    columns: dict[str, Any] = whole(made["columns"]["data-0"], made["repeated"])
    return columns


def rows_of(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """As the page's script does it."""

    def whole(of: Any) -> list[Any]:
        if isinstance(of, list):
            return of
        return (
            [of["texts"][at] for at in of["at"]] if "texts" in of else [of["all"]] * columns["rows"]
        )

    lists = {name: whole(of) for name, of in columns["of"].items()}
    return [
        {name: each[row] for name, each in lists.items() if each[row] is not None}
        for row in range(columns["rows"])
    ]


def test_rows_come_back_as_they_were() -> None:
    """Texts that repeat, numbers, truths, and values that some rows do not have."""
    rows = [
        {"candidate": "disk", "users": 4, "value": 12.5, "invalid": True},
        {"candidate": "memory", "users": 4, "value": 3.0},
        {"candidate": "disk", "users": 4, "value": 0.0},
    ]
    made = slim(
        {"mark": "point", "datasets": {"data-0": rows, "data-1": [], "data-2": [{"a": 1.0}]}}
    )
    assert made["mark"] == "point"
    assert "datasets" not in made
    assert {name: rows_of(each) for name, each in made["columns"].items()} == {
        "data-0": rows, "data-1": [], "data-2": [{"a": 1.0}],
    }  # fmt: skip


def test_what_all_rows_have_is_told_once() -> None:
    """And each text once."""
    names = ["a long name of a candidate", "another"]
    rows = [{"candidate": names[i % 2], "users": 4, "second": i} for i in range(100)]
    columns = columns_of(rows)
    assert columns["of"]["users"] == {"all": 4}
    assert columns["of"]["candidate"]["texts"] == names
    assert columns["of"]["second"] == list(range(100))


def test_true_and_one_are_not_the_same() -> None:
    """A column of both stays a list."""
    columns = columns_of([{"a": True}, {"a": 1}])
    assert columns["of"]["a"] == [True, 1]


def test_what_repeats_stands_once_and_comes_back_everywhere() -> None:
    """Parts of parts as well; what is short or stands once stays where it is."""
    axis = {"field": "value", "title": "Response time (ms)", "type": "quantitative"}
    encoding = {"x": {"field": "second", "axis": axis}, "y": axis}
    charts = [{"mark": "line", "encoding": encoding}, {"mark": "rule", "encoding": encoding}]
    rows = [{"second": list(range(90)), "value": at} for at in (1, 2)]
    spec = {"layer": charts, "short": [{"a": 1}, {"a": 1}], "datasets": {"d": rows}}
    made = slim(spec)
    assert json.dumps(made).count(axis["title"]) == 1
    assert json.dumps(made).count("88, 89]") == 1
    repeated = made.pop("repeated")
    assert made["short"] == [{"a": 1}, {"a": 1}]
    again = whole(made, repeated)
    assert again["layer"] == charts
    assert rows_of(again["columns"]["d"]) == rows


def test_the_same_numbers_of_other_kinds_are_not_taken_for_each_other() -> None:
    """`1`, `1.0` and `true` are equal to Python, and not to who reads them."""
    long = [[kind] * 40 for kind in (1, 1.0, True)]
    made = slim({"datasets": {}, "values": [*long, *long]})
    again = whole(made["values"], made["repeated"])
    assert [type(each[0]) for each in again] == [int, float, bool, int, float, bool]
