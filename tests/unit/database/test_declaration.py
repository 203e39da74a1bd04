"""What each engine declares and refuses: settings at their lines, URLs, durability given up."""

import pytest

from stithy.engines.engine import declaration, find_engine_of, get_engine
from stithy.engines.mariadb import url as mariadb
from stithy.engines.sqlserver import given as sqlserver
from stithy.errors import UserError
from stithy.secrets import Secret
from stithy.study.load import parse_study
from support.studies import problems


def test_results_of_an_engine_that_is_not_here_can_be_read_all_the_same() -> None:
    """Whatever it said, nobody knows what it meant."""
    assert declaration("not-here").error_class("53100", "No space left on device") == "other"


def test_a_defect_is_known_by_version() -> None:
    """As the server says it, with whatever a distribution adds."""
    defect = declaration("postgresql").find_defect
    for version in ("18.0", "18.1 (Debian 18.1-1)", "18rc1", "18beta2"):
        assert f"PostgreSQL {version.split()[0]} loses rows" in str(defect(version))
    for version in ("18.2", "18.10", "17.1", "15.18", ""):
        assert defect(version) is None


def test_a_url_of_no_engine_is_refused_with_what_one_begins_with() -> None:
    """Without the rest of it, which may hold a password."""
    with pytest.raises(UserError, match=r"begin with 'ftp'.*postgresql://") as caught:
        find_engine_of(Secret("ftp://me:secret@host/db"))
    assert "secret" not in str(caught.value)


STUDY = """study: Which?
candidates: {{a: {a}, b: {b}}}
database:
  engine: {engine}
  {more}
  settings:
    {setting}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [1]}}
"""


def write_text(engine: str, setting: str) -> str:
    """A study of an engine with this setting: of SQL Server by URL, of others in directories."""
    if engine == "sqlserver":
        a, b, more = "{url: 'sqlserver://me@h/a'}", "{url: 'sqlserver://me@h/b'}", "restore: reload"
    else:
        a, b, more = "{path: /a}", "{path: /b}", "memory: 256 MiB"
    return STUDY.format(engine=engine, setting=setting, a=a, b=b, more=more)


@pytest.mark.parametrize(("engine", "setting", "words"), [
    ("mariadb", "datadir: /x", "on its candidate's volume"),
    ("mariadb", "Large_Pages: ON", "escape the memory limit"),
    ("mariadb", "skip_log_bin: ON", "give the setting itself"),
    ("mariadb", "innodb_temp_data_file_path: /x/t:12M", "its name and size alone"),
    ("mariadb", "loose_innodb_doublewrite: OFF", "give the setting itself"),
    ("mariadb", "Key_Block_Size: 3", "give KiB of a page: 1, 2, 4, 8, 16"),
    ("sqlite", "journal: memory", "one of wal, delete"),
    ("sqlite", "cache_kb: 2", "did you mean `cache_kib`"),
    ("sqlite", "page_size: 5000", "a power of two"),
    ("sqlite", "busy_timeout_ms: -1", "a whole number from 0 to 3,600,000"),
    ("sqlserver", "recovery: none", "give simple, bulk_logged, full"),
    ("sqlserver", "fill_factor: 90", "not a setting of a SQL Server"),
    ("sqlserver", "recovery.stock: simple", "not a setting of a SQL Server"),
    ("sqlserver", "data_size: 20", "data_size is no size"),
    ("sqlserver", "log_size: 12 kB", "too little"),
    ("sqlserver", "data_files: d1.mdf", "no absolute path"),
    ("sqlserver", 'data_files: "/a, /a"', "names a file twice"),
    ("sqlserver", 'log_file: "/a, /b"', "has more than 1"),
    ("sqlserver", "backup_transfer_size: 8 MiB", "64 KiB to 4 MiB"),
    ("sqlserver", "target_recovery_time: soon", "a whole number"),
])  # fmt: skip
def test_a_setting_is_refused_at_its_line(engine: str, setting: str, words: str) -> None:
    """However its name is written, with what would be right."""
    [problem] = problems(write_text(engine, setting))
    assert words in problem.text
    assert problem.where.startswith("study.yaml:7:")


def test_a_setting_of_another_case_is_read() -> None:
    """As the engine reads it."""
    parse_study("study.yaml", write_text("sqlite", "Journal: WAL").encode())


LOCAL, STANDBY = {"synchronous_commit": "local"}, {"synchronous_standby_names": "one"}
SERVER = {"delayed_durability": "FORCED", "page_verify": "none", "recovery": "simple"}


