"""What is known of an engine that is not here, and which engine a URL belongs to."""

import pytest

from stithy.engines.engine import declaration, find_engine_of
from stithy.errors import UserError
from stithy.secrets import Secret


def test_results_of_an_engine_that_is_not_here_can_be_read_all_the_same() -> None:
    """Whatever it said, nobody knows what it meant."""
    assert declaration("not-here").error_class("53100", "No space left on device") == "other"


def test_a_defect_is_known_by_version() -> None:
    """As the server says it, with whatever a distribution adds."""
    defect = declaration("postgresql").find_defect
    for version in ("18.0", "18.1 (Debian 18.1-1)", "18rc1", "18beta2"):
        assert f"PostgreSQL {version.split()[0]} loses rows" in str(defect(version))
    for version in ("18.2", "18.10", "17.1", "15.18", ""):
        assert defect(version) is None


def test_a_url_of_no_engine_is_refused_with_what_one_begins_with() -> None:
    """Without the rest of it, which may hold a password."""
    with pytest.raises(UserError, match=r"begin with 'ftp'.*postgresql://") as caught:
        find_engine_of(Secret("ftp://me:secret@host/db"))
    assert "secret" not in str(caught.value)
