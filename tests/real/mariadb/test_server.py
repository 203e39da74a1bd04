"""A real MariaDB: as a database by URL, and backed up and restored by each method."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.engines.backup import BackupJob, BackupOptions, Source
from stithy.engines.engine import get_engine
from stithy.engines.instance import Demand, Mark
from stithy.engines.mariadb.connection import connect
from stithy.engines.mariadb.engine import MariaDB
from stithy.engines.mariadb.server import MariaDBServer
from stithy.engines.mariadb.url import parse_url
from stithy.errors import PreconditionError, UserError
from stithy.hosts.runner import Command, LocalRunner, find_server_user
from stithy.secrets import Secret
from support import servers

pytestmark = pytest.mark.needs_mariadb
MARIADB = get_engine("mariadb")


@contextmanager
def running(
    place: Path, settings: Mapping[str, str] | None = None
) -> Iterator[tuple[MariaDB, MariaDBServer]]:
    """A server on an empty database, whose undo lies elsewhere."""
    engine = MariaDB(servers.request(settings))
    engine.initialise(place / "data", place)
    undo = (place / "data/undo").rename(place / "elsewhere")
    (place / "data/undo").symlink_to(undo)
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
            MARIADB.connect_remote(server.url).check(Demand())
        remote = MARIADB.connect_remote(server.control)
        with pytest.raises(PreconditionError, match="1000 of users"):
            remote.check(Demand(sessions=1000))
        run(server, "CREATE TABLE other (a INT)")
        with pytest.raises(PreconditionError, match="it holds the table other"):
            remote.check(Demand())
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


OF_NO_USE = (
    ("stithy_admin:x", "DO 1", "correct user and password"),
    ("none:p", "DO 1", "GRANT ALL ON the database"),
    ("poor:p", "DO 1", "lacks ALTER ROUTINE, CREATE ROUTINE, EXECUTE on the database"),
    ("poor:p", "GRANT ALL ON stithy.* TO PUBLIC", "GRANT SUPER"),
    ("", "SET GLOBAL local_infile = OFF", "SET GLOBAL local_infile = ON"),
    ("", "SET GLOBAL local_infile = ON", ""),
    ("", "SET GLOBAL max_prepared_stmt_count = 99", "raise max_prepared_stmt_count"),
    ("", "SET GLOBAL max_prepared_stmt_count = 9999", ""),
    ("", "SET GLOBAL max_connections = 25", "20 of users and 10 of Stithy are needed"),
    ("", "SET GLOBAL max_connections = 99", ""),
    ("", "SET GLOBAL read_only = ON", "name the primary"),
    ("", "DROP DATABASE stithy", "create the database"),
)
"""Accounts with their passwords, what is done before, and what is said of it, if anything."""


def test_a_server_of_no_use_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong with version, account, rights, settings and room is said with its remedy."""
    with servers.server_place() as place, running(place) as (_, server):
        url = server.control.reveal()
        rights = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX"
        run(server, "CREATE USER none@localhost IDENTIFIED BY 'p'",
            "CREATE USER poor@localhost IDENTIFIED BY 'p'",
            f"GRANT {rights} ON stithy.* TO poor@localhost")  # fmt: skip
        with connect(parse_url(server.control)) as session:
            for account, statement, words in OF_NO_USE:
                session.run(statement)
                given = url if not account else f"mariadb://{account}@{url.partition('@')[2]}"
                with pytest.raises(PreconditionError) if words else nullcontext() as caught:
                    MARIADB.connect_remote(Secret(given)).check(Demand(sessions=20))
                assert caught is None or words in caught.value.text
            session.run("CREATE DATABASE stithy")
            names = {str(name) for (name,) in session.run("SHOW DATABASES")}
            assert names.isdisjoint({"redo", "tmp", "undo"})
        monkeypatch.setattr("stithy.engines.mariadb.remote.OLDEST", (99, 1))
        with pytest.raises(PreconditionError, match=r"has version 1\d.*, older than 99.1"):
            MARIADB.connect_remote(server.control).check(Demand())


