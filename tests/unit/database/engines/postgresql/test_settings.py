"""PostgreSQL's settings as text, and what a server's refusal says."""

from stithy.database.engines.postgresql.settings import (
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
