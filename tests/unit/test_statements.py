"""A sentence keeps its values, and one renderer writes them."""

import copy

import pytest

from stithy.statements import Statement, Styled, join_list, join_parts, merge

TEXTS = (
    ("{n:+window} {n:is|are} late", {"n": 1}, "1 window is late"),
    ("{n:+window} {n:is|are} late", {"n": 2000}, "2,000 windows are late"),
    ("it ran {n:once|# times}", {"n": 1}, "it ran once"),
    ("it ran {n:once|# times}", {"n": 1200}, "it ran 1,200 times"),
    ("{a:duration}, {b:size}, {c:share}", {"a": 0.0021, "b": 2**20, "c": 0.004},
     "2.1 ms, 1 MiB, 0.4 %"),
    ("{a:.1f %} of {b:,}, {c:measured}", {"a": 0.123, "b": 1234, "c": 0.002},
     "12.3 % of 1,234, 2.00 ms"),
    ("{who:sentence}: {names:list}", {"who": "users of a", "names": ["x", "y", "z"]},
     "Users of a: x, y and z"),
    ("{ratio} times", {"ratio": Styled(3.14159, "3.1")}, "3.1 times"),
)  # fmt: skip


@pytest.mark.parametrize(("template", "values", "text"), TEXTS)
def test_a_template_is_rendered(template: str, values: dict[str, object], text: str) -> None:
    """Plurals, units and lists; braces in a value stay what they are."""
    assert Statement(template, **values) == text
    assert Statement("{text}", text="{n}") == "{n}"


def _state_late(share: float, took_s: float, drive: str) -> Statement:
    took = Statement("{took:duration} on {drive:drive}", took=took_s, drive=drive)
    return Statement("late by {share:.0f %}: {times}", share=share, times=join_parts([took]))


def test_numbers_are_listed_with_what_is_beside_them() -> None:
    """By the way to them, and by their names; a copy has them, too."""
    said = copy.deepcopy(_state_late(0.2, 0.001, "data-1"))
    assert dict(said.list_numbers()) == {"share": 0.2, "times.0.took": 0.001}
    assert list(said.list_facts()) == [
        {"share": 0.2}, {"share": 0.2, "took": 0.001, "drive": "data-1"},
    ]  # fmt: skip
    assert [*join_parts(["no number", said, said], "; ").list_parts()] == [said, said]


def test_those_alike_become_one_with_ranges() -> None:
    """Units are written once where they are the same, drives by their numbers."""
    late = [_state_late(0.2, 310e-6, "data-10"), _state_late(0.2, 389e-6, "data-9"),
            _state_late(0.2, 389e-6, "data-host9")]  # fmt: skip
    assert late[0].drop_quantities() == late[1].drop_quantities() != late[2].drop_quantities()
    assert merge(late[:2]) == "late by 20 %: 310 to 389 µs on data-9 to data-10"
    assert merge([_state_late(0.1, 950e-6, "log"), _state_late(0.12, 0.0012, "log")]) == (
        "late by 10 to 12 %: 950 µs to 1.2 ms on log"
    )


def test_items_are_joined_as_a_sentence_has_them() -> None:
    """One, two and three."""
    assert [join_list([*"abc"][:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
