"""The numbers of what only some studies ask for: a limit, costs, a verdict, a machine that changed.

As in `test_numbers_said`, of a run with all of these: each number of a title and a caption is
worked out of the files by DuckDB and plain Python.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from stithy.registry import plugins
from stithy.report.context import context_of
from stithy.report.figure import Figure
from stithy.results.manifest import CostFacts, LimitFacts
from stithy.results.read import read_run
from support.plain_sql import rows
from support.sample_run import Shape, build_run, window_id
from support.worked_out import (
    CRITICAL,
    assert_told,
    level_mean,
    of_windows,
    ratio_of,
    times_of,
)

Expected = Callable[[Path], Sequence[float]]

COSTS = {"disk": 300.0, "memory": 1200.0}
LIMIT_S = 0.1
BLOCKS = 4
SHAPE = Shape(
    repeat=BLOCKS, series=False,
    limit=LimitFacts(percentile="p95", transaction="new-order", limit_s=LIMIT_S),
    costs={name: CostFacts(amount=each, currency="EUR") for name, each in COSTS.items()},
    canaries=dict.fromkeys(
        (window_id(name, 4, 0) for name in ("disk", "memory")), {"one_rounds_per_s": 90_000.0}
    ),
)  # fmt: skip
TOP = max(SHAPE.users)
FAMILIES = ("cost", "within", "response-throughput", "blocks", "canary")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two candidates, three levels and four blocks."""
    return build_run(tmp_path_factory.mktemp("asked") / "run", SHAPE).root


@pytest.fixture(scope="module")
def figures(root: Path) -> Mapping[str, Figure]:
    """What these families draw of it, by name."""
    context = context_of(read_run(root))
    drawn = [each for name in FAMILIES for each in plugins("figure")[name].draw(context)]
    return {each.name: each for each in drawn if isinstance(each, Figure)}


def _within(root: Path, name: str) -> int:
    """The highest level whose windows all obey, with none below it that does not."""
    obeying = [
        users
        for users in SHAPE.users
        if max(times_of(root, "p95", users, name, "new-order")) <= LIMIT_S
    ]
    assert obeying == list(SHAPE.users[: len(obeying)])
    return obeying[-1]


def _costs(root: Path) -> list[float]:
    return [TOP, *(each / level_mean(root, "nopm", TOP, name) for name, each in COSTS.items())]


def _served(root: Path) -> list[float]:
    """Throughput at the highest level within the limit, and that level."""
    numbers = [LIMIT_S]
    for name in SHAPE.candidates:
        users = _within(root, name)
        numbers += [level_mean(root, "nopm", users, name), users]
    return numbers


def _verdict(root: Path) -> list[float]:
    """Level, margin, blocks, the mean ratio, and the boundary that it lies beyond."""
    disk, memory = (of_windows(root, "nopm", TOP, name) for name in SHAPE.candidates)
    logs = [math.log(b / a) for a, b in zip(disk, memory, strict=True)]
    mean = sum(logs) / BLOCKS
    error = math.sqrt(sum((each - mean) ** 2 for each in logs) / (BLOCKS - 1) / BLOCKS)
    ratio = ratio_of(memory, disk)[0]
    stretched_near = 1  # the effect is many times as far from 1 as the boundary
    return [TOP, stretched_near, 0.02, BLOCKS, ratio, math.exp(CRITICAL[BLOCKS] * error)]


def _odd_machine(root: Path) -> list[float]:
    """Canaries with a CPU that was off the median by more than a twentieth, of all."""
    [(odd, of)] = rows(
        root,
        "SELECT COUNT(*) FILTER (ABS(one_rounds_per_s / middle - 1) > 0.05), COUNT(*) "
        "FROM canaries, (SELECT MEDIAN(one_rounds_per_s) AS middle FROM canaries)",
    )
    return [odd, of]


TITLES: Mapping[str, Expected] = {
    "cost": _costs,
    "users-within": lambda root: [LIMIT_S, *(_within(root, name) for name in SHAPE.candidates)],
    "response-throughput": _served,
    "verdict-by-block": lambda root: [BLOCKS],
    "canaries": _odd_machine,
}

CAPTIONS: Mapping[str, Expected] = {
    "cost": lambda root: [TOP, 0.95],
    "users-within": lambda root: [LIMIT_S],
    "response-throughput": lambda root: [0.95],
    "verdict-by-block": _verdict,
    "canaries": lambda root: [],
}


@pytest.mark.parametrize("name", TITLES)
def test_all_numbers_of_title_and_caption_follow_from_the_files(
    name: str, root: Path, figures: Mapping[str, Figure]
) -> None:
    """All of them, rounded, in their order."""
    assert_told(figures[name].title, TITLES[name](root))
    assert_told(figures[name].caption, CAPTIONS[name](root))


def test_every_figure_of_these_families_is_among_them(figures: Mapping[str, Figure]) -> None:
    """A new one without its numbers fails."""
    assert set(figures) == set(TITLES) == set(CAPTIONS)
