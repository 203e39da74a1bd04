"""Laws that hold whatever the storage does."""

from pathlib import Path

import pytest

from stithy.analysis.evidence import Window, gather
from stithy.analysis.identities import check
from stithy.report.context import frames
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id


def _window(root: Path, **changes: object) -> Window:
    name = window_id("disk", 4, 0)
    build_run(root, Shape(candidates=("disk",), users=(4,), changes={name: changes}))
    return gather(frames(read_run(root))).windows[0]


def test_both_laws_hold_in_a_sound_window(tmp_path: Path) -> None:
    """Users equal throughput times response time, and the whole its parts."""
    users, parts = check(_window(tmp_path))
    assert (users.holds, parts.holds) == (True, True)
    assert users.left == 4.0
    assert users.right == pytest.approx(4.0, rel=0.05)
    assert parts.off_share == pytest.approx(0.0, abs=1e-9)


def test_a_throughput_that_contradicts_the_response_times_is_seen(tmp_path: Path) -> None:
    """Half the transactions at the same response time break Little's law."""
    window = _window(tmp_path, transactions=1000, tpm=3000.0)
    users, parts = check(window)
    assert users.holds is False
    assert parts.holds is False


def test_a_window_without_numbers_has_no_laws_to_check(tmp_path: Path) -> None:
    """Nothing measured, nothing claimed."""
    assert check(_window(tmp_path, missing_because="stopped", tpm=None)) == ()


def test_a_law_whose_side_is_unknown_says_why(tmp_path: Path) -> None:
    """Without an end of the measurement neither side can be formed."""
    for identity in check(_window(tmp_path, measure_to_s=None)):
        assert identity.holds is None
        assert identity.missing_because
