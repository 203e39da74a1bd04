"""The words of every figure: what a reader is told of a run whose numbers are known."""

from pathlib import Path

import pytest

from stithy.registry import plugins
from stithy.report.figure import Absent, Drawn
from stithy.results.manifest import CostFacts, LimitFacts
from support import golden
from support.drawn import context_built
from support.sample_run import Shape, window_id

HERE = Path(__file__).parent / "figures"
FAMILIES = sorted(plugins("figure"), key=lambda name: int(plugins("figure")[name].ORDER))
RUNS = {
    "disk-and-memory": (Shape(repeat=2, logs=True), FAMILIES),
    "limit-costs-and-blocks": (Shape(
        repeat=4, series=False,
        limit=LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1),
        costs={"disk": CostFacts(amount=300.0, currency="EUR"),
               "memory": CostFacts(amount=1200.0, currency="EUR")},
        canaries={window_id(name, 4, 0): {"one_rounds_per_s": 90_000.0}
                  for name in ("disk", "memory")},
    ), ("cost", "response-throughput", "blocks", "canary")),
}  # fmt: skip
"""A disk that saturates, and memory; then a limit, costs, blocks, and a machine that changed."""


def words(drawn: Drawn) -> str:
    """A figure's texts, a line each, or why it is not there."""
    if isinstance(drawn, Absent):
        return f"{drawn.name}\n  would show: {drawn.would_show}\n  absent: {drawn.because}\n"
    return (
        f"{drawn.name}\n  title: {drawn.title}\n  caption: {drawn.caption}\n"
        f"  description: {drawn.description}\n"
    )


@pytest.mark.parametrize("name", RUNS)
def test_the_words_of_the_figures_are_those_accepted(
    name: str, tmp_path: Path, accept_golden: bool
) -> None:
    """Each family's in the order of the page."""
    shape, families = RUNS[name]
    context = context_built(tmp_path, shape)
    drawn = [each for family in families for each in plugins("figure")[family].draw(context)]
    golden.same(HERE / f"{name}.txt", "\n".join(map(words, drawn)), accept_golden)
