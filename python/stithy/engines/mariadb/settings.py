"""MariaDB's settings: Stithy's own, a study's, and whether the server takes them."""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stithy.engines.engine import UNDO_FOLDER
from stithy.engines.instance import Configuration
from stithy.engines.mariadb import (
    KEY_BLOCK,
    ON,
    REDO_SIZE,
    choose_log_bytes,
    has_binlog,
    normalise_settings,
    parse_size,
)
from stithy.engines.mariadb.connection import OLDEST
from stithy.engines.served import SPARE_CONNECTIONS, require_connections
from stithy.errors import PreconditionError, Problems, UserError
from stithy.hosts.runner import Command, Runner
from stithy.needs import Package
from stithy.units import format_size

MIB = 2**20
LOG_FOLDER, TEMP_FOLDER = "redo", "tmp"
"""In a data directory: of its redo log and binary log, and of its temporary files. That of its undo
tablespaces is `UNDO_FOLDER`."""

FIXED = {
    "skip_networking": "ON",
    "skip_name_resolve": "ON",
    "innodb_log_group_home_dir": LOG_FOLDER,
    "innodb_undo_directory": UNDO_FOLDER,
    # Directories in a data directory are databases, but for these.
    "ignore_db_dirs": f"{LOG_FOLDER},{TEMP_FOLDER},{UNDO_FOLDER}",
    "local_infile": "ON",
    # A window must not find warm what another one has read.
    "innodb_buffer_pool_dump_at_shutdown": "OFF",
    "innodb_buffer_pool_load_at_startup": "OFF",
}

DEFAULTS = {
    "innodb_flush_log_at_trx_commit": "1",
    # MariaDB's own 200 are those of a single disk, and its flash writes neighbours for nothing.
    "innodb_io_capacity": "2000",
    "innodb_io_capacity_max": "20000",
    "innodb_flush_neighbors": "0",
    # With its own 0 no page is written back before the log is nearly full. MySQL's default.
    "innodb_max_dirty_pages_pct_lwm": "10",
    # 50 s of waiting for a row would look like a server that hangs.
    "innodb_lock_wait_timeout": "10",
    "character_set_server": "latin1",
    "binlog_format": "ROW",
    "sync_binlog": "1",
    # As MariaDB 11.0 and later; older ones keep undo in the tablespace of the system.
    "innodb_undo_tablespaces": "3",
}
"""Own, where a study says nothing."""

MARIADB_ALONE = frozenset(
    {"ignore_db_dirs", "innodb_undo_directory", "binlog_format", "innodb_undo_tablespaces"}
)
"""What of `FIXED` and `DEFAULTS` MySQL lacks, or decides itself."""

LOADING = {
    # A crash while loading means loading again; the master copy is synced file by file afterwards.
    "innodb_flush_log_at_trx_commit": "0",
    "innodb_doublewrite": "OFF",
    "sync_binlog": "0",
}

AT_INIT = (
    "innodb_page_size", "innodb_data_file_path", "innodb_undo_tablespaces",
    "innodb_compression_default", "innodb_default_row_format", "lower_case_table_names", KEY_BLOCK,
)  # fmt: skip
"""What the files of a database were made with: no candidate may have another one."""

SERVER_BYTES, BYTES_PER_CONNECTION = 112 * MIB, 7 * MIB // 4
"""Measured with order entry, MariaDB 10.11: what the server takes beside its buffer pool, and each
session with its procedures and prepared statements."""

SPARE_BYTES = 24 * MIB
"""Own: for the kernel's pages of the server, temporary tables, and pages of logs. With none a
server of 256 MiB was killed under load."""

MYSQL_BYTES = 160 * MIB
"""Own, an estimate of the same for MySQL without its performance schema; 9.7 held it in 256 MiB."""

TABLES_PER_CONNECTION, STATEMENTS_PER_CONNECTION = 20, 1000
"""Own: so many are open and prepared at once in any of the workloads, and more."""


@dataclass(frozen=True)
class Product:
    """What differs between MariaDB and MySQL: programs, settings, and how an installer is used.

    `fixed`, `defaults`: settings. `server_bytes`: what a server takes beside pool and sessions.
    `remove_root`: the statement that removes the account of a new database.
    """

    name: str
    program: str
    installer: str
    oldest: tuple[int, ...]
    package: Package
    otherwise: str
    fixed: Mapping[str, str]
    defaults: Mapping[str, str]
    log_size: str
    server_bytes: int
    remove_root: str


