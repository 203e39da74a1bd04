"""The block that is shown where not all can be."""

from dataclasses import replace
from pathlib import Path

from stithy.analysis.answers.typical import median_block
from stithy.analysis.evidence import Evidence
from stithy.analysis.verdict.asked import Asked
from stithy.metrics import Quantity
from stithy.report.context import context_of
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(users=(1, 4), repeat=4, series=False)


def _evidence(root: Path, shape: Shape = SHAPE) -> Evidence:
    build_run(root, shape)
    return context_of(read_run(root)).evidence


def _nopm(**by_block: float) -> dict[str, dict[str, float]]:
    return {
        window_id(name, 4, int(block[1:])): {"nopm": value}
        for block, value in by_block.items()
        for name in ("disk", "memory")
    }


def test_the_block_in_the_middle_is_shown(tmp_path: Path) -> None:
    """By the metric asked, over all candidates; of four it is the second lowest."""
    changes = _nopm(b0=400.0, b1=100.0, b2=300.0, b3=200.0)
    block = median_block(_evidence(tmp_path, replace(SHAPE, changes=changes)), 4)
    assert block is not None
    assert (block.number, block.among) == (3, 4)
    assert block.value is not None
    assert round(block.value, 6) == 200.0
    assert set(block.windows) == {"disk", "memory"}


def test_a_block_that_lost_a_candidate_is_not_the_typical_one(tmp_path: Path) -> None:
    """Those with most valid candidates are chosen from."""
    changes = _nopm(b0=400.0, b1=100.0, b2=300.0, b3=200.0)
    changes[window_id("disk", 4, 3)]["lateness_p99_s"] = 1.0
    block = median_block(_evidence(tmp_path, replace(SHAPE, changes=changes)), 4)
    assert block is not None
    assert (block.number, block.among) == (2, 3)


def test_where_a_window_has_no_value_of_what_is_asked_nopm_decides(tmp_path: Path) -> None:
    """A percentile of too few values supports nothing."""
    asked = Asked(metric=Quantity("p99.9"), users=4)
    block = median_block(replace(_evidence(tmp_path), asked=asked), 4)
    assert block is not None
    assert block.metric == Quantity("nopm")


def test_blocks_of_which_one_did_nothing_have_no_middle(tmp_path: Path) -> None:
    """Nothing has no logarithm: the first block is shown, without a value."""
    block = median_block(_evidence(tmp_path, replace(SHAPE, changes=_nopm(b2=0.0))), 4)
    assert block is not None
    assert (block.number, block.value) == (0, None)


def test_without_a_valid_window_the_first_one_is_shown(tmp_path: Path) -> None:
    """Hollow and with its reason, rather than nothing."""
    late = {
        window_id(name, 4, block): {"lateness_p99_s": 1.0}
        for name in ("disk", "memory")
        for block in range(4)
    }
    evidence = _evidence(tmp_path, replace(SHAPE, changes=late))
    block = median_block(evidence, 4)
    assert block is not None
    assert not any(window.valid for window in block.windows.values())
    assert median_block(evidence, 99) is None
