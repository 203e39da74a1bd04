"""MariaDB: what studies, plans and reports know of it, without any server."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.engines.backup import BackupMethod
from stithy.engines.declaration import Declaration
from stithy.engines.engine import Engine
from stithy.engines.mariadb.backups import BACKUPS, MYSQL_BACKUPS, NATIVE
from stithy.secrets import Secret

if TYPE_CHECKING:
    from stithy.engines import instance

_PLACE = "Stithy puts the files of each instance on its candidate's volume"
_REACH = "Stithy chooses how an instance is reached: by a private socket, or `load.network`"
_WATCH = "Stithy keeps the server's messages with the window they belong to"
_MADE = "the database and its accounts are made by Stithy"

_BUILT_IN = "an instance has the plug-ins that are built in"

OWNED_SETTINGS = {
    **dict.fromkeys(
        ("datadir", "tmpdir", "innodb_data_home_dir", "innodb_log_group_home_dir",
         "innodb_undo_directory", "innodb_tmpdir", "aria_log_dir_path", "log_basename",
         "ignore_db_dirs"), _PLACE,
    ),
    **dict.fromkeys(("socket", "port", "bind_address", "skip_networking"), _REACH),
    **dict.fromkeys(("pid_file", "log_error"), _WATCH),
    **dict.fromkeys(("init_file", "skip_grant_tables"), _MADE),
    **dict.fromkeys(("plugin_load", "plugin_load_add"), _BUILT_IN),
    "user": "servers run as a user without rights, which Stithy chooses",
    "local_infile": "rows are loaded by LOAD DATA LOCAL",
    "large_pages": "huge pages would escape the memory limit, so they are off for every candidate",
}  # fmt: skip
"""Settings that a study may not give, with the reason; all others are passed through."""

TEMP_FILE = "innodb_temp_data_file_path"
"""Name and size of the file with temporary tables; it lies with other temporary files."""

UNDO_FILES = "innodb_undo_tablespaces"

KEY_BLOCK = "key_block_size"
"""Own, no variable of the server: KiB of a page of tables, which are `ROW_FORMAT=COMPRESSED`."""

KEY_BLOCKS = ("1", "2", "4", "8", "16")

_PREFIXES = ("loose_", "skip_", "enable_", "disable_", "maximum_")
"""Of options that are read leniently, or are another setting's value."""

_LAST_SECOND = (
    "the log is flushed about once a second and not at each commit, so a power cut loses the "
    "transactions of the last moments"
)
_UNWRITTEN = (
    "the log is written and flushed about once a second and not at each commit, so a power cut, or "
    "a killed server whose log is not in memory, loses the transactions of the last moments"
)
_NOT_FLUSHED = (
    "files are not flushed as they must be, so a crash of the machine may lose committed "
    "transactions and leave a database that cannot be repaired"
)
_TORN = "a crash may leave torn pages that nothing repairs, unless 16 KiB are written in one piece"
_UNCHECKED = "pages have no checksums, so damage by storage is not noticed"
_FORCED = "the server skips parts of its recovery, so what a crash left may stay damaged"
_BINLOG = "a power cut loses events of the binary log of transactions that are committed"
GIVEN_UP: Mapping[str, Mapping[str, str]] = {
    "innodb_flush_log_at_trx_commit": {"0": _UNWRITTEN, "2": _LAST_SECOND},
    "innodb_flush_method": dict.fromkeys(
        ("nosync", "littlesync", "o_direct_no_fsync"), _NOT_FLUSHED
    ),
    "innodb_doublewrite": dict.fromkeys(("off", "0", "false", "detect_only"), _TORN),
    "innodb_checksum_algorithm": {"none": _UNCHECKED, "strict_none": _UNCHECKED},
    "innodb_force_recovery": dict.fromkeys("123456", _FORCED),
}
"""By setting and value what may be lost. Source: MariaDB's documentation of InnoDB's variables."""

ON, OFF = ("on", "1", "true"), ("off", "0", "false")
_FACTORS = {letter: 2 ** (10 * power) for power, letter in enumerate("kmgtpe", start=1)}
SMALLEST_LOG, LARGEST_LOG = 16 * 2**20, 2**30
LOG_BYTES_PER_S = 2**22
"""Own: a full log stops all users until pages are written, on few CPUs for seconds (measured with
10.11: sessions that ask for the log keep the writer of pages from the CPU), so it holds what a
window writes several times over. Measured: 0.7 KiB of log a transaction."""


def normalise_name(name: str) -> str:
    """Give a setting's name as the server shows it: both cases and both dashes are one."""
    return name.lower().replace("-", "_")


