"""What MariaDB says of settings, URLs and sessions, and what is refused before anything starts."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from stithy.engines.engine import find_engine_of, get_engine
from stithy.engines.instance import Configuration, Request
from stithy.engines.mariadb.connection import connect, parse_version
from stithy.engines.mariadb.declaration import find_missing_write_back
from stithy.engines.mariadb.endpoint import count_waits, read_counters
from stithy.engines.mariadb.engine import find_installation
from stithy.engines.mariadb.settings import MYSQL, complete
from stithy.engines.mariadb.url import parse_url, write_password
from stithy.errors import PreconditionError, Refused, UserError
from stithy.hosts.host import LocalHost
from stithy.secrets import Secret
from stithy.study.load import parse_study
from support.studies import problems

MIB = 2**20
MARIADB = get_engine("mariadb")
STUDY = """study: Which?
candidates: {a: {path: /a}, b: {path: /b}}
database:
  engine: mariadb
  memory: 256 MiB
  settings:
    SETTING
workload: {name: order-entry, warehouses: 1}
load: {users: [1]}
"""


@pytest.mark.parametrize(
    ("engine", "setting", "words"),
    [
        ("mariadb", "innodb_undo_tablespaces: 1", "undo lies in the tablespace of the system"),
        ("mysql", "sync_binlog: 1", "keeps files of the role undo beside its data"),
        ("postgresql", "fsync: on", "keeps files of the role undo beside its data"),
        ("mariadb", "innodb_undo_tablespaces: 2", None),
    ],
)
def test_undo_lies_elsewhere_where_it_has_files(
    engine: str, setting: str, words: str | None
) -> None:
    """Only MariaDB's has, unless it is told to have none; a role that holds nothing is refused."""
    study = STUDY.replace("{path: /b}", "{path: /b, roles: {undo: {path: /u}}}")
    study = study.replace("engine: mariadb", f"engine: {engine}").replace("SETTING", setting)
    if words is None:
        parse_study("study.yaml", study.encode())
    else:
        [problem] = problems(study)
        assert words in problem.text


def test_mysql_has_words_of_its_own() -> None:
    """Its log is sized by another setting; a URL of either leads to the engine of its scheme."""
    study = STUDY.replace("engine: mariadb", "engine: mysql")
    [problem] = problems(study.replace("SETTING", "innodb_log_file_size: 1G"))
    assert "sized by innodb_redo_log_capacity" in problem.text
    study = study.replace("SETTING", "sync_binlog: 1")
    parse_study("study.yaml", study.encode())
    [problem] = problems(study.replace("engine: mysql", "engine: percona"))
    assert "give `engine: mysql`" in (problem.remedy or "")
    own = complete(Configuration({}, 512 * MIB), 8, 60.0, MYSQL)
    assert own["innodb_redo_log_capacity"] == "240M"
    assert not {"innodb_log_file_size", "ignore_db_dirs", "innodb_undo_directory"} & {*own}
    assert get_engine("mysql").count_log_bytes({"Innodb-Redo-Log-Capacity": "1G"}) == 2**30
    assert [
        find_engine_of(Secret(f"{scheme}://me@h/d")).name for scheme in ("mariadb", "mysql")
    ] == ["mariadb", "mysql"]


def test_settings_fit_memory_users_and_window() -> None:
    """The log holds what a window writes, within bounds; a study's word wins, however written."""
    given = Configuration({"Innodb-Log-File-Size": "1G", "log_bin": "ON"}, 256 * MIB)
    own = complete(given, 400, 60.0)
    assert (own["innodb_log_file_size"], own["log_bin"]) == ("1G", "redo/binlog")
    assert MARIADB.count_log_bytes(given.settings, 60.0) == 2**30
    plain = complete(Configuration({}, 256 * MIB), 400, 60.0)
    pools = {(memory, users): complete(Configuration({}, memory * MIB), users, 60.0)
             for memory, users in ((256, 400), (160, 8), (1024, 100))}  # fmt: skip
    assert [pool["innodb_buffer_pool_size"] for pool in pools.values()] == ["32M", "20M", "512M"]
    assert plain["innodb_log_file_size"] == "240M"
    assert MARIADB.count_log_bytes({}, 60.0) == 240 * MIB
    assert int(plain["max_connections"]) == 420
    assert int(plain["table_open_cache"]) >= 20 * 420
    assert int(plain["max_prepared_stmt_count"]) >= 1000 * 420
    assert [MARIADB.count_log_bytes({}, long_s) for long_s in (1, 1e6)] == [16 * MIB, 2**30]
    assert "log_bin" not in plain


