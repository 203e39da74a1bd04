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
from stithy.study.load import parse_study
from support.studies import problems

SQLITE = get_engine("sqlite")
STUDY = """study: Which?
candidates: {a: {path: /a}, b: {path: /b}}
database:
  engine: sqlite
  memory: 64 MiB
  settings:
    SETTING
workload: {name: order-entry, warehouses: 1}
load: {users: [1]}
"""


@pytest.mark.parametrize(("setting", "words"), [
    ("journal: memory", "one of wal, delete"),
    ("cache_kb: 2", "did you mean `cache_kib`"),
    ("page_size: 5000", "a power of two"),
    ("busy_timeout_ms: -1", "a whole number from 0 to 3,600,000"),
])  # fmt: skip
def test_a_setting_is_refused_at_its_line(setting: str, words: str) -> None:
    """With what would be right; others of another case are read."""
    [problem] = problems(STUDY.replace("SETTING", setting))
    assert words in problem.text
    assert problem.where.startswith("study.yaml:7:")
    parse_study("study.yaml", STUDY.replace("SETTING", "Journal: WAL").encode())


@pytest.mark.parametrize(("settings", "word"), [
    ({}, None),
    ({"synchronous": "EXTRA", "journal": "delete"}, None),
    ({"journal": "delete"}, "synchronous extra waits for it"),
    ({"journal": "truncate"}, None),
    ({"synchronous": "Normal"}, "a power cut may lose the last commits"),
    ({"synchronous": "normal", "journal": "delete"}, "damaged"),
    ({"synchronous": "off"}, "nothing is flushed"),
])  # fmt: skip
def test_durability_given_up_is_named(settings: dict[str, str], word: str | None) -> None:
    """By what a power cut may take; a kill of the driver takes nothing."""
    given = SQLITE.list_given_up(settings)
    assert given == {} if word is None else word in given["synchronous"]


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
