"""Which windows were lost, and which are typical."""

from dataclasses import replace
from pathlib import Path

from stithy.analysis.answers.windows import Lost, MeasuredAgain, lost, measured_again, median_block
from stithy.analysis.evidence import Evidence
from stithy.analysis.validity.reasons import Flag
from stithy.report.context import context_of
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

LATE = {"lateness_p99_s": 1.0}


def evidence(root: Path, **shape: object) -> Evidence:
    """Of two blocks at one level."""
    usual = {"users": (4,), "repeat": 2, "duration_s": 2, "series": False}
    build_run(root, Shape(**{**usual, **shape}))  # type: ignore[arg-type]  # by their names
    return context_of(read_run(root)).evidence


def test_each_candidate_has_its_own_count(tmp_path: Path) -> None:
    """With the flags, the most frequent first; a block's second attempt counts as well."""
    changes = {
        "w-disk-u4-b0": LATE,
        "w-disk-u4-b0-again": LATE,
        "w-disk-u4-b1": {**LATE, "errors": 1},
    }
    found = lost(evidence(tmp_path, changes=changes, again=frozenset({(4, 0)})))
    flags = ((Flag.DRIVER_LATE, 3), (Flag.ERRORS, 1))
    assert dict(found[0].flags) == dict(flags)
    assert found[0].flags[0] == flags[0]
    assert (found[0].windows, found[0].invalid) == (3, 3)
    assert found[1] == Lost("memory", 3, 0, ())


def test_a_block_measured_again_is_told_with_what_came_of_it(tmp_path: Path) -> None:
    """Whether its second attempt is valid."""
    changes = {"w-disk-u4-b0": LATE, "w-disk-u4-b1": LATE, "w-memory-u4-b1-again": LATE}
    found = measured_again(evidence(tmp_path, changes=changes, again=frozenset({(4, 0), (4, 1)})))
    assert found == (MeasuredAgain(4, 0, valid=True), MeasuredAgain(4, 1, valid=False))


def test_where_all_is_well_nothing_is_lost(tmp_path: Path) -> None:
    """Counts of zero."""
    found = evidence(tmp_path)
    assert [each.invalid for each in lost(found)] == [0, 0]
    assert measured_again(found) == ()


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


def test_a_block_that_lost_a_candidate_is_not_the_typical_one(tmp_path: Path) -> None:
    """Those with most valid candidates are chosen from."""
    changes = _nopm(b0=400.0, b1=100.0, b2=300.0, b3=200.0)
    changes[window_id("disk", 4, 3)]["lateness_p99_s"] = 1.0
    block = median_block(_evidence(tmp_path, replace(SHAPE, changes=changes)), 4)
    assert block is not None
    assert (block.number, block.among) == (2, 3)


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
