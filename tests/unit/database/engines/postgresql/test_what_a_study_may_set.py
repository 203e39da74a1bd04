"""What a study may set of PostgreSQL, and how large its log then gets."""

import pytest

from stithy.database.engines.postgresql import OWNED_SETTINGS, log_bytes
from stithy.database.engines.postgresql.settings import FIXED

GIB = 2**30


def test_nothing_that_stithy_fixes_can_be_given() -> None:
    """It would win over Stithy's own value, and break what depends on it."""
    assert set(FIXED) <= set(OWNED_SETTINGS)


@pytest.mark.parametrize(
    ("settings", "expected_bytes"),
    [
        ({}, GIB),
        ({"max_wal_size": "4GB"}, 4 * GIB),
        ({"Max_WAL_size": "512 MB"}, GIB // 2),
        ({"max_wal_size": "256"}, GIB // 4),
        ({"max_wal_size": "nonsense"}, GIB),
    ],
)
def test_the_log_is_bounded_by_its_setting_and_a_fifth(
    settings: dict[str, str], expected_bytes: int
) -> None:
    """A bare number is megabytes, as the server has it; nonsense is the server's to refuse."""
    assert log_bytes(settings) == pytest.approx(expected_bytes * 1.2)
