"""What SQLite says of settings, and what of a study it refuses before anything starts."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from stithy.engines.backup import BackupOptions
from stithy.engines.engine import get_engine
from stithy.engines.instance import Configuration, Request
from stithy.errors import InfrastructureError, Refused
from stithy.hosts.host import LocalHost
from stithy.secrets import Secret

SQLITE = get_engine("sqlite")


def test_all_that_it_cannot_have_is_said_at_once() -> None:
    """Pages of another size than the loaded database has, programs, options of a backup."""
    request = Request(
        host=LocalHost(), configuration=Configuration({}, 2**28), connections_max=1,
        password=Secret(""), own=[("candidates.b", Configuration({"page_size": "8192"}, 2**28))],
        backups=[("vacuum", BackupOptions(bytes_per_s=1)), ("online", BackupOptions(processes=2))],
        programs="3.40",
    )  # fmt: skip
    with pytest.raises(Refused) as caught:
        SQLITE.configure(request).check()
    for word in ("candidates.b.settings.page_size", "database.programs", "bandwidth", "processes"):
        assert word in caught.value.text


def test_its_own_check_finds_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in a sound file, pages that are gone in another; what cannot be read is no damage."""
    file = tmp_path / "db"
    asked: Any = SimpleNamespace(url=Secret(f"sqlite://{file}"))
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE t (a)")
        database.executemany("INSERT INTO t VALUES (?)", [("x" * 3000,)] * 9)
    assert SQLITE.find_damage(asked) == ""
    with file.open("r+b") as writing:
        writing.seek(2 * 4096)
        writing.write(b"\xff" * 4096)
    assert "malformed" in str(SQLITE.find_damage(asked))
    failing = Mock(side_effect=sqlite3.OperationalError("disk I/O error"))
    monkeypatch.setattr("stithy.engines.sqlite.copies.check", failing)
    with pytest.raises(InfrastructureError, match="cannot be read: disk I/O error"):
        SQLITE.find_damage(asked)
    file.unlink()
    with pytest.raises(InfrastructureError, match="cannot be read"):
        SQLITE.find_damage(asked)
