"""Live numbers of a real run: asked for while a window is measured, gone when it ends."""

import pytest

from support.finished import NOW, Finished
from support.running import window_row

pytestmark = pytest.mark.needs_postgresql


def test_a_run_tells_where_it_stands_until_it_ends(finished: Finished) -> None:
    """The numbers are those of the window under way; the password is not among them."""
    ((labels, tpm, _),) = finished.live[NOW].samples
    ((step, _, _),) = finished.live["stithy_run_step"].samples
    assert labels["window"] == f"w-{step['candidate']}-u{labels['users']}-b0"
    assert tpm >= 0
    assert (step["kind"], step["run"]) == ("window", "out")
    assert finished.code == 0, finished.stderr
    assert window_row(finished.out, labels["window"])["complete"]
    assert not finished.answers_after_end
