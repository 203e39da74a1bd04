"""The top of the page: what supports an answer, and what weakens it."""

from dataclasses import replace
from pathlib import Path

from stithy.analysis.answers.findings import findings
from stithy.report.context import context_of
from stithy.report.parts.answer import answer
from stithy.results.manifest import QuestionFacts
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(users=(13,), duration_s=40, series=False)


def _flaws(root: Path) -> tuple[str, ...]:
    context = context_of(read_run(root))
    return answer(context, findings(context.evidence, context.limited)).flawed


def test_a_null_study_that_finds_a_difference_says_that_it_is_an_error(tmp_path: Path) -> None:
    """Its headline names a better candidate where there is only one: nobody may take it so."""
    question = QuestionFacts(
        users=4, metric="nopm", margin_share=0.02, candidates=("disk", "again"), blocks_least=4,
        blocks_most=20,
    )  # fmt: skip
    shape = Shape(
        candidates=("disk", "again"), users=(4,), repeat=4, duration_s=2, series=False,
        primary=question,
    )  # fmt: skip
    build_run(tmp_path / "usual", shape)
    assert not any("null study" in text for text in _flaws(tmp_path / "usual"))
    build_run(tmp_path / "null", replace(shape, null=True))
    first = _flaws(tmp_path / "null")[0]
    assert first.startswith("This is a null study: both candidates are alike")
    assert "an error of the measurement and not of the storage" in first


def test_windows_that_were_wanted_later_are_among_those_that_are_counted(tmp_path: Path) -> None:
    """Else more would be missing than there were to be."""
    left_out = frozenset(window_id(name, 13, 0, 1) for name in SHAPE.candidates)
    shape = replace(
        SHAPE, again=frozenset({(13, 0)}), left_out=left_out, end="interrupted",
        end_because="Ctrl-C",
    )  # fmt: skip
    build_run(tmp_path, shape)
    assert "2 of 4 wanted windows were not run." in _flaws(tmp_path)
