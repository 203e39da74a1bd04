"""The pages that are looked at in a browser, of runs with as much as runs can have."""

from pathlib import Path

from stithy.report.context import make_context
from stithy.report.drawing import draw
from stithy.report.formats.html import render
from stithy.report.page import Page
from stithy.results.files import read_run
from stithy.results.manifest import LimitFacts
from support.priced import PRICING, make_pricing
from support.sample_run import Shape, build_run, window_id
from support.sample_thresholds import thresholds

LIMIT = LimitFacts(percentile="p95", transaction="new-order", limit_s=0.1)
NAMES = (*(f"candidate-{n}" for n in range(8)), "a-name-without-any-end-" * 3, '"<b>é 😀')
USUAL = Shape(
    users=(1, 4),
    repeat=4,
    duration_s=10,
    changes={window_id("disk", 1, 0): {"errors": 2, "error_text": "deadlock detected"}},
    drives={"disk": 0.0},
    ledger=True,
    thresholds=thresholds(),
    limit=LIMIT,
    pricing=PRICING,
    baselines={
        window_id(name, 4, 1): {"one_rounds_per_s": 90_000.0} for name in ("disk", "memory")
    },
)
CROWD = Shape(
    question="Which of these ten ways to keep a database is the right one for a thousand users?",
    candidates=NAMES,
    users=(1, 4),
    ramp_up_s=1,
    duration_s=4,
    limit=LIMIT,
    pricing=make_pricing(NAMES[0], NAMES[1:]),
)


def write_page(root: Path, shape: Shape) -> Path:
    """The page of such a run, and nothing else of its report."""
    build_run(root, shape)
    return page_of(root)


def page_of(root: Path) -> Path:
    """The page of the run that lies there."""
    made = Page(make_context(read_run(root)))
    drawings = {figure.name: draw.draw_svg(figure.spec, figure.name) for figure in made.figures}
    page = root / "report.html"
    page.write_text(render(made, drawings), encoding="utf-8")
    return page
