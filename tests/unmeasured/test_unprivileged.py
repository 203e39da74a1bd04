"""Without any rights everything works but the memory limit, and that is said."""

import os
from pathlib import Path

import pytest

from conftest import Unprivileged
from support.running import Stithy, left_by, manifest, window_row, write_study

pytestmark = [pytest.mark.needs_postgresql, pytest.mark.needs_unprivileged]


def test_a_user_without_rights_gets_a_report(place: Path, unprivileged: Unprivileged) -> None:
    """Every window carries the note that its memory was not limited, where it was not."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="1 s")
    if os.geteuid() == 0:
        os.chown(place, 65534, 65534)
    stithy = Stithy(place / "state", prefix=unprivileged.stithy())
    ended = stithy.run("run", study, "--out", place / "out")
    assert ended.returncode == 0, ended.stderr
    assert (place / "out/report.html").exists()
    row = window_row(place / "out", "w-a-u1-b0")
    assert row["complete"], row["missing_because"]
    if not row["memory_limit_enforced"]:
        assert "was not enforced: " in row["memory_limit_note"]
        assert row["memory_limit_bytes"] is None
        assert "was not enforced" in ended.stderr
    assert manifest(place / "out")["memory"]["enforced"] == row["memory_limit_enforced"]
    assert left_by(place / "out") == []
    assert stithy.registered() == []
    assert not (place / "a").exists()
