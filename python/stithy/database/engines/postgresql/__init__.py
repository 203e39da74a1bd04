"""PostgreSQL: what the study file may say about it.

This file imports nothing of Stithy, so that a study is read without touching what starts servers.
"""

import re
from collections.abc import Mapping

NAME = "postgresql"

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

_KILOBYTES_BY_UNIT = {"": 1024, "kB": 1, "MB": 1024, "GB": 1024**2, "TB": 1024**3}
_MAX_WAL_SIZE = "1GB"
"""PostgreSQL's default."""


def log_bytes(settings: Mapping[str, str]) -> int:
    """The most that `pg_wal` holds, bytes: `max_wal_size`, passed by a fifth between checkpoints.

    What cannot be read counts as the default: the server itself refuses it before the run.
    """
    given = next((settings[key] for key in settings if key.lower() == "max_wal_size"), "")
    kilobytes = _kilobytes(given) or _kilobytes(_MAX_WAL_SIZE)
    return kilobytes * 1024 * 6 // 5


def _kilobytes(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+)\s*([kMGT]B)?\s*", text)
    return int(found[1]) * _KILOBYTES_BY_UNIT[found[2] or ""] if found else 0