def test_tables_are_compressed_once_loaded() -> None:
    """Files are smaller; pages that are no smaller, and two ways at once, are refused."""
    rows = "INSERT INTO t SELECT seq, REPEAT(seq, 20) FROM seq_1_to_20000"
    sizes = []
    for settings in ({}, {"Key_Block_Size": "4"}, {"innodb_compression_default": "ON"}):
        with servers.server_place() as place, running(place, settings) as (_, server):
            run(server, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(200))", rows)
            before = server.checksums()
            server.finish_loading(0)
            assert server.checksums() == before != {}
            sizes.append((place / "data/stithy/t.ibd").stat().st_size)
            reduction = MARIADB.measure_reduction(server.data, settings)
            assert reduction is None if not settings else reduction is not None and reduction > 3
            if "Key_Block_Size" in settings:
                run(server, f"CREATE TABLE wide (a INT, {COLUMNS})")
                with pytest.raises(UserError, match="wide cannot be compressed"):
                    server.finish_loading(0)
    assert sizes[1] < sizes[0] / 2
    assert sizes[2] == sizes[0]  # what is saved there are holes
    for more, words in (
        ({"innodb_page_size": "4k"}, "cannot stand for one of 4 KiB"),
        ({"innodb_page_size": "32k"}, "cannot stand for one of 32 KiB"),
        ({"innodb_compression_default": "ON"}, "by the page"),
    ):
        with pytest.raises(UserError, match=words):
            MariaDB(servers.request({"key_block_size": "8", **more})).check()


COLUMNS = ", ".join(f"c{n} CHAR(200)" for n in range(38))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("copy", BackupOptions(processes=2, compression="gzip")),
        ("chain", BackupOptions(processes=2, compression="zstd", kind="incremental")),
        pytest.param("chain", BackupOptions(kind="differential"), marks=pytest.mark.long),
        ("dump", BackupOptions()),
        ("prepared-copy", BackupOptions(processes=2)),
    ],
)
def test_a_backup_has_all_rows(method: str, options: BackupOptions) -> None:
    """Restored into another directory, while the first server goes on. Long: the other chain."""
    user = find_server_user()
    with servers.server_place() as place, running(place) as (engine, server):
        backup, others = MARIADB.get_backup(method), servers.make_folder(place, "o")
        job = BackupJob(engine.check().programs, options, servers.make_folder(place, "b"))
        run(server, "CREATE TABLE t (a INT PRIMARY KEY, b CHAR(99))",
            "INSERT INTO t SELECT seq, REPEAT('x', 90) FROM seq_1_to_5000")  # fmt: skip

        def do(command: Command) -> None:
            finished = LocalRunner().run(replace(command, user=user.name if user else None))
            assert finished.code == 0, finished.stderr

        tool = backup.identify_tool(job.programs, LocalRunner().run)
        assert re.fullmatch(r"mariadb-\w+ [\d.]+", tool)
        source = Source(server.url, server.data)
        if backup.keeps_repository:
            do(backup.back_up(replace(job, options=replace(options, kind="full")), source))
            for number in (5001, 5002, 5003):
                run(server, f"INSERT INTO t VALUES ({number}, 'later')")
                do(backup.back_up(job, source))
            kept = sorted(path.name for path in job.folder.iterdir())
            assert len(kept) == (4 if options.kind == "incremental" else 2)
            assert backup.locate_last(job.folder).name == kept[-1]
        else:
            with connect(parse_url(server.control)) as other:  # what is not committed is undone
                other.run("BEGIN")
                other.run("DELETE FROM t WHERE a % 2 = 0")
                do(backup.back_up(job, source))
        data = servers.make_folder(others, "data")
        if backup.loads_rows:
            engine.initialise(data, others)
        for command in [] if backup.loads_rows else backup.restore(job, data):
            do(command)
        temp = servers.make_folder(others, "temp")
        restored = engine.start(replace(servers.start(others), temp=temp))
        try:
            assert (temp / "ibtmp1").exists()
            assert len([*(data / "undo").iterdir()]) == 3
            for command in backup.load(job, Source(restored.url, data)):
                do(command)
            assert restored.checksums() == server.checksums() != {}
        finally:
            restored.stop()
