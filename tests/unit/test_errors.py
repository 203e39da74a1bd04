"""The tree of errors: each leads to its own exit code, all carry a remedy."""

import errno
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError, StithyError, failures_of_the_machine
from stithy.exits import Exit
from stithy.study.problems import StudyError, StudyProblem


def tree(kind: type[StithyError]) -> list[type[StithyError]]:
    """An error and all below it."""
    return [kind, *(each for child in kind.__subclasses__() for each in tree(child))]


def test_an_error_cannot_be_made_without_place_and_remedy() -> None:
    """A message that does not help is not a message."""
    with pytest.raises(TypeError):
        StithyError("it broke")  # type: ignore[call-arg]  # this is what must fail


def test_an_error_reads_as_place_problem_remedy() -> None:
    """One line."""
    error = StithyError("it is full", where="/data", remedy="make room")
    assert str(error) == "/data: it is full: make room"
    assert error.parts() == (error,)


def test_the_problems_of_a_study_are_its_parts() -> None:
    """All are shown, each with its place."""
    problem = StudyProblem("odd", where="f:1:1", remedy="mend it")
    error = StudyError("f", [problem, problem])
    assert error.parts() == (problem, problem)
    assert str(error).startswith("f: 2 problems")


@pytest.mark.parametrize("code", list(Exit), ids=lambda code: code.name)
def test_every_exit_code_is_on_the_reference_page(code: Exit, root: Path) -> None:
    """With its number and name."""
    page = (root / "docs" / "reference" / "exit-codes.md").read_text()
    assert f"| {code.value} |" in page


@pytest.mark.parametrize("kind", tree(StithyError)[1:], ids=lambda kind: kind.__name__)
def test_every_error_but_the_root_has_an_exit_code_that_is_not_a_bugs(
    kind: type[StithyError],
) -> None:
    """1 is for what Stithy did not foresee."""
    assert kind.exit is not Exit.BUG


def test_a_full_disk_is_no_bug_wherever_it_shows() -> None:
    """It names the file, or the step where the call named none."""
    with (
        pytest.raises(InfrastructureError, match="/x/y: no space left on device: make room there"),
        failures_of_the_machine("step w"),
    ):
        raise OSError(errno.ENOSPC, "whatever", "/x/y")
    with (
        pytest.raises(InfrastructureError, match="step w: too many open files: raise the limit"),
        failures_of_the_machine("step w"),
    ):
        raise OSError(errno.EMFILE, "whatever")


def test_a_missing_file_is_a_bug() -> None:
    """Only what a machine can refuse at any time is the machine's failure."""
    with pytest.raises(FileNotFoundError), failures_of_the_machine("step w"):
        raise FileNotFoundError(errno.ENOENT, "whatever", "/x")