MARIADB = Product(
    "MariaDB", "mariadbd", "mariadb-install-db", OLDEST,
    Package("mariadb-server-core mariadb-client", "mariadb-server"),
    "a MySQL server is one of the engine mysql",
    FIXED, DEFAULTS, "innodb_log_file_size", SERVER_BYTES,
    "DELETE FROM mysql.global_priv WHERE User = 'root'",
)  # fmt: skip
MYSQL = Product(
    # The first whose log has one size; older ones are measured by URL.
    "MySQL", "mysqld", "mysqld", (8, 0, 30), Package("mysql-server-core", "mysql-server"),
    "an older server is measured by its URL",
    {**{name: value for name, value in FIXED.items() if name not in MARIADB_ALONE},
     "mysqlx": "OFF", "secure_file_priv": "NULL", "innodb_dedicated_server": "OFF"},
    {**{name: value for name, value in DEFAULTS.items() if name not in MARIADB_ALONE},
     # As of MariaDB. Before 8.4 its own is to read and write through the page cache.
     "innodb_flush_method": "O_DIRECT", "performance_schema": "OFF"},
    REDO_SIZE, MYSQL_BYTES, "DROP USER root@localhost",
)  # fmt: skip


def choose_pool_bytes(
    memory_bytes: int, connections_max: int, server_bytes: int = SERVER_BYTES
) -> int:
    """Choose the size of the buffer pool, bytes; at least an eighth of a small memory."""
    rest = memory_bytes - server_bytes - SPARE_BYTES - connections_max * BYTES_PER_CONNECTION
    return max(8 * MIB, memory_bytes // 8, min(memory_bytes // 2, rest))


def complete(
    given: Configuration, connections_max: int, window_s: float, product: Product = MARIADB
) -> dict[str, str]:
    """Give all settings: Stithy's own first, the study's over them.

    Without a word from the study the buffer pool gets half of the memory, because files are read
    past the page cache, or what the server and sessions leave of it. There are connections, open
    tables and prepared statements enough for the users of any level.
    """
    connections = connections_max + SPARE_CONNECTIONS
    pool_bytes = choose_pool_bytes(given.memory_bytes, connections_max, product.server_bytes)
    own = {
        "innodb_buffer_pool_size": f"{pool_bytes // MIB}M",
        product.log_size: f"{choose_log_bytes(window_s) // MIB}M",
        "max_connections": str(max(151, connections)),
        "table_open_cache": str(max(2000, TABLES_PER_CONNECTION * connections)),
        "max_prepared_stmt_count": str(max(16_382, STATEMENTS_PER_CONNECTION * connections)),
    }
    settings = {
        **product.fixed, **product.defaults, **own, **normalise_settings(given.settings),
    }  # fmt: skip
    settings.pop(KEY_BLOCK, None)
    return place_binlog(settings)


def place_binlog(settings: Mapping[str, str]) -> dict[str, str]:
    """Have the binary log beside the redo log, or none where the settings ask for none."""
    others = {name: settings[name] for name in settings if name not in ("log_bin", "skip_log_bin")}
    if has_binlog(settings):
        return {**others, "log_bin": f"{LOG_FOLDER}/binlog"}
    return {**others, "skip_log_bin": "ON"}


def list_options(settings: Mapping[str, str]) -> list[str]:
    """Give settings as words of the server's command line; a list of folders is one word each."""
    return [
        f"--{name.replace('_', '-')}={word}"
        for name, value in settings.items()
        for word in (value.split(",") if name == "ignore_db_dirs" else [value])
    ]


_REFUSED = re.compile(
    r"\[(?:ERROR|Warning)\] (?:\[MY-\d+\] \[\w+\] )?(?:\S*(?:mariadbd|mysqld): )?"
    r"(unknown (?:variable|option) .*|option '.*adjusted to .*|Error while setting .*)"
)
"""What the server says of a value that it does not take as it is."""


class SettingsProbe:
    """Asks the server program about settings, without a database."""

    def __init__(self, runner: Runner, program: Path, product: str = MARIADB.name) -> None:
        """`program` is the server."""
        self._runner = runner
        self._program = program
        self._product = product
        # It would also take the beginning of a name.
        self._known = self._ask({})[0]

    def check(
        self,
        given: Configuration,
        completed: Mapping[str, str],
        connections_max: int,
        *,
        where: str = "database",
        shared: Configuration | None = None,
    ) -> None:
        """Raise UserError, with all that is wrong, for settings that the server would refuse.

        `where`: which section of the study gives them. What they have in common with the `shared`
        configuration is not tried again.
        """
        problems = Problems()
        ours = normalise_settings(given.settings)
        theirs = normalise_settings(shared.settings) if shared else {}
        for name, value in ours.items():
            key = f"{where}.settings.{name}"
            if name == KEY_BLOCK:
                problems.attempt(partial(_check_key_block, value, completed, key))
            elif theirs.get(name) != value:
                problems.attempt(partial(self._check_one, name, value, key))
            if shared is not None and name in AT_INIT and theirs.get(name) != value:
                problems.found.append(UserError(
                    "the files of the loaded database were made with another value",
                    where=key, remedy="set it in `database.settings`",
                ))  # fmt: skip
        problems.attempt(lambda: _check_memory(given, completed, where))
        most, key = completed["max_connections"], f"{where}.settings.max_connections"
        problems.attempt(lambda: require_connections(most, parse_size(most), connections_max, key))
        problems.refuse(where)

    def _check_one(self, name: str, value: str, where: str) -> None:
        text = f"{name} is not a setting of this version"
        if name.replace("_", "-") in self._known:
            in_force, text = self._ask({name: value})
            taken = in_force.get(name.replace("_", "-"), "")
            if not text and taken.isdecimal() and parse_size(value) not in (0, int(taken)):
                text = f"{value} adjusted to {taken}"  # MySQL does so without a word
        if text:
            raise UserError(
                f"{self._product} refuses {name}: {text}",
                where=where,
                remedy="correct it or leave it out; its manual lists all settings",
            )

    def check_open_files(self, completed: Mapping[str, str]) -> None:
        """Raise PreconditionError where the machine lets the server open too few tables."""
        in_force = self._ask(completed)[0]
        wanted, given = completed["table_open_cache"], in_force.get("table-open-cache", "0")
        if int(given) < parse_size(wanted):
            raise PreconditionError(
                f"a process may open so few files that the server keeps {given} tables open "
                f"instead of {wanted}, and would open tables again and again",
                where="limit of open files",
                remedy="raise the hard limit (`ulimit -Hn`), or give a smaller table_open_cache",
            )

    def _ask(self, settings: Mapping[str, str]) -> tuple[dict[str, str], str]:
        """Give the settings in force, by names with dashes, and what it says against these."""
        with tempfile.TemporaryDirectory(prefix="stithy-ask-") as empty:
            asked = [str(self._program), "--no-defaults", f"--datadir={empty}"]
            asked += list_options(settings)
            finished = self._runner.run(Command([*asked, "--verbose", "--help"]), timeout_s=30)
        table = finished.stdout.partition("\n---")[2]
        rows = (line.split(maxsplit=1) for line in table.splitlines()[1:])
        in_force = {row[0]: row[1].strip() if len(row) > 1 else "" for row in rows if row}
        refused = list(_REFUSED.findall(finished.stderr))
        if finished.code != 0 and not refused:
            refused = finished.stderr.strip().splitlines()[-1:] or ["no message"]
        return in_force, "; ".join(refused)


def _check_key_block(kib: str, completed: Mapping[str, str], where: str) -> None:
    """Raise UserError for what InnoDB cannot have beside it. Source: "InnoDB COMPRESSED"."""
    page_bytes = parse_size(completed.get("innodb_page_size", "16k"))
    remedy = "leave one of them out"
    if completed.get("innodb_compression_default", "OFF").strip().lower() in ON:
        problem = "tables are compressed by the page (innodb_compression_default), too"
        raise UserError(problem, where=where, remedy=remedy)
    if page_bytes > 16 * 1024 or int(kib) * 1024 > page_bytes:
        problem = f"a page of {kib} KiB cannot stand for one of {format_size(page_bytes)}"
        remedy = "at most innodb_page_size, which is 16 KiB at most then"
        raise UserError(problem, where=where, remedy=remedy)


def _check_memory(given: Configuration, completed: Mapping[str, str], where: str) -> None:
    size = completed["innodb_buffer_pool_size"]
    if parse_size(size) > given.memory_bytes * 3 // 4:
        is_given = "innodb_buffer_pool_size" in normalise_settings(given.settings)
        raise UserError(
            f"innodb_buffer_pool_size of {size} leaves too little of the memory of "
            f"{format_size(given.memory_bytes)}",
            where=f"{where}.{'settings.innodb_buffer_pool_size' if is_given else 'memory'}",
            remedy="at most three quarters of `memory`: lower it, or raise `memory`",
        )
