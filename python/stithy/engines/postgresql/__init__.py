"""PostgreSQL: what the study file may say about it.

This file imports nothing of Stithy, so that a study is read without touching what starts servers.
"""

import re
from collections.abc import Mapping

NAME = "postgresql"
URL_SCHEMES = ("postgresql", "postgres")
URL_EXAMPLES = (
    "postgresql://me:secret@localhost/test", "postgresql://me@/test?host=/run/postgresql",
)  # fmt: skip
"""Of a server by its address, and by its socket."""

VARIABLES = ("PG",)
"""How the variables begin that libpq and its programs read: PGHOST, PGOPTIONS, PGDATA, …"""

BACKUPS = {
    "basebackup": (
        "copies all files of the running server and the log that they need (`pg_basebackup`); it "
        "makes full backups, uses several processes only to compress with `zstd`, and takes a "
        "bandwidth of 32 KiB to 1 GiB"
    ),
    "dump": (
        "writes all rows as text (`pg_dump`), to be loaded into a new database (`pg_restore`); it "
        "makes full backups with at most 16 processes and no limit of bandwidth, and compresses "
        "with `lz4` and `zstd` from PostgreSQL 16 on"
    ),
    "pgbackrest": (
        "keeps a repository of files and of the log, which the server archives all the time; it "
        "makes backups of every kind, with no limit of bandwidth"
    ),
}
"""The ways to back it up, modules of `backups`, with what they do and can; the default first."""

BY_URL = True
"""It has a module `remote`: candidates may be databases of servers that run already."""

NATIVE_RESTORE = "copies a template database within its server"
"""How its module `native` restores a database."""

EXAMPLES = ({"shared_buffers": "384MB"}, {"shared_buffers": "768MB"})
"""Settings as a study may give them: of the database, and of a candidate."""

ACCOUNTS = ("postgres",)
"""Users as whom its servers run, which come with the distributions' packages."""

_PLACE = "Stithy puts the files of each instance on its candidate's volume"
_REACH = "an instance is reached through a private socket only"
_WATCH = "Stithy keeps the server's messages with the window they belong to"
_COUNT = "the report counts checkpoints and runs of autovacuum from the server's messages"

OWNED_SETTINGS = {
    "data_directory": _PLACE,
    "config_file": _PLACE,
    "hba_file": _PLACE,
    "ident_file": _PLACE,
    "external_pid_file": _PLACE,
    "temp_tablespaces": _PLACE,
    "include": _PLACE,
    "include_dir": _PLACE,
    "include_if_exists": _PLACE,
    "listen_addresses": _REACH,
    "port": _REACH,
    "unix_socket_directories": _REACH,
    "unix_socket_group": _REACH,
    "unix_socket_permissions": _REACH,
    "password_encryption": "the password of each instance is generated, and hashed as Stithy asks",
    "logging_collector": _WATCH,
    "log_destination": _WATCH,
    "log_directory": _WATCH,
    "log_filename": _WATCH,
    "log_line_prefix": _WATCH,
    "log_timezone": _WATCH,
    "log_min_messages": _WATCH,
    "log_checkpoints": _COUNT,
    "log_autovacuum_min_duration": _COUNT,
    "huge_pages": "huge pages would escape the memory limit, so they are off for every candidate",
}
"""Settings that a study may not give, with the reason; all others are passed through."""

_NOT_FLUSHED = (
    "nothing is flushed, so a crash of the machine may lose committed transactions and leave a "
    "database that cannot be repaired"
)
_NOT_WAITED = (
    "a commit is answered before its log is flushed, so a crash loses those of the last moments"
)
_NOT_THERE = (
    "a commit does not wait until a standby has flushed it, so the loss of a server loses it"
)
_TORN = "a crash may leave torn pages that nothing repairs, unless 8 KiB are written in one piece"
_DROPPED = (
    "after a flush that failed the server tries again, though the kernel may have dropped the data"
)
_TRUE, _FALSE = ("on", "true", "yes", "1"), ("off", "false", "no", "0")
_UNSURE = ("", "o")
"""As the server reads a boolean: any beginning of a word that fits no other."""


def durability_given_up(settings: Mapping[str, str]) -> dict[str, str]:
    """Those of the settings that give durability up, with what may be lost; names in lower case.

    On Linux every `wal_sync_method` flushes, so none is among them.
    """
    found = {}
    if _reads(settings.get("fsync", ""), _FALSE):
        found["fsync"] = _NOT_FLUSHED
    commit = settings.get("synchronous_commit", "").strip().lower()
    if commit in _FALSE:
        found["synchronous_commit"] = _NOT_WAITED
    elif commit in ("local", "remote_write") and settings.get("synchronous_standby_names"):
        found["synchronous_commit"] = _NOT_THERE
    if _reads(settings.get("full_page_writes", ""), _FALSE):
        found["full_page_writes"] = _TORN
    if _reads(settings.get("data_sync_retry", ""), _TRUE):
        found["data_sync_retry"] = _DROPPED
    return found


def _reads(value: str, words: tuple[str, ...]) -> bool:
    given = value.strip().lower()
    return given not in _UNSURE and any(word.startswith(given) for word in words)


_BYTES_BY_UNIT = {"": 2**20, "B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_MAX_WAL_SIZE = "1GB"
"""PostgreSQL's default."""


def log_bytes(settings: Mapping[str, str]) -> int:
    """The most that `pg_wal` holds, bytes: `max_wal_size`, passed by a fifth between checkpoints.

    What cannot be read counts as the default: the server itself refuses it before the run.
    """
    given = next((settings[key] for key in settings if key.lower() == "max_wal_size"), "")
    return (_size_bytes(given) or _size_bytes(_MAX_WAL_SIZE)) * 6 // 5


def _size_bytes(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kMGT]?B)?\s*", text)
    return round(float(found[1]) * _BYTES_BY_UNIT[found[2] or ""]) if found else 0
