"""Whose windows were lost, and which blocks were measured once more."""

from pathlib import Path

from stithy.analysis.answers.lost import Lost, MeasuredAgain, lost, measured_again
from stithy.analysis.evidence import Evidence
from stithy.analysis.validity.flags import Flag
from stithy.report.context import context_of
from stithy.results.read import read_run
from support.sample_run import Shape, build_run

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
