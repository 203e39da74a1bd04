"""What SQL Server says of URLs and settings, and what is asked of a server, which is played."""

import json
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Any

import pytest

from stithy.engines.backup import BackupOptions, ServerMethod
from stithy.engines.engine import get_engine
from stithy.engines.instance import Demand, Mark
from stithy.engines.sqlserver import endpoint, native
from stithy.engines.sqlserver.connection import ServerError
from stithy.engines.sqlserver.given import make_wish
from stithy.engines.sqlserver.remote import RemoteSQLServer
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.secrets import Secret
from stithy.study.load import parse_study

GIB = 2**30
SQLSERVER = get_engine("sqlserver")
URL = Secret("sqlserver://me:word@h/db")
STUDY = """study: Which?
candidates:
  a: {url: "sqlserver://me@h/a", settings: {data_files: /a/d1.mdf}}
  b: {url: "sqlserver://me@h/b"}
database:
  engine: sqlserver
  restore: reload
  settings:
    SETTING
workload: {name: order-entry, warehouses: 1}
load: {users: [1]}
"""


def test_a_candidate_has_settings_and_a_server_a_url() -> None:
    """A study may place the files of each candidate; a directory gets no SQL Server."""
    study = parse_study("s", STUDY.replace("SETTING", "Recovery: FULL").encode())
    given = study.give_database("a").settings
    assert {*given.values()} == {"FULL", "/a/d1.mdf"}
    managed = STUDY.replace("SETTING", "recovery: full")
    for old, new in (
        ('url: "sqlserver://me@h/a"', "path: /a"), ('url: "sqlserver://me@h/b"', "path: /b"),
        ("settings: {data_files: /a/d1.mdf}", "cpus: 1"), ("restore: reload", "memory: 1 GiB"),
    ):  # fmt: skip
        managed = managed.replace(old, new)
    with pytest.raises(UserError) as caught:
        parse_study("s", managed.encode())
    assert "sqlserver by URL only: its programs are installed" in caught.value.text


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "writes that page once more"),
        ({"Native_Restore": "backup", "recovery": "FULL"}, "all of a backup is read and written"),
    ],
)
def test_a_plan_says_what_is_set_and_what_restores_cost(
    settings: dict[str, str], words: str
) -> None:
    """The defaults, too; without a restore of its own nothing of that."""
    said = [*SQLSERVER.describe_settings(settings, keeps_inside=True)]
    assert f"recovery {settings.get('recovery', 'simple').lower()}," in said[0].lower()
    assert "auto_update_statistics off" in said[0]
    assert words in said[-1]
    assert any("nothing empties the log" in sentence for sentence in said) == bool(settings)
    assert not any(words in of for of in SQLSERVER.describe_settings(settings, keeps_inside=False))


class Played:
    """A session whose server gives the first of these answers whose words are in the question."""

    is_encrypted = True

    def __init__(self, *answers: Mapping[str, object]) -> None:
        """An answer is rows, or an error; the first of several mappings wins."""
        self.answers: dict[str, object] = {}
        self.asked: list[str] = []
        self.during: dict[str, Callable[[], object]] = {}
        self.add(*answers)

    def add(self, *answers: Mapping[str, object]) -> None:
        """Further answers, before those that it has."""
        for later in reversed(answers):
            self.answers = {**later, **{k: v for k, v in self.answers.items() if k not in later}}

    def run(self, sql: str, *parameters: object) -> list[Sequence[Any]]:
        """Answer, and remember."""
        self.asked.append(sql)
        for begin, happens in self.during.items():
            if sql.startswith(begin):
                happens()
        answer = next((of for words, of in self.answers.items() if words in sql), [])
        if isinstance(answer, StithyError):
            raise answer
        assert isinstance(answer, list)
        return answer

    def find(self, *begins: str) -> list[str]:
        """The statements that begin so."""
        return [sql for sql in self.asked if sql.startswith(begins)]

    def close(self) -> None:
        """Nothing is open."""

    def __enter__(self) -> "Played":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def refuse(number: int, text: str = "no") -> ServerError:
    """An error of the server."""
    error = ServerError(text, where="h", remedy="none")
    error.number, error.words = number, text
    return error


USUAL: Mapping[str, object] = {
    "'tempdb'": [("2026-01-01",)],
    "state_desc": [("ONLINE",)],
    "ProductVersion": [("16.0.4135.4", "Developer Edition", "Microsoft SQL Server 2022 - 16.0")],
    "HAS_PERMS": [(1,)],
    "user connections": [(32767,)],
    "COUNT(*)": [(3,)],
    "COLLATIONPROPERTY": [("Latin1_General_100_BIN2", 1252)],
}