@pytest.mark.needs_mariadb
def test_all_that_the_server_refuses_is_said_at_once() -> None:
    """A value that it would round, the beginning of a name, too much memory."""
    shared = Configuration(
        {"innodb_flush_log_at_trx_commit": "7", "innodb_flush_log": "1", "max_connections": "10",
         "innodb_buffer_pool_size": "250M"}, 256 * MIB,
    )  # fmt: skip
    own = Configuration({**shared.settings, "innodb_page_size": "8k"}, 256 * MIB)
    request = Request(
        host=LocalHost(), configuration=shared, connections_max=64, password=Secret("x"),
        own=[("candidates.b", own)],
    )  # fmt: skip
    with pytest.raises(Refused) as caught:
        MARIADB.configure(request).check()
    for words in (
        "adjusted to 3", "innodb_flush_log is not a setting", "max_connections of 10 are too few",
        "leaves too little of the memory", "candidates.b.settings.innodb_page_size",
    ):  # fmt: skip
        assert words in caught.value.text


def test_a_missing_server_names_its_package(tmp_path: object) -> None:
    """For whoever has none."""
    with pytest.raises(PreconditionError, match="apt-get install mariadb-server"):
        find_installation(LocalHost(), places=[])


def test_a_file_without_certificates_is_named(tmp_path: Path) -> None:
    """Before anything is connected."""
    (tmp_path / "ca.pem").write_text("no certificate")
    target = parse_url(Secret(f"mariadb://me@host/test?tls=verify-ca&ca={tmp_path}/ca.pem"))
    with pytest.raises(UserError, match="no certificate can be read"):
        connect(target)


def test_a_password_is_read_from_a_file(tmp_path: object) -> None:
    """As the client programs read it, whatever is in it; two are one too many."""
    word, file = Secret('a"b\\c d'), f"{tmp_path}/client.cnf"
    with open(file, "w") as written:
        written.write(write_password(word))
    target = parse_url(Secret(f"mariadb://me@host/test?passfile={file}"))
    assert target.password is not None
    assert target.password.reveal() == word.reveal()
    with pytest.raises(UserError, match="another is given"):
        parse_url(Secret(f"mariadb://me@host/test?passfile={file}"), word)


def test_sessions_wait_for_what_their_server_counts() -> None:
    """States tell of commits and table locks; rows and pages come from counts, of the rest only."""
    sessions = {"Updating status": 3, "Updating": 2, "Waiting for table metadata lock": 1}
    now = {"innodb_row_lock_current_waits": "1", "innodb_data_pending_reads": "7"}
    assert count_waits(sessions, now) == {
        "Log:commit": 3, "Lock:table metadata lock": 1, "Lock:row": 1, "IO:page read": 1,
    }  # fmt: skip
    assert parse_version("5.5.5-10.11.19-MariaDB-0+deb12u1") == (10, 11, 19)
    assert parse_version("8.0.36-28") == (8, 0, 36)
    assert count_waits({"waiting for handler commit": 2}, {}) == {"Log:commit": 2}  # MySQL's


STATUS = {
    "8.0.15": {},
    "9.7.4": {"innodb_redo_log_current_lsn": "90", "innodb_redo_log_checkpoint_lsn": "70"},
}  # fmt: skip


@pytest.mark.parametrize("version", [*STATUS, "10.11.19-MariaDB"])
def test_counters_have_one_name_wherever_they_are(version: str) -> None:
    """MySQL has some in another table, and those of the log in its status since 8.0.30."""
    session = Mock(version=version)
    session.read_status.return_value = dict(STATUS.get(version, {"innodb_lsn_current": "1"}))
    session.run.side_effect = lambda sql: (
        [("lock_deadlocks", 3), ("trx_rseg_history_len", 5)] if "innodb_metrics" in sql
        else [("InnoDB", "", "Log sequence number          90\nLast checkpoint at           70\n")]
    )  # fmt: skip
    counters = read_counters(session)
    if version not in STATUS:
        assert counters == {"innodb_lsn_current": "1"}
        return
    assert {name: counters[name] for name in (
        "innodb_lsn_current", "innodb_checkpoint_age", "innodb_deadlocks",
        "innodb_history_list_length",
    )} == {
        "innodb_lsn_current": "90", "innodb_checkpoint_age": "20", "innodb_deadlocks": "3",
        "innodb_history_list_length": "5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("log", "pages", "is_flagged"),
    [(5, 0, True), (5, 1, False), (5, None, False), (None, 0, False)],
)
def test_a_window_without_write_back_is_named(
    log: int | None, pages: int | None, is_flagged: bool
) -> None:
    """Where no page was written; where nobody knows, nothing is said."""
    around = {"log_bytes": log, "pages_written": pages}
    assert (find_missing_write_back(around) is not None) == is_flagged
