"""What a server said last, for a message of one line."""

from stithy.database.engines.postgresql.server import last_words

STARTING = "FATAL:  the database system is starting up"


def test_errors_are_told_before_anything_else() -> None:
    """At most three, the latest."""
    lines = ["ERROR: a", "LOG: x", "ERROR: b", "PANIC: c", "LOG: y", "FATAL: d"]
    assert last_words(lines) == "ERROR: b | PANIC: c | FATAL: d"


def test_without_errors_the_last_lines_are_told() -> None:
    """Stithy's own probes are no errors of the server."""
    assert last_words(["LOG: x", STARTING, "LOG: y"]) == "LOG: x | LOG: y"


def test_a_silent_server_is_said_to_be_silent() -> None:
    """Never an empty message."""
    assert last_words([STARTING]) == "it wrote nothing"
