"""What a study may set of PostgreSQL, and how large its log then gets."""

import pytest

from stithy.database.engines.postgresql import OWNED_SETTINGS, durability_given_up, log_bytes
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


@pytest.mark.parametrize(
    ("settings", "given_up"),
    [
        ({}, []),
        ({"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}, []),
        ({"fsync": "off"}, ["fsync"]),
        ({"fsync": "F"}, ["fsync"]),
        ({"fsync": "0", "full_page_writes": "no"}, ["fsync", "full_page_writes"]),
        ({"fsync": "o"}, []),
        ({"synchronous_commit": "OFF"}, ["synchronous_commit"]),
        ({"synchronous_commit": "local"}, []),
        (
            {"synchronous_commit": "local", "synchronous_standby_names": "one"},
            ["synchronous_commit"],
        ),
        ({"data_sync_retry": "on"}, ["data_sync_retry"]),
        ({"data_sync_retry": "off", "wal_sync_method": "open_datasync"}, []),
    ],
)  # fmt: skip
def test_what_gives_durability_up_is_known_as_the_server_reads_it(
    settings: dict[str, str], given_up: list[str]
) -> None:
    """Every spelling of a boolean; `local` is as durable as `on` where there is no standby."""
    found = durability_given_up(settings)
    assert list(found) == given_up
    assert all(len(because.split()) <= 25 for because in found.values())
