"""The words of every figure: what a reader is told of a run whose numbers are known."""

from pathlib import Path

from stithy.registry import plugins
from stithy.report.context import context_of
from stithy.report.figure import Absent, Drawn
from stithy.results.read import read_run
from support import golden
from support.sample_run import Shape, build_run

HERE = Path(__file__).parent / "figures"


def words(drawn: Drawn) -> str:
    """A figure's texts, a line each, or why it is not there."""
    if isinstance(drawn, Absent):
        return f"{drawn.name}\n  would show: {drawn.would_show}\n  absent: {drawn.because}\n"
    return (
        f"{drawn.name}\n  title: {drawn.title}\n  caption: {drawn.caption}\n"
        f"  description: {drawn.description}\n"
    )


def test_the_words_of_the_figures_are_those_accepted(tmp_path: Path, accept_golden: bool) -> None:
    """Two candidates at three levels, two blocks of each: a disk that saturates, and memory."""
    build_run(tmp_path, Shape(repeat=2, logs=True))
    context = context_of(read_run(tmp_path))
    families = sorted(plugins("figure").values(), key=lambda each: int(each.ORDER))
    text = "\n".join(words(drawn) for family in families for drawn in family.draw(context))
    golden.same(HERE / "disk-and-memory.txt", text, accept_golden)