def normalise_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Give settings by the names that the server shows."""
    return {normalise_name(name): value for name, value in settings.items()}


def parse_size(text: str) -> int:
    """Read a number of bytes as the server does; 0 where it is none."""
    found = re.fullmatch(r"\s*(\d+)([kmgtpe]?)\s*", text.lower())
    return int(found[1]) * _FACTORS.get(found[2], 1) if found else 0


def choose_log_bytes(window_s: float) -> int:
    """Choose the size of the log for windows of this length, whole MiB."""
    wanted = min(max(SMALLEST_LOG, int(LOG_BYTES_PER_S * window_s)), LARGEST_LOG)
    return wanted // 2**20 * 2**20


def has_binlog(settings: Mapping[str, str]) -> bool:
    """Whether these settings, by folded names, ask for a binary log."""
    return settings.get("log_bin", "off").strip().lower() not in OFF


class MariaDBEngine(Engine):
    """MariaDB, and MySQL by URL, which an engine of its own has, too: one protocol."""

    name = "mariadb"
    url_schemes: tuple[str, ...] = ("mariadb", "mysql")
    url_examples = (
        "mariadb://me:secret@localhost/test", "mysql://me@localhost/test?socket=/run/mysqld.sock",
    )  # fmt: skip
    variables: tuple[str, ...] = ("MYSQL", "MARIADB", "LIBMYSQL")
    accounts = ("mysql",)
    setting_examples = ({"innodb_io_capacity": "500"}, {"innodb_io_capacity": "20000"})
    owned_settings = OWNED_SETTINGS
    given_up = GIVEN_UP
    unsafe_settings = {"innodb_flush_log_at_trx_commit": "0", "innodb_flush_method": "nosync"}
    lean_settings = {"innodb_buffer_pool_size": "8M", "table_open_cache": "200"}
    backups: tuple[BackupMethod, ...] = BACKUPS
    native_restore = "copies files back that `mariadb-backup` has prepared beside the database"
    native_copy: BackupMethod | None = NATIVE
    replica_copy: BackupMethod | None = NATIVE
    replica_settings = {"log_bin": "ON", "skip_networking": "OFF", "bind_address": "127.0.0.1"}
    replica_cost = (
        "each commit is written to the binary log, too, and flushed there before it is to the redo "
        "log; the window without a migration has that cost as well"
    )
    unfollowed = {"log_bin": frozenset(OFF)}
    has_remote = True
    listens = True
    separate_roles = frozenset({"log", "undo", "temp"})

    @property
    def declaration(self) -> Declaration:
        """Waits, errors, metrics and checks."""
        from stithy.engines.mariadb.declaration import ENGINE

        return ENGINE

    def normalise_name(self, name: str) -> str:
        """Give a name as the server reads it."""
        return normalise_name(name)

    def explain_setting(self, name: str, value: str) -> tuple[str, str] | None:
        """Say why a study may not give a setting; its name counts as the server reads it."""
        folded = normalise_name(name)
        if problem := super().explain_setting(name, value):
            return problem
        if folded == TEMP_FILE and "/" in value:
            remedy = "give its name and size alone, such as ibtmp1:12M:autoextend:max:4G"
            return "a file in a directory that Stithy chooses itself", remedy
        if folded == KEY_BLOCK and value.strip() not in KEY_BLOCKS:
            return f"{name} cannot be {value}", f"give KiB of a page: {', '.join(KEY_BLOCKS)}"
        if folded.startswith(_PREFIXES) and not folded.startswith("skip_name_resolve"):
            return "a prefix and no name of a setting", "give the setting itself, with its value"
        return None

    def explain_role(self, role: str, settings: Mapping[str, str]) -> str | None:
        """Refuse a place of its own for undo that has no files of its own, too."""
        if role == "undo" and normalise_settings(settings).get(UNDO_FILES) in ("0", "1"):
            return f"undo lies in the tablespace of the system with `{UNDO_FILES}` below 2"
        return super().explain_role(role, settings)

    def list_given_up(self, settings: Mapping[str, str]) -> dict[str, str]:
        """List which of the settings give durability up, with what may be lost."""
        given_up = super().list_given_up(settings)
        if has_binlog(normalise_settings(settings)):
            for name, value in settings.items():
                if normalise_name(name) == "sync_binlog" and value.strip() != "1":
                    given_up[name] = _BINLOG
        return given_up

    def count_log_bytes(self, settings: Mapping[str, str], window_s: float = 0.0) -> int:
        """Count what the redo log holds; its file has its full size from the start."""
        given = normalise_settings(settings).get("innodb_log_file_size", "")
        return parse_size(given) or choose_log_bytes(window_s)

    def has_holes(self, settings: Mapping[str, str]) -> bool:
        """Whether tables are made compressed: what a page saves is a hole in its file."""
        given = normalise_settings(settings).get("innodb_compression_default", "")
        return given.strip().lower() in ON

    def measure_reduction(self, data: Path, settings: Mapping[str, str]) -> float | None:
        """Measure what compression by the page or by the row format saves of tables."""
        from stithy.engines.mariadb.files import measure_reduction

        packs = self.has_holes(settings) or KEY_BLOCK in normalise_settings(settings)
        return measure_reduction(data) if packs else None

    def configure(self, request: "instance.Request") -> "instance.ConfiguredEngine":
        """Give MariaDB as a study asks for it."""
        from stithy.engines.mariadb.engine import MariaDB

        return MariaDB(request)

    def find_damage(self, instance: "instance.Instance") -> str | None:
        """Find what `CHECK TABLE … EXTENDED` finds in any of its tables."""
        from stithy.engines.mariadb.connection import connect
        from stithy.engines.mariadb.upkeep import find_damage
        from stithy.engines.mariadb.url import parse_url
        from stithy.engines.served import ANSWER_PATIENCE_S

        with connect(parse_url(instance.url), timeout_s=ANSWER_PATIENCE_S) as session:
            return find_damage(session)

    def connect(self, url: Secret, password: Secret | None = None) -> "instance.Endpoint":
        """Give the database of a URL."""
        from stithy.engines.mariadb.endpoint import MariaDBEndpoint
        from stithy.engines.mariadb.url import parse_url

        resolved = parse_url(url, password).url
        return MariaDBEndpoint(resolved, resolved)

    def connect_remote(self, url: Secret, password: Secret | None = None) -> "instance.Remote":
        """Give the database of somebody's server, connected."""
        from stithy.engines.mariadb.remote import RemoteMariaDB
        from stithy.engines.mariadb.url import parse_url

        return RemoteMariaDB(parse_url(url, password).url)

    def locate(self, url: Secret) -> str:
        """Say where a URL leads."""
        from stithy.engines.mariadb.url import parse_url

        return parse_url(url).place

    def get_replication(self) -> "instance.Replication":
        """Give replication by global transaction ids."""
        from stithy.engines.mariadb import replication

        return replication

    def get_chores(self) -> "instance.Chores":
        """Give what makes databases anew and scans tables."""
        from stithy.engines.mariadb import upkeep

        return upkeep


