"""A real MySQL: as a database by URL, what it refuses, what it counts, and its backup."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy.clock import SystemClock
from stithy.engines.backup import BackupJob, BackupOptions, Source
from stithy.engines.engine import get_engine
from stithy.engines.instance import Demand, Instance, Mark
from stithy.engines.mariadb.connection import connect
from stithy.engines.mariadb.engine import MySQL
from stithy.engines.mariadb.server import MySQLServer
from stithy.engines.mariadb.url import parse_url
from stithy.errors import PreconditionError, Refused, UserError
from stithy.hosts.runner import LocalRunner
from stithy.secrets import Secret
from support import servers

pytestmark = pytest.mark.needs_mysql
MYSQL = get_engine("mysql")
RIGHTS = "GRANT PROCESS, SYSTEM_VARIABLES_ADMIN ON *.* TO stithy@localhost"
ROWS = (
    "INSERT INTO t WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < 900)"
    " SELECT a, REPEAT('x', 90) FROM n"
)


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory of the server's user."""
    with servers.server_place() as made:
        yield made


@pytest.fixture(scope="module")
def engine(place: Path) -> MySQL:
    """As a study asks for it, with an empty database."""
    engine = MySQL(servers.request())
    engine.initialise(place / "data", place)
    return engine


@pytest.fixture(scope="module")
def server(engine: MySQL, place: Path) -> Iterator[Instance]:
    """A server on it."""
    server = engine.start(servers.start(place))
    try:
        yield server
    finally:
        server.stop(at_once=True)


def run(server: Instance, *statements: str) -> None:
    """Run statements as Stithy's own account."""
    assert isinstance(server, MySQLServer)
    with connect(parse_url(server.control)) as session:
        for statement in statements:
            session.run(statement)


def test_a_database_by_url_is_checked_claimed_and_given_back(server: Instance) -> None:
    """Rights are asked for; what MySQL counts elsewhere is counted; what a run made goes."""
    remote = MYSQL.connect_remote(server.url)
    with pytest.raises(PreconditionError, match="may not make checkpoints"):
        remote.check(Demand())
    run(server, RIGHTS)
    remote.claim(Mark("r1", {"pid": "1"}, "a"))
    before = remote.maintenance()
    run(server, "CREATE TABLE t (a INT PRIMARY KEY, b CHAR(99))", ROWS)
    remote.finish_loading(0)
    after = remote.maintenance()
    assert (after.log_position_bytes or 0) - (before.log_position_bytes or 0) > 900 * 90
    assert (after.pages_written or 0) > (before.pages_written or 0)
    samples = remote.activity(SystemClock())
    samples.sample()
    values = {sample.metric: sample.value for sample in samples.sample()}
    samples.close()
    assert {"checkpoint_age_bytes", "old_versions", "deadlocks_per_s"} <= {
        metric for metric, value in values.items() if value is not None
    }
    remote.give_back("r1")
    assert remote.mark() is None
    assert [*remote.checksums()] == []


def test_a_dump_has_all_rows(engine: MySQL, server: Instance, place: Path) -> None:
    """Loaded into another directory, while the first server goes on."""
    run(server, "CREATE TABLE t (a INT PRIMARY KEY, b CHAR(99))", ROWS)
    others, backup = servers.make_folder(place, "o"), MYSQL.get_backup("dump")
    job = BackupJob(engine.check().programs, BackupOptions(), servers.make_folder(place, "b"))
    assert backup.identify_tool(job.programs, LocalRunner().run).startswith("mysqldump ")
    data = servers.make_folder(others, "data")
    engine.initialise(data, others)
    restored = engine.start(servers.start(others))
    try:
        source = Source(server.url, place / "data")
        for command in (backup.back_up(job, source), *backup.load(job, Source(restored.url, data))):
            finished = LocalRunner().run(command)
            assert finished.code == 0, finished.stderr
        assert restored.checksums() == (found := MYSQL.connect(server.url).checksums()) != {}
        assert found["t"].startswith("900 rows")
    finally:
        restored.stop()


def test_what_cannot_be_is_refused() -> None:
    """A value that MySQL would change without a word, a word of MariaDB, backups of files."""
    given = {"innodb_flush_log_at_trx_commit": "7", "aria_pagecache_buffer_size": "8M"}
    with pytest.raises(Refused) as caught:
        MySQL(servers.request(given)).check()
    assert "7 adjusted to 2" in caught.value.text
    assert "aria_pagecache_buffer_size is not a setting" in caught.value.text
    with pytest.raises(UserError, match="no method of backup copy"):
        MYSQL.get_backup("copy")
    wrong = Secret("mysql://me:x@127.0.0.1:1/d")
    assert MYSQL.locate(wrong) == "127.0.0.1:1, database d"
