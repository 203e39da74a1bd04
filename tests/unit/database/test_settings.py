"""What a study may set of PostgreSQL, how it is handed over, and what a server's refusal says."""

import pytest

from stithy.database.engines.postgresql import OWNED_SETTINGS, durability_given_up, log_bytes
from stithy.database.engines.postgresql.settings import (
    FIXED,
    complete,
    configuration,
    message,
    quoted,
    words,
)

MIB = 2**20


def test_the_studys_settings_win_over_stithys_defaults() -> None:
    """In whatever case they are written."""
    found = complete({"Shared_Buffers": "64MB", "work_mem": "5MB"}, 1024 * MIB, 8)
    assert found["shared_buffers"] == "64MB"
    assert found["work_mem"] == "5MB"
    assert found["huge_pages"] == "off"


def test_without_a_word_buffers_fit_the_memory_and_connections_the_users() -> None:
    """PostgreSQL's default where there is room, else a quarter of the memory."""
    assert complete({}, 1024 * MIB, 8)["shared_buffers"] == f"{128 * 1024}kB"
    assert complete({}, 64 * MIB, 8)["shared_buffers"] == f"{16 * 1024}kB"
    assert complete({}, 64 * MIB, 500)["max_connections"] == "520"
    assert complete({}, 64 * MIB, 8)["max_connections"] == "100"


def test_values_are_quoted_for_the_file_and_plain_for_the_command_line() -> None:
    """Quotes and backslashes are doubled."""
    assert quoted("it's \\ so") == "'it''s \\\\ so'"
    assert configuration({"a": "1", "b": ""}) == "a = '1'\nb = ''\n"
    assert words({"a": "x y"}) == ["-c", "a=x y"]


def test_a_refusal_is_told_in_the_servers_words_with_its_hint() -> None:
    """Time stamps and process ids help nobody."""
    lines = (
        '2026-01-01 00:00:00.000 GMT [7] FATAL:  invalid value for parameter "wal_level": "x"\n'
        "2026-01-01 00:00:00.000 GMT [7] HINT:  Available values: minimal, replica, logical.\n"
    )
    assert message(lines) == (
        'invalid value for parameter "wal_level": "x", Available values: minimal, replica, logical'
    )
    assert message("odd\n") == "odd"
    assert message("") == "no message"


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