def play(
    monkeypatch: pytest.MonkeyPatch, *answers: Mapping[str, object]
) -> tuple[RemoteSQLServer, Played]:
    """A database by URL on a played server."""
    session = Played(*answers, USUAL)
    monkeypatch.setattr(endpoint, "connect", lambda *_, **__: session)
    return RemoteSQLServer(URL), session


MISSING: Mapping[str, object] = {"state_desc": []}
HELD = [("table", "t"), ("sequence", "s"), ("procedure", "p"), ("table", "stithy_mark")]


@pytest.mark.parametrize(
    ("answers", "asked", "words"),
    [
        ({"ProductVersion": [("12.0.2", "Standard", "SQL Server 2014")]}, {}, "2016"),
        ({"ProductVersion": [("12.0.2", "SQL Azure", "SQL Azure")]}, {}, "Azure SQL"),
        ({"cntr_value": refuse(300)}, {}, "GRANT VIEW SERVER STATE"),
        ({**MISSING, "CREATE ANY DATABASE": [(0,)]}, {}, "may not make databases"),
        ({"ALTER SETTINGS": [(0,)]}, {"settings": {"max_server_memory": "1 GiB"}}, "SETTINGS"),
        ({"user connections": [(40,)]}, {"sessions": 40}, "`user connections`"),
        ({"state_desc": [("RESTORING",)]}, {}, "is RESTORING"),
        ({"is_ms_shipped = 0 AND type": HELD}, {}, "it holds the procedure p"),
        ({}, {"settings": {"data_files": "/a"}}, "its files are where they are"),
        ({"'CREATE PROCEDURE'": [(0,)]}, {}, "no right CREATE PROCEDURE"),
        ({"CREATE ANY DATABASE": [(0,)]}, {"keeps_inside": True}, "may not make databases"),
        ({"'BACKUP DATABASE'": [(0,)]}, {"backs_up": True}, "no right BACKUP DATABASE"),
        ({"CREATE ANY DATABASE": [(0,)]}, {"backs_up": True}, "may not make databases"),
        ({"ALTER ANY CONNECTION": [(0,)]}, {"backs_up": True}, "may not end a backup"),
        ({"ProductVersion": [("12.0", "Standard", "Babelfish")]}, {"backs_up": True}, "no backups"),
        ({"ProductVersion": [("16.0", "Express Edition", "SQL Server")]},
         {"backs_up": True, "settings": {"backup_compression": "on"}}, "compresses no backups"),
        ({"COLLATIONPROPERTY": [("SQL_Latin1_General_CP1_CI_AS", 1252)]}, {}, "COLLATE"),
        ({"COLLATIONPROPERTY": [("Latin1_General_100_BIN2_UTF8", 65001)]}, {}, "by their bytes"),
    ],
)  # fmt: skip
def test_a_server_of_no_use_is_refused(
    answers: dict[str, object], asked: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with one message that says what to do; without any of it the check passes."""
    remote, _ = play(monkeypatch, answers)
    with pytest.raises(PreconditionError) as caught:
        remote.check(Demand(**asked))
    assert words in caught.value.text
    play(monkeypatch)[0].check(Demand(sessions=30))


def test_a_claim_makes_sets_and_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files by their places and sizes, options with their defaults, the server's memory."""
    settings = {
        "Data_Files": "/v/d1.mdf, /w/d'2.ndf", "log_file": "/v/l1.ldf", "data_size": "4 GiB",
        "file_growth": "1 GiB", "delayed_durability": "forced", "max_server_memory": "2 GiB",
    }  # fmt: skip
    files = [("d1", 0, GIB), ("d2", 0, 3 * GIB), ("l1", 1, GIB)]
    answers = {**MISSING, "CONVERT(bigint, value)": [(512,)], "size) * 8192": files}
    remote, session = play(monkeypatch, answers)
    remote.claim(Mark("r1", {"pid": "1"}, "a", settings))
    assert session.find("CREATE DATABASE", "EXEC", "ALTER DATABASE [db] MODIFY") == [
        "CREATE DATABASE [db] ON PRIMARY (NAME = d1, FILENAME = N'/v/d1.mdf'),"
        " (NAME = d2, FILENAME = N'/w/d''2.ndf') LOG ON (NAME = l1, FILENAME = N'/v/l1.ldf')"
        " COLLATE Latin1_General_100_BIN2",
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE",
        "EXEC sp_configure N'max server memory (MB)', 2048; RECONFIGURE",
        "ALTER DATABASE [db] MODIFY FILE (NAME = [d1], SIZE = 2097152 KB, FILEGROWTH = 1048576 KB)",
        "ALTER DATABASE [db] MODIFY FILE (NAME = [d2], FILEGROWTH = 1048576 KB)",
        "ALTER DATABASE [db] MODIFY FILE (NAME = [l1], FILEGROWTH = 1048576 KB)",
    ]
    options = session.find("ALTER DATABASE [db] SET")
    assert "ALTER DATABASE [db] SET DELAYED_DURABILITY = FORCED" in options
    assert "ALTER DATABASE [db] SET RECOVERY SIMPLE" in options
    assert "ALTER DATABASE [db] SET AUTO_UPDATE_STATISTICS OFF" in options
    assert len(options) == 9


def read_mark(made: bool, **settings: str) -> list[Sequence[object]]:
    """The row of a mark; the server had less memory where one sets it."""
    before = {"max server memory (MB)": 512} if "max_server_memory" in settings else {}
    return [("r1", json.dumps({"pid": "1"}), "a", json.dumps(settings), made, json.dumps(before))]


MARKED = {"sys.tables WHERE name": [(1,)]}


@pytest.mark.parametrize(
    ("way", "kept", "restored"),
    [
        ("snapshot", ["CREATE DATABASE [k] ON (NAME = [d1], FILENAME = N'/d.mdf.k.ss')"
                      " AS SNAPSHOT OF [db]"],
         "RESTORE DATABASE [db] FROM DATABASE_SNAPSHOT = N'k'"),
        ("backup",
         ["BACKUP DATABASE [db] TO DISK = N'/b/k-1.bak', DISK = N'c:\\x\\k-2.bak' WITH CHECKSUM,"
          " STATS = 5, BUFFERCOUNT = 64, MAXTRANSFERSIZE = 4194304, COPY_ONLY, FORMAT, INIT,"
          " COMPRESSION, NAME = N'k'",
          "RESTORE VERIFYONLY FROM DISK = N'/b/k-1.bak', DISK = N'c:\\x\\k-2.bak' WITH CHECKSUM"],
         "RESTORE DATABASE [db] FROM DISK = N'/b/k-1.bak', DISK = N'c:\\x\\k-2.bak' WITH REPLACE,"
         " CHECKSUM, STATS = 5, BUFFERCOUNT = 64, MAXTRANSFERSIZE = 4194304"),
    ],
)  # fmt: skip
def test_a_restore_is_by_snapshot_or_backup(
    way: str, kept: list[str], restored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Alone in the database, which others may enter again even where it fails."""
    mark = read_mark(
        True, native_restore=way, backup_folders=r"/b, c:\x", backup_buffer_count="64",
        backup_transfer_size="4 MiB", backup_compression="on",
    )  # fmt: skip
    answers = {"SELECT run_id": mark, "physical_name": [("d1", "/d.mdf")], **MARKED}
    remote, session = play(monkeypatch, answers)
    remote.keep("k")
    assert session.find("CREATE", "BACKUP", "RESTORE") == kept
    session.asked.clear()
    session.add({restored: refuse(3101, "in use")})
    with pytest.raises(InfrastructureError, match="in use"):
        remote.restore("k")
    assert session.find("ALTER", "RESTORE") == [
        "ALTER DATABASE [db] SET SINGLE_USER WITH ROLLBACK IMMEDIATE", restored,
        "ALTER DATABASE [db] SET MULTI_USER",
    ]  # fmt: skip


@pytest.mark.parametrize("made", [True, False])
def test_a_run_gives_back_what_it_made(made: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole database, or what is in one that was there; its snapshots and backups alone."""
    remote, session = play(monkeypatch, {
        "SELECT run_id": read_mark(made, native_restore="backup"),
        "source_database_id": [("stithyr1c0kept1",), ("other",)],
        "backupset": [("/b/stithyr1.bak",)], "SELECT 1 FROM sys.databases": [(1,)],
        **MARKED, "is_ms_shipped = 0 AND type": HELD, "sys.foreign_keys": [("t", "t_fk")],
    })  # fmt: skip
    remote.give_back("another")
    assert session.find("DROP") == []
    if made:
        remote.give_back("r1")
        assert session.find("DROP") == ["DROP DATABASE [stithyr1c0kept1]", "DROP DATABASE [db]"]
        assert session.find("EXEC") == ["EXEC master.sys.xp_delete_file 0, N'/b/stithyr1.bak'"]
        return
    with pytest.raises(InfrastructureError, match="which the run did not make"):
        remote.give_back("r1")  # this server's answer is the same after all is dropped
    assert session.find("DROP", "ALTER TABLE")[1:] == [
        "ALTER TABLE [t] DROP CONSTRAINT [t_fk]", "DROP procedure [p]", "DROP table [t]",
        "DROP sequence [s]",
    ]  # fmt: skip


def test_a_server_backs_up_and_restores_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """In stripes over the folders, watched; a restore's files lie beside those of the database."""
    monkeypatch.setattr(native, "PROGRESS_S", 0.01)
    mark = read_mark(
        True, backup_folders=r"/b, c:\x", backup_compression="on", backup_transfer_size="4 MiB"
    )
    _, session = play(monkeypatch, {
        "SELECT run_id": mark, **MARKED, "@@SPID": [(51,)], "percent_complete": [(12.5,)],
        "physical_name": [("d1", "/d.mdf"), ("l1", "/l.ldf")], "compressed_backup": [(4096,)],
        "physical_device_name": [("/b/k-1.bak",)], "SELECT 1 FROM sys.databases": [(1,)],
    })  # fmt: skip
    may_end = Event()
    session.during["BACKUP"] = lambda: may_end.wait(5)
    way, options = SQLSERVER.backups[0], BackupOptions(processes=3)
    assert isinstance(way, ServerMethod)
    progress = way.back_up_inside(URL, "k", options)
    assert next(progress) == 12.5
    may_end.set()
    assert {*progress} <= {12.5}
    devices = r"DISK = N'/b/k-1.bak', DISK = N'c:\x\k-2.bak', DISK = N'/b/k-3.bak'"
    words = "CHECKSUM, STATS = 5, MAXTRANSFERSIZE = 4194304"
    assert session.find("BACKUP", "KILL") == [
        f"BACKUP DATABASE [db] TO {devices} WITH {words}, COPY_ONLY, FORMAT, INIT, COMPRESSION,"
        " NAME = N'k'",
    ]  # fmt: skip
    assert way.measure_backup(URL, "k") == 4096
    assert list(way.restore_beside(URL, "k", options, "r")) == []
    way.drop_beside(URL, "r")
    way.remove_backup(URL, "k")
    assert session.find("RESTORE", "DROP", "EXEC") == [
        "DROP DATABASE [r]",
        f"RESTORE DATABASE [r] FROM {devices} WITH MOVE N'd1' TO N'/d.mdf.r',"
        f" MOVE N'l1' TO N'/l.ldf.r', {words}",
        "DROP DATABASE [r]", "EXEC master.sys.xp_delete_file 0, N'/b/k-1.bak'",
    ]  # fmt: skip
    assert session.find("IF")[0].endswith("[r] SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    assert SQLSERVER.locate(way.locate_beside(URL, "r")) == "h:1433, database r"
    may_end.clear()
    stopped = way.back_up_inside(URL, "k", options)
    next(stopped)
    session.during["KILL"] = may_end.set
    stopped.close()
    assert session.find("KILL") == ["KILL 51"]
    session.add({"BACKUP DATABASE": refuse(3202, "Write on k failed: 112")})
    with pytest.raises(InfrastructureError, match="Write on k failed"):
        list(way.back_up_inside(URL, "k", options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (BackupOptions(compression="zstd"), "backup_compression: on"),
        (BackupOptions(processes=65), "at most 64"),
        (BackupOptions(bytes_per_s=9), "no `bandwidth`"),
        (BackupOptions(kind="incremental"), "makes full backups"),
    ],
)
def test_options_of_backups_are_refused(options: BackupOptions, words: str) -> None:
    """With what would be right."""
    assert words in str(SQLSERVER.backups[0].explain_refusal(options))


def test_a_server_is_set_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the run asked of the whole server is not set again when its database is emptied."""
    remote, session = play(monkeypatch, {
        "SELECT run_id": read_mark(False, max_server_memory="1 GiB"), **MARKED,
        "CONVERT(bigint, value)": [(2048,)],
    })  # fmt: skip
    remote.give_back("r1")
    assert session.find("EXEC sp_configure N", "DROP") == [
        "EXEC sp_configure N'max server memory (MB)', 512; RECONFIGURE", "DROP TABLE stithy_mark",
    ]  # fmt: skip


def test_loading_ends_compressed_analysed_and_checked() -> None:
    """A table may be compressed otherwise; what a stand-in lacks is left out, damage is none."""
    wish = make_wish({
        "data_compression": "page", "data_compression.ITEM": "none", "check_database": "physical",
    })  # fmt: skip
    tables = [("item", "a"), ("stock", "a"), ("stithy_mark", "a")]
    session = Played({"sys.columns": tables, "UPDATE STATISTICS": refuse(native.LACKING)})
    native.finish_loading(session, "db", wish)  # type: ignore[arg-type]  # it is played
    assert session.find("ALTER", "DBCC", "CHECKPOINT") == [
        "ALTER INDEX ALL ON [item] REBUILD WITH (DATA_COMPRESSION = NONE)",
        "ALTER INDEX ALL ON [stock] REBUILD WITH (DATA_COMPRESSION = PAGE)",
        "DBCC CHECKDB (N'db') WITH NO_INFOMSGS, PHYSICAL_ONLY", "CHECKPOINT",
    ]  # fmt: skip
    session.add({"DBCC": refuse(8928, "page 7 is damaged")})
    with pytest.raises(InfrastructureError, match="DBCC CHECKDB: page 7"):
        native.finish_loading(session, "db", wish)  # type: ignore[arg-type]  # it is played


class StridingClock:
    """A clock of two seconds a look."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        """Later each time."""
        self.now_s += 2.0
        return self.now_s


def test_files_that_are_not_shown_are_missing() -> None:
    """A user without the right sees none, which is no file without reads."""
    collector = endpoint.sample_views(Played(), StridingClock())  # type: ignore[arg-type]  # played
    collector.sample()
    found = {of.metric: of for of in collector.sample()}
    for metric in ("database_file_reads_per_s", "temp_bytes_per_s"):
        assert found[metric].value is None
        assert "GRANT VIEW ANY DEFINITION" in (found[metric].missing_because or "")


def test_a_second_is_read_from_the_views() -> None:
    """Differences by second; a file's time an operation; what is not there says why."""
    session = Played({
        "performance_counters": [("Batch Requests/sec", 100), ("Page lookups/sec", 50),
                                 ("Page reads/sec", 10), ("Page life expectancy", 77)],
        "virtual_file_stats": [("d1", 7, 10, 100, 0, 0, 0), ("tempdev", 2, 0, 0, 4, 8, 4096)],
        "wait_stats": refuse(300, "denied"),
        "dm_exec_requests": [("", 2), ("WRITELOG", 3), ("PAGEIOLATCH_SH", 1)],
    })  # fmt: skip
    collector = endpoint.sample_views(session, StridingClock())  # type: ignore[arg-type]  # played
    assert collector.sample() == []
    session.add({
        "performance_counters": [("Batch Requests/sec", 300), ("Page lookups/sec", 90),
                                 ("Page reads/sec", 20), ("Page life expectancy", 78)],
        "virtual_file_stats": [("d1", 7, 14, 120, 0, 0, 0), ("tempdev", 2, 0, 0, 8, 16, 12288)],
    })  # fmt: skip
    found = {(of.subject, of.metric): of for of in collector.sample()}
    values = {
        ("", "batch_requests_per_s"): 100.0, ("", "blocks_read_per_s"): 5.0,
        ("", "blocks_hit_per_s"): 15.0, ("", "page_life_s"): 78.0,
        ("d1", "database_file_reads_per_s"): 2.0, ("d1", "database_file_read_s"): 0.005,
        ("tempdb.tempdev", "database_file_write_s"): 0.002, ("", "temp_bytes_per_s"): 4096.0,
        ("", "active_sessions"): 6, ("Log", "waiting_sessions"): 3, ("IO", "waiting_sessions"): 1,
        ("Log:WRITELOG", "waiting_sessions_by_event"): 3, ("CPU", "waiting_sessions"): 2,
    }  # fmt: skip
    assert {key: found[key].value for key in values} == values
    for key, words in {
        ("", "commits_per_s"): "transactions that wrote", ("", "log_bytes_per_s"): "not count it",
        ("d1", "database_file_write_s"): "there was none",
        ("", "waiting_by_class"): "denied: GRANT VIEW SERVER STATE",
    }.items():  # fmt: skip
        assert found[key].value is None
        assert words in (found[key].missing_because or "")
