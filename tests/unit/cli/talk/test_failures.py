"""How errors are shown to people."""

import json

import pytest

from stithy.cli.talk.failures import SHOWN_MAX, show
from stithy.errors import PreconditionError
from stithy.study.problems import StudyError, StudyProblem


def test_all_problems_of_a_study_are_shown_with_their_excerpts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Then how many there are."""
    problem = StudyProblem("odd: 3", where="f:1:2", remedy="mend it", excerpt="1 | a 3\n  |   ^")
    assert show(StudyError("f", [problem, problem]), debug=False) == 2
    err = capsys.readouterr().err
    assert err.count("f:1:2: odd: 3: mend it\n1 | a 3\n  |   ^\n") == 2
    assert err.endswith(
        "error: f: 2 problems in this study file: mend the file; nothing was done\n"
    )


def test_thousands_of_problems_do_not_flood_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first ones, and how many more."""
    problem = StudyProblem("odd", where="f:1:1", remedy="mend it")
    show(StudyError("f", [problem] * (SHOWN_MAX + 7)), debug=False)
    err = capsys.readouterr().err
    assert err.count("f:1:1") == SHOWN_MAX
    assert "… and 7 more" in err


def test_debug_adds_the_traceback_of_a_known_error(capsys: pytest.CaptureFixture[str]) -> None:
    """For whoever wants to know where it came from."""
    show(StudyError("f", [StudyProblem("odd", where="f", remedy="mend it")]), debug=True)
    assert "StudyError" in capsys.readouterr().err


def test_a_program_is_told_in_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    """One document on standard output, whatever the person is told."""
    error = PreconditionError("too few", where="db", remedy="raise it")
    assert show(error, debug=False, as_json=True) == 3
    shown = capsys.readouterr()
    expected = {"problem": "too few", "where": "db", "remedy": "raise it", "exit": 3}
    assert json.loads(shown.out) == {"failure": expected}
    assert shown.err == "error: db: too few: raise it\n"
