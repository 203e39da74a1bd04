"""The words of every figure: what a reader is told of a run whose numbers are known."""

from pathlib import Path

from stithy.registry import plugins
from stithy.report.context import context_of
from stithy.report.figure import Absent, Drawn
from stithy.results.manifest import CostFacts, LimitFacts
from stithy.results.read import read_run
from support import golden
from support.sample_run import Shape, build_run, window_id

HERE = Path(__file__).parent / "figures"
ADDED = ("cost", "response-throughput", "blocks", "canary")


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


def test_the_words_of_what_a_limit_costs_and_blocks_add_are_those_accepted(
    tmp_path: Path, accept_golden: bool
) -> None:
    """The same two with a limit, costs, four blocks of each level, and a machine that changed."""
    odd = (window_id(name, 4, 0) for name in ("disk", "memory"))
    shape = Shape(
        repeat=4, series=False,
        limit=LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1),
        costs={
            "disk": CostFacts(amount=300.0, currency="EUR"),
            "memory": CostFacts(amount=1200.0, currency="EUR"),
        },
        canaries=dict.fromkeys(odd, {"one_rounds_per_s": 90_000.0}),
    )  # fmt: skip
    build_run(tmp_path, shape)
    context = context_of(read_run(tmp_path))
    families = (plugins("figure")[name] for name in ADDED)
    text = "\n".join(words(drawn) for family in families for drawn in family.draw(context))
    golden.same(HERE / "limit-costs-and-blocks.txt", text, accept_golden)