REDO_SIZE = "innodb_redo_log_capacity"
_SIZED = f"the log is sized by {REDO_SIZE}"


class MySQLEngine(MariaDBEngine):
    """MySQL, which shares protocol, storage engine and most words with MariaDB."""

    name = "mysql"
    listens = False  # nobody has tried it
    separate_roles = Engine.separate_roles  # nor undo elsewhere
    url_schemes = ("mysql",)
    url_examples = (
        "mysql://me:secret@localhost/test", "mysql://me@localhost/test?socket=/run/mysqld.sock",
    )  # fmt: skip
    kin = {"percona": "give `engine: mysql`, and candidates by URL (`mysql://…`)"}
    variables = ("MYSQL", "LIBMYSQL")
    owned_settings = {
        **OWNED_SETTINGS,
        **dict.fromkeys(
            ("innodb_directories", "innodb_doublewrite_dir", "innodb_temp_tablespaces_dir"), _PLACE
        ),
        **dict.fromkeys(("mysqlx", "mysqlx_port", "mysqlx_socket", "admin_address"), _REACH),
        **dict.fromkeys(("innodb_log_file_size", "innodb_log_files_in_group"), _SIZED),
        **dict.fromkeys(("initialize", "initialize_insecure"), _MADE),
        "early_plugin_load": OWNED_SETTINGS["plugin_load"],
        "secure_file_priv": "statements of an instance read and write no files",
        "innodb_dedicated_server": "memory and log are sized by the study, not by the machine",
    }
    backups = MYSQL_BACKUPS
    native_restore = ""
    native_copy = replica_copy = None

    def count_log_bytes(self, settings: Mapping[str, str], window_s: float = 0.0) -> int:
        """Count what all files of the redo log hold."""
        given = normalise_settings(settings).get(REDO_SIZE, "")
        return parse_size(given) or choose_log_bytes(window_s)

    def configure(self, request: "instance.Request") -> "instance.ConfiguredEngine":
        """Give MySQL as a study asks for it."""
        from stithy.engines.mariadb.engine import MySQL

        return MySQL(request)


PLUGINS = (MariaDBEngine(), MySQLEngine())