@pytest.mark.parametrize(("engine", "settings", "given_up"), [
    ("mariadb", {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "ON"}, {}),
    ("mariadb", {"innodb_flush_log_at_trx_commit": "2"},
     {"innodb_flush_log_at_trx_commit": "last moments"}),
    ("mariadb", {"innodb-flush-log-at-trx-commit": "0"},
     {"innodb-flush-log-at-trx-commit": "a killed server"}),
    ("mariadb", {"innodb_flush_method": "nosync"}, {"innodb_flush_method": "cannot be repaired"}),
    ("mariadb", {"innodb_doublewrite": "OFF"}, {"innodb_doublewrite": "torn pages"}),
    ("mariadb", {"sync_binlog": "0"}, {}),  # a binary log that is not there loses nothing
    ("mariadb", {"sync_binlog": "0", "log_bin": "ON"}, {"sync_binlog": "binary log"}),
    ("postgresql", {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}, {}),
    ("postgresql", {"fsync": "F"}, {"fsync": ""}),
    ("postgresql", {"fsync": "0", "full_page_writes": "no"}, {"fsync": "", "full_page_writes": ""}),
    ("postgresql", {"fsync": "o"}, {}),
    ("postgresql", {"synchronous_commit": "OFF"}, {"synchronous_commit": ""}),
    ("postgresql", LOCAL, {}),  # as durable as `on` where there is no standby
    ("postgresql", LOCAL | STANDBY, {"synchronous_commit": ""}),
    ("postgresql", {"data_sync_retry": "on"}, {"data_sync_retry": ""}),
    ("postgresql", {"data_sync_retry": "off", "wal_sync_method": "open_datasync"}, {}),
    ("sqlite", {}, {}),
    ("sqlite", {"synchronous": "EXTRA", "journal": "delete"}, {}),
    ("sqlite", {"journal": "delete"}, {"synchronous": "synchronous extra waits for it"}),
    ("sqlite", {"journal": "truncate"}, {}),
    ("sqlite", {"synchronous": "Normal"}, {"synchronous": "a power cut may lose the last commits"}),
    ("sqlite", {"synchronous": "normal", "journal": "delete"}, {"synchronous": "damaged"}),
    ("sqlite", {"synchronous": "off"}, {"synchronous": "nothing is flushed"}),
    ("sqlserver", SERVER, {"delayed_durability": "even a clean one", "page_verify": ""}),
])  # fmt: skip
def test_durability_given_up_is_named(
    engine: str, settings: dict[str, str], given_up: dict[str, str]
) -> None:
    """By the name that was given, however its value is spelled, with what may be lost."""
    found = get_engine(engine).list_given_up(settings)
    assert [*found] == [*given_up]
    assert all(words in found[name] for name, words in given_up.items())


@pytest.mark.parametrize(("url", "place"), [
    ("mariadb://me:p%40ss%2Fw@db.example:3307/test?tls=verify-full&ca=system", ""),
    ("mysql://me@/test?socket=/run/my%20sql.sock", ""),
    ("mariadb://me@[::1]/test?password=a%26b&connect_timeout=3&tls=prefer", ""),
    ("sqlserver://me:p%40ss%2Fw@db.example/test", "db.example:1433, database test"),
    ("sqlserver://me@[::1]:1500/a%20b?encrypt=false", "::1:1500, database a b"),
    ("sqlserver://me@h/d?trustServerCertificate=true&connect_timeout=3", "h:1433, database d"),
])  # fmt: skip
def test_a_url_is_written_as_it_was_read(url: str, place: str) -> None:
    """What the hammer gets names the same server; its place has no password."""
    parse = sqlserver.parse_url if place else mariadb.parse_url
    target = parse(Secret(url))
    again = parse(target.url)
    assert (again.url.reveal(), again.place) == (target.url.reveal(), target.place)
    assert vars(again) | {"password": None} == vars(target) | {"password": None}
    assert ("connect_timeout=3" in target.url.reveal()) is ("timeout" in url)
    assert "p@ss" not in target.place
    assert place in ("", target.place)


@pytest.mark.parametrize(("url", "words"), [
    ("mariadb://me:x@y@host/test", "cannot be read"),
    ("mariadb://host/test", "no user"),
    ("mariadb://me@host", "no database"),
    ("mariadb://me@host/test?ssl=1", "the option ssl"),
    ("mariadb://me@host/test?tls=maybe", "none of disable"),
    ("mariadb://me@host/test?connect_timeout=3s", "no whole number of seconds"),
    ("mariadb://me:x@host/test?password=y", "another is given"),
    ("mariadb://me@host/test?tls=verify-ca", "no certificate"),
    ("mariadb://me@host/test?tls=require&ca=system", "too weak"),
    ("mariadb://me@host/test?socket=/x", "a host and a socket"),
    ("mariadb://me@/test", "neither a host nor a socket"),
    ("mariadb://me@host:99999/test", "port is no number"),
    ("mariadb://me@/test?socket=x", "no absolute path"),
    ("sqlserver://me:x@y@host/test", "cannot be read"),
    ("sqlserver://host/test", "no user"),
    ("sqlserver://me@host", "no database"),
    ("sqlserver://me@/test", "no host"),
    ("sqlserver://:x@host/test", "no user"),
    ("sqlserver://me@host:70000/test", "port"),
    ("sqlserver://me@host/Master", "server's own database"),
    ("sqlserver://me@host/test?tls=require", "the option tls"),
    ("sqlserver://me@host/test?encrypt=strict", "encrypt is none of true, false"),
    ("sqlserver://me@host/test?encrypt=true&encrypt=true", "encrypt twice"),
    ("sqlserver://me@host/test?ca=x.pem", "no absolute path"),
    ("sqlserver://me@host/test?ca=/none.pem", "no such file"),
    ("sqlserver://me@host/test?ca=/x&trustServerCertificate=true", "trusts any certificate"),
    ("sqlserver://me@host/test?connect_timeout=soon", "connect_timeout"),
    ("sqlserver://me:x@host/test?passfile=/none", "password file cannot be read"),
])  # fmt: skip
def test_a_url_that_cannot_be_followed_is_refused(url: str, words: str) -> None:
    """Before anything is connected."""
    parse = mariadb.parse_url if url.startswith("mariadb") else sqlserver.parse_url
    with pytest.raises(UserError, match=words):
        parse(Secret(url))
