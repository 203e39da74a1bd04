"""The primary question is told with where it stands."""

from dataclasses import replace
from pathlib import Path

from stithy.analysis.answers.findings import decision_status
from stithy.report.context import Context, context_of
from stithy.report.parts.certainty import question_sentence, state_sentence
from stithy.results.manifest import QuestionFacts
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

QUESTION = QuestionFacts(
    users=4, metric="nopm", margin_share=0.02, candidates=("disk", "memory"), blocks_least=4,
    blocks_most=20,
)  # fmt: skip


def _context(directory: Path, repeat: int, question: QuestionFacts | None = QUESTION) -> Context:
    shape = Shape(users=(4,), duration_s=2, series=False, repeat=repeat, primary=question)
    return context_of(read_run(build_run(directory, shape).root))


def test_an_open_question_is_told_with_a_forecast(tmp_path: Path) -> None:
    """From two blocks on."""
    one, two = _context(tmp_path / "1", 1), _context(tmp_path / "2", 2)
    assert "If blocks go on" not in state_sentence(one, decision_status(one.evidence))
    assert "may decide it." in state_sentence(two, decision_status(two.evidence))


def test_invalid_windows_at_the_level_of_the_question_are_told_with_their_reason(
    tmp_path: Path,
) -> None:
    """Who watches can mend it before all blocks are spent."""
    late = {f"w-disk-u4-b{block}": {"lateness_p99_s": 1.0} for block in (0, 1)}
    shape = Shape(users=(4,), duration_s=2, series=False, repeat=2, primary=QUESTION, changes=late)
    context = context_of(read_run(build_run(tmp_path, shape).root))
    assert state_sentence(context, decision_status(context.evidence)) == (
        "No block answers the question yet: 2 of 4 windows there are invalid, 2 of them by "
        '"driver late".'
    )


def test_windows_with_too_few_transactions_are_told_to_have_too_few(tmp_path: Path) -> None:
    """They are valid, and support no percentile."""
    context = _context(tmp_path, 4, QUESTION.model_copy(update={"metric": "p99 of payment"}))
    assert state_sentence(context, decision_status(context.evidence)).startswith(
        "No block answers the question yet: p99 of payment needs 10,000 values in a window, and one"
    )


def test_a_question_about_a_collectors_metric_is_answered_by_its_series(tmp_path: Path) -> None:
    """The second candidate of the sample does more, and writes more log; that is no merit."""
    question = QUESTION.model_copy(update={"metric": "database.wal_bytes_per_s"})
    shape = Shape(users=(4,), duration_s=3, repeat=4, primary=question)
    context = context_of(read_run(build_run(tmp_path, shape).root))
    said = state_sentence(context, decision_status(context.evidence))
    assert said.startswith(
        "At 4 users, memory has more than disk: its WAL bytes per second of the database came to "
    )
    assert said.endswith("(conservative 95 % intervals, 4 blocks).")
    text = question_sentence(context)
    assert text is not None
    assert "is that of WAL bytes per second of the database at 4 users" in text


def test_the_question_is_stated_with_its_blocks(tmp_path: Path) -> None:
    """Whether it was declared, how finely it is asked, how many blocks it took."""
    context = _context(tmp_path / "declared", 5)
    assert question_sentence(context) == (
        "The primary question is that of new orders per minute at 4 users, of memory against "
        "disk, beyond a margin of 2 %. Blocks are measured there until it is decided, at least 4 "
        "and at most 20; 5 blocks were measured."
    )
    loose = QUESTION.model_copy(
        update={"candidates": None, "blocks_least": 2, "blocks_most": 2, "derived": ("metric",)}
    )
    said = question_sentence(_context(tmp_path / "derived", 2, loose))
    assert said is not None
    assert said.startswith("The primary question (derived, as the study names none) is that of")
    assert "of the two candidates farthest apart" in said
    assert said.endswith("The study fixes the number of blocks there; 2 blocks were measured.")


def test_windows_that_were_not_needed_are_not_missing(tmp_path: Path) -> None:
    """Others that are not there are."""
    gone = frozenset({window_id(name, 4, block) for name in ("disk", "memory") for block in (4, 5)})
    shape = Shape(users=(4,), duration_s=2, series=False, repeat=6, primary=QUESTION)
    spared = replace(shape, left_out=gone, skipped=gone)
    assert context_of(read_run(build_run(tmp_path / "spared", spared).root)).not_run == []
    lost = replace(shape, left_out=gone)
    assert set(context_of(read_run(build_run(tmp_path / "lost", lost).root)).not_run) == gone
