"""Ids and seeds are the same for ever."""

from hypothesis import given
from hypothesis import strategies as st

from stithy.plan.ids import derive_seed, window_id

NAME = st.from_regex(r"[a-z0-9][a-z0-9-]{0,12}", fullmatch=True)
WINDOW = st.tuples(NAME, st.integers(1, 10**5), st.integers(0, 999))


def test_an_id_says_what_the_window_is() -> None:
    """It is also the name of the window's directory."""
    assert window_id("disk", 4, 0) == "w-disk-u4-b0"


@given(WINDOW, WINDOW)
def test_different_windows_have_different_ids(
    one: tuple[str, int, int], other: tuple[str, int, int]
) -> None:
    """Whatever the candidates are called."""
    assert (one == other) == (window_id(*one) == window_id(*other))


def test_a_seed_never_changes() -> None:
    """Old studies give their old plans; a change here breaks that and must be on purpose."""
    assert derive_seed(1, 4, 0) == 8962321159997215273


@given(st.integers(0, 2**63 - 1), st.integers(), st.text())
def test_a_seed_fits_a_signed_64_bit_column(seed: int, number: int, text: str) -> None:
    """Parquet, JSON and the hammer all hold it exactly."""
    assert 0 <= derive_seed(seed, number, text) < 2**63
