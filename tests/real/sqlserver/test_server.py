"""A real SQL Server, or what speaks like one, which `STITHY_TEST_SQLSERVER` names."""

import os
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from stithy.clock import SystemClock
from stithy.collectors import database
from stithy.engines.engine import declaration
from stithy.engines.instance import Demand, Mark, kept_of
from stithy.engines.sqlserver.connection import connect
from stithy.engines.sqlserver.given import parse_url
from stithy.engines.sqlserver.remote import RemoteSQLServer, connect_remote
from stithy.errors import PreconditionError
from stithy.secrets import Secret

pytestmark = pytest.mark.needs_sqlserver
MARK = Mark("testrun", {"pid": "1"}, "a")
ROWS = (
    "CREATE TABLE t (a int PRIMARY KEY, b varchar(9), c decimal(8, 2), d datetime2(6),"
    " e varbinary(max))",
    "INSERT INTO t VALUES (1, 'x', 1.25, '2020-01-01', 0x0102), (2, NULL, 3, NULL, NULL),"
    " (3, '', 0, NULL, NULL)",
    "CREATE TABLE u (a int PRIMARY KEY REFERENCES t (a))",
    "CREATE PROCEDURE p AS SELECT 1",
)


@pytest.fixture
def there() -> Iterator[RemoteSQLServer]:
    """A database that a run has made; nothing of it stays."""
    given = urlsplit(os.environ["STITHY_TEST_SQLSERVER"])
    name = f"stithy_test_{os.getpid()}"
    remote = connect_remote(Secret(given._replace(path=f"/{name}").geturl()))
    remote.check(Demand(sessions=4))
    remote.claim(MARK)
    try:
        yield remote
    finally:
        remote.give_back(MARK.run_id)
        assert remote.mark() is None


def run(there: RemoteSQLServer, *statements: str) -> None:
    """In the database."""
    with connect(parse_url(there.url)) as session:
        for statement in statements:
            session.run(statement)


def test_a_database_is_made_loaded_and_given_back(there: RemoteSQLServer) -> None:
    """Its rows have checksums, whatever their order; another run gives nothing back."""
    run(there, *ROWS)
    there.finish_loading(0)
    rows = there.checksums()
    assert [text.partition(",")[0] for text in rows.values()] == ["3 rows", "0 rows"]
    first = "INSERT INTO t VALUES (1, 'x', 1.25, '2020-01-01', 0x0102)"
    run(there, "DELETE FROM t WHERE a = 1", first)
    assert there.checksums() == rows
    for change in ("b = '' WHERE a = 2", "b = NULL, e = 0x00 WHERE a = 2"):
        run(there, f"UPDATE t SET {change}")
        assert there.checksums() != rows, "nothing is not an empty text"
    there.give_back("another")
    assert there.mark() == MARK
    there.empty()
    assert there.checksums() == {}
    assert there.ended_by() is None
    assert there.facts().settings["edition"]


def test_every_metric_has_a_value_or_a_reason(there: RemoteSQLServer) -> None:
    """Those that all engines have, and its own."""
    collector = there.activity(SystemClock())
    try:
        assert collector.sample() == []
        found = collector.sample()
    finally:
        collector.close()
    own = {metric.name for metric in (*database.COMMON, *declaration("sqlserver").metrics)}
    assert {of.metric for of in found} | {"waiting_sessions_by_event"} == own
    assert all((of.value is None) == bool(of.missing_because) for of in found)


@pytest.mark.parametrize("way", ["snapshot", "backup"])
def test_what_was_kept_comes_back(there: RemoteSQLServer, way: str) -> None:
    """After changes, by each of its own restores; one that the server lacks is refused so."""
    settings = {"native_restore": way}
    there.give_back(MARK.run_id)
    mark = Mark(MARK.run_id, MARK.owner, "a", settings, keeps_inside=way == "backup")
    there.claim(mark)
    run(there, *ROWS)
    rows, name = there.checksums(), f"{kept_of(MARK.run_id)}c0kept1"
    try:
        there.keep(name)
    except PreconditionError as refused:
        pytest.skip(refused.text)
    run(there, "DELETE FROM t")
    there.restore(name)
    assert there.checksums() == rows
