"""A figure's rows as columns: fewer bytes, and the same rows when they are read again."""

from typing import Any

from stithy.report.slim import slim


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
    columns = slim({"datasets": {"data-0": rows}})["columns"]["data-0"]
    assert columns["of"]["users"] == {"all": 4}
    assert columns["of"]["candidate"]["texts"] == names
    assert columns["of"]["second"] == list(range(100))


def test_true_and_one_are_not_the_same() -> None:
    """A column of both stays a list."""
    columns = slim({"datasets": {"d": [{"a": True}, {"a": 1}]}})["columns"]["d"]
    assert columns["of"]["a"] == [True, 1]
