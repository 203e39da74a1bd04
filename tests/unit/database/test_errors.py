"""The four classes of a server's errors, and which engine a URL belongs to."""

import pytest

from stithy.engines import ErrorClass, declaration, engine_of
from stithy.errors import UserError
from stithy.secrets import Secret

NO_ROOM = 'could not extend file "base/1": No space left on device'
SHARED = 'could not resize shared memory segment "/x": No space left on device'


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("40001", "could not serialize access", "retryable"),
        ("40P01", "deadlock detected", "retryable"),
        ("53100", NO_ROOM, "full"), (None, f"[7] PANIC:  {NO_ROOM}", "full"),
        ("53100", SHARED, "other"), (None, SHARED, "other"), ("58030", NO_ROOM, "other"),
        ("08006", "connection failure", "lost"), ("57P01", "terminating connection", "lost"),
        ("57014", "canceling statement", "other"), (None, "checkpoint complete", "other"),
    ],
)  # fmt: skip
def test_an_error_has_one_of_four_classes(
    code: str | None, text: str, expected: ErrorClass
) -> None:
    """By its code; a line of the log by its words. Shared memory is not the volume."""
    assert declaration("postgresql").error_class(code, text) == expected


def test_results_of_an_engine_that_is_not_here_can_be_read_all_the_same() -> None:
    """Whatever it said, nobody knows what it meant."""
    assert declaration("not-here").error_class("53100", NO_ROOM) == "other"


def test_a_url_of_no_engine_is_refused_with_what_one_begins_with() -> None:
    """Without the rest of it, which may hold a password."""
    with pytest.raises(UserError, match=r"begin with 'ftp'.*postgresql://") as caught:
        engine_of(Secret("ftp://me:secret@host/db"))
    assert "secret" not in str(caught.value)
