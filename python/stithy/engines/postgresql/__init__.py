"""PostgreSQL: what studies, plans and reports know of it, without anything that starts servers."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stithy.engines.declaration import Declaration
from stithy.engines.engine import Engine
from stithy.engines.postgresql.backups import BACKUPS
from stithy.secrets import Secret

if TYPE_CHECKING:
    from stithy.engines import instance

_PLACE = "Stithy puts the files of each instance on its candidate's volume"
_REACH = "Stithy chooses how an instance is reached: by a private socket, or `load.network`"
_WATCH = "Stithy keeps the server's messages with the window they belong to"
_COUNT = "the report counts checkpoints and runs of autovacuum from the server's messages"

OWNED_SETTINGS = {
    **dict.fromkeys(
        ("data_directory", "config_file", "hba_file", "ident_file", "external_pid_file",
         "temp_tablespaces", "include", "include_dir", "include_if_exists"), _PLACE,
    ),
    **dict.fromkeys(
        ("listen_addresses", "port", "unix_socket_directories", "unix_socket_group",
         "unix_socket_permissions"), _REACH,
    ),
    "password_encryption": "the password of each instance is generated, and hashed as Stithy asks",
    **dict.fromkeys(
        ("logging_collector", "log_destination", "log_directory", "log_filename",
         "log_line_prefix", "log_timezone", "log_min_messages"), _WATCH,
    ),
    **dict.fromkeys(("log_checkpoints", "log_autovacuum_min_duration"), _COUNT),
    "huge_pages": "huge pages would escape the memory limit, so they are off for every candidate",
}  # fmt: skip
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


def _read_reads(value: str, words: tuple[str, ...]) -> bool:
    given = value.strip().lower()
    return given not in _UNSURE and any(word.startswith(given) for word in words)


_BYTES_BY_UNIT = {"": 2**20, "B": 1, "kB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}
_MAX_WAL_SIZE = "1GB"
"""PostgreSQL's default."""


def _size_bytes(text: str) -> int:
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([kMGT]?B)?\s*", text)
    return round(float(found[1]) * _BYTES_BY_UNIT[found[2] or ""]) if found else 0


class PostgreSQLEngine(Engine):
    """PostgreSQL."""

    name = "postgresql"
    url_schemes = ("postgresql", "postgres")
    url_examples = (
        "postgresql://me:secret@localhost/test", "postgresql://me@/test?host=/run/postgresql",
    )  # fmt: skip
    variables = ("PG",)  # of libpq and its programs: PGHOST, PGOPTIONS, PGDATA, …
    accounts = ("postgres",)
    setting_examples = ({"shared_buffers": "384MB"}, {"shared_buffers": "768MB"})
    owned_settings = OWNED_SETTINGS
    backups = BACKUPS
    unsafe_settings = {"fsync": "off"}
    replica_copy = BACKUPS[0]
    unfollowed = {
        "wal_level": frozenset({"minimal"}), "max_wal_senders": frozenset({"0", "1"}),
        "max_replication_slots": frozenset({"0"}),
    }  # fmt: skip
    tells_log_end = True
    native_restore = "copies a template database within its server"
    has_remote = True
    listens = True

    @property
    def declaration(self) -> Declaration:
        from stithy.engines.postgresql.declaration import ENGINE

        return ENGINE

    def list_given_up(self, settings: Mapping[str, str]) -> dict[str, str]:
        """List which of the settings give durability up, with what may be lost.

        On Linux every `wal_sync_method` flushes, so none is among them.
        """
        given_up = {}
        if _read_reads(settings.get("fsync", ""), _FALSE):
            given_up["fsync"] = _NOT_FLUSHED
        commit = settings.get("synchronous_commit", "").strip().lower()
        if commit in _FALSE:
            given_up["synchronous_commit"] = _NOT_WAITED
        elif commit in ("local", "remote_write") and settings.get("synchronous_standby_names"):
            given_up["synchronous_commit"] = _NOT_THERE
        if _read_reads(settings.get("full_page_writes", ""), _FALSE):
            given_up["full_page_writes"] = _TORN
        if _read_reads(settings.get("data_sync_retry", ""), _TRUE):
            given_up["data_sync_retry"] = _DROPPED
        return given_up

    def count_log_bytes(self, settings: Mapping[str, str], window_s: float = 0.0) -> int:
        """Count what `pg_wal` holds at most: `max_wal_size`, passed by a fifth between checkpoints.

        What cannot be read counts as the default: the server itself refuses it before the run.
        """
        given = next((settings[key] for key in settings if key.lower() == "max_wal_size"), "")
        return (_size_bytes(given) or _size_bytes(_MAX_WAL_SIZE)) * 6 // 5

    def configure(self, request: "instance.Request") -> "instance.ConfiguredEngine":
        from stithy.engines.postgresql.engine import PostgreSQL

        return PostgreSQL(request)

    def find_damage(self, instance: "instance.Instance") -> str | None:
        """Find what the extension `amcheck` finds; None where it is not installed."""
        from stithy.engines.postgresql.connection import connect
        from stithy.engines.postgresql.upkeep import find_damage
        from stithy.engines.postgresql.url import parse_url
        from stithy.engines.served import ANSWER_PATIENCE_S

        with connect(parse_url(instance.url), timeout_s=ANSWER_PATIENCE_S) as session:
            return find_damage(session)

    def forget(self, facts: Mapping[str, str]) -> None:
        """Remove the shared memory of a killed server, which `Server.shared_memory` named."""
        from stithy.engines.postgresql.server import remove_segment

        remove_segment(facts)

    def connect(self, url: Secret, password: Secret | None = None) -> "instance.Endpoint":
        from stithy.engines.postgresql.endpoint import open_endpoint

        return open_endpoint(url, password)

    def connect_remote(self, url: Secret, password: Secret | None = None) -> "instance.Remote":
        from stithy.engines.postgresql.endpoint import resolve
        from stithy.engines.postgresql.remote import RemotePostgreSQL

        return RemotePostgreSQL(resolve(url, password))

    def locate(self, url: Secret) -> str:
        from stithy.engines.postgresql.url import parse_url

        return parse_url(url).place

    def get_native_restore(self) -> "instance.NativeRestore":
        from stithy.engines.postgresql import upkeep

        return upkeep

    def get_replication(self) -> "instance.Replication":
        from stithy.engines.postgresql import replication

        return replication

    def get_chores(self) -> "instance.Chores":
        from stithy.engines.postgresql import upkeep

        return upkeep


PLUGINS = (PostgreSQLEngine(),)
