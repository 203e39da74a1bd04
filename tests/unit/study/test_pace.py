"""The value of `load.pace`."""

import pytest

from support.studies import problems, study_text

WRONG = [
    ("fast", "not a pace: fast", "one of none, keyed, {think: 2 s}"),
    ("3", "not a pace: 3", "one of none"),
    ("{thnk: 2 s}", "not a pace: {thnk: 2 s}", "one of none"),
    ("{think: 2}", "`load.pace.think`: not a duration: 2", "a number with a unit"),
    ("{think: 0 s}", "`load.pace.think`: too small", "at least 1 ms"),
]


@pytest.mark.parametrize(("pace", "what", "right"), WRONG)
def test_what_is_no_pace_is_told_with_those_there_are(pace: str, what: str, right: str) -> None:
    """At its place in the file."""
    changed = ("  users: [1, 4]\n", f"  users: [1, 4]\n  pace: {pace}\n")
    [problem] = problems(study_text(changed))
    assert what in problem.problem
    assert right in problem.remedy
