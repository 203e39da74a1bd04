"""Kept instances: what is started, what is told, where the password is."""

from pathlib import Path

import pytest

from stithy.run.executor import execute
from stithy.run.undoing.clean import clean
from stithy.storage.marks import read_mark
from support.faked_run import FakedRun
from support.running import left_by


def test_instances_are_kept_until_they_are_cleaned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A URL for each candidate, without a password; marks that keep other runs away."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))
    faked = FakedRun(tmp_path)
    outcome = execute(faked.start(), keep=True)
    assert sorted(outcome.kept) == ["a", "b"]
    # Loading, the check after it, four windows, two last checks, two instances.
    assert len(faked.engine.starts) == 10
    for url in outcome.kept.values():
        assert "secret" not in url
        passfile = Path(url.rpartition("passfile=")[2])
        assert passfile.read_text() == "*:*:*:*:secret\n"
        assert passfile.stat().st_mode & 0o777 == 0o600
    for name in ("a", "b"):
        mark = read_mark(tmp_path / name)
        assert mark is not None
        assert mark.in_use
        assert mark.owner is None
    [cleaned] = clean()
    assert cleaned.left == ()
    assert left_by(faked.out) == []
