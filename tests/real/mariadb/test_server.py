"""A real MariaDB: as a database by URL, and backed up and restored by each method."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.engines.backup import BackupJob, BackupOptions, Source
from stithy.engines.engine import get_engine
from stithy.engines.instance import Mark
from stithy.engines.mariadb.connection import connect
from stithy.engines.mariadb.engine import MariaDB
from stithy.engines.mariadb.server import MariaDBServer
from stithy.engines.mariadb.url import parse_url
from stithy.errors import PreconditionError
from stithy.hosts.runner import Command, LocalRunner, find_server_user
from support import servers

pytestmark = pytest.mark.needs_mariadb
MARIADB = get_engine("mariadb")


@contextmanager
def running(place: Path) -> Iterator[tuple[MariaDB, MariaDBServer]]:
    """A server on an empty database."""
    engine = MariaDB(servers.request())
    engine.initialise(place / "data", place)
    server = engine.start(servers.start(place))
    try:
        yield engine, server
    finally:
        server.stop(at_once=True)


def run(server: MariaDBServer, *statements: str) -> None:
    """Run statements as Stithy's own account."""
    with connect(parse_url(server.control)) as session:
        for statement in statements:
            session.run(statement)


def test_a_database_by_url_is_checked_claimed_and_given_back() -> None:
    """Rights, room and what it holds are checked; a run removes what it made, and no other's."""
    with servers.server_place() as place, running(place) as (_, server):
        with pytest.raises(PreconditionError, match="may not make checkpoints"):
            MARIADB.connect_remote(server.url).check()
        remote = MARIADB.connect_remote(server.control)
        with pytest.raises(PreconditionError, match="1000 of users"):
            remote.check(sessions=1000)
        run(server, "CREATE TABLE other (a INT)")
        with pytest.raises(PreconditionError, match="it holds the table other"):
            remote.check()
        run(server, "DROP TABLE other")
        remote.claim(Mark("r1", {"pid": "1"}, "a"))
        run(server, "CREATE TABLE t (a INT PRIMARY KEY)", "CREATE PROCEDURE p() SELECT 1")
        remote.finish_loading(0)
        assert [*remote.checksums()] == ["t"]
        remote.give_back("another")
        assert remote.mark() == Mark("r1", {"pid": "1"}, "a")
        remote.give_back("r1")
        assert remote.mark() is None
        assert [*remote.checksums()] == []
        assert remote.ended_by() is None


@pytest.mark.parametrize(
    ("method", "options"),
    [("copy", BackupOptions(processes=2, compression="gzip")), ("dump", BackupOptions())],
)
def test_a_backup_has_all_rows(method: str, options: BackupOptions) -> None:
    """Restored into another directory, while the first server goes on."""
    user = find_server_user()
    with servers.server_place() as place, running(place) as (engine, server):
        backup, others = MARIADB.get_backup(method), servers.make_folder(place, "o")
        job = BackupJob(engine.check().programs, options, servers.make_folder(place, "b"))
        run(server, "CREATE TABLE t (a INT PRIMARY KEY, b CHAR(99))",
            "INSERT INTO t SELECT seq, REPEAT('x', 90) FROM seq_1_to_5000")  # fmt: skip

        def do(command: Command) -> None:
            finished = LocalRunner().run(replace(command, user=user.name if user else None))
            assert finished.code == 0, finished.stderr

        do(backup.back_up(job, Source(server.url, server.data)))
        data = servers.make_folder(others, "data")
        if backup.loads_rows:
            engine.initialise(data, others)
        for command in [] if backup.loads_rows else backup.restore(job, data):
            do(command)
        restored = engine.start(servers.start(others))
        try:
            for command in backup.load(job, Source(restored.url, data)):
                do(command)
            assert restored.checksums() == server.checksums() != {}
        finally:
            restored.stop()
