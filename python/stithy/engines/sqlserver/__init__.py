"""SQL Server by URL: what studies, plans and reports know of it, without any server.

Sources: Microsoft's documentation of "Database Engine errors", sys.dm_os_wait_stats,
sys.dm_os_performance_counters, sys.dm_io_virtual_file_stats, BACKUP and sys.dm_exec_requests.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from stithy.engines.backup import BackupOptions, Progress, ServerMethod
from stithy.engines.declaration import Declaration, ErrorClass, group_wait
from stithy.engines.engine import Engine
from stithy.metrics import CollectedMetric
from stithy.secrets import Secret

if TYPE_CHECKING:
    from stithy.engines import instance
    from stithy.engines.sqlserver.remote import RemoteSQLServer


STRIPES_MOST = 64
"""Source: BACKUP, "backup devices"."""


class NativeBackup(ServerMethod):
    """A backup with COPY_ONLY, so that it is part of no chain of somebody's."""

    name = "native"
    summary = (
        "is `BACKUP DATABASE … WITH COPY_ONLY, CHECKSUM` of a database by URL: `processes` files "
        "at once, at most 64; `backup_folders`, `backup_compression`, `backup_buffer_count` and "
        "`backup_transfer_size` of `database.settings` say the rest"
    )
    no_bandwidth = "BACKUP has no such option"
    no_agent = "the server itself makes it"

    def explain_refusal(self, options: BackupOptions) -> str | None:
        """It compresses as settings of the database say."""
        if options.compression != "none":
            return (
                f"{self.name} has no `compression`: give `backup_compression: on` in "
                "`database.settings`"
            )
        if options.processes > STRIPES_MOST:
            return f"{self.name} writes at most {STRIPES_MOST} files at once"
        return super().explain_refusal(options)

    def back_up_inside(self, url: Secret, name: str, options: BackupOptions) -> Progress:
        from stithy.engines.sqlserver import native

        remote = _connect(url)
        devices = remote.wish.list_devices(name, options.processes)
        statement = native.make_backup(remote.database, name, devices, remote.wish)
        return native.run_watched(remote, statement)

    def measure_backup(self, url: Secret, name: str) -> int | None:
        """Read how large it is, compressed, in the server's history of backups."""
        from stithy.engines.sqlserver import native

        remote = _connect(url)
        with remote.connect_master() as master:
            return native.measure_backup(master, remote.database, name)

    def restore_beside(
        self, url: Secret, name: str, options: BackupOptions, beside: str
    ) -> Progress:
        from stithy.engines.sqlserver import native

        remote = _connect(url)
        devices = remote.wish.list_devices(name, options.processes)
        with remote.connect_master() as master:
            native.drop_database(master, beside)
            statement = native.make_restore(master, remote.database, beside, devices, remote.wish)
        return native.run_watched(remote, statement)

    def locate_beside(self, url: Secret, beside: str) -> Secret:
        from dataclasses import replace

        from stithy.engines.sqlserver.given import parse_url

        return replace(parse_url(url), database=beside).url

    def drop_beside(self, url: Secret, beside: str) -> None:
        from stithy.engines.sqlserver import native

        with _connect(url).connect_master() as master:
            native.drop_database(master, beside)

    def remove_backup(self, url: Secret, name: str) -> None:
        from stithy.engines.sqlserver import native

        remote = _connect(url)
        with remote.connect_master() as master:
            native.delete_backups(master, remote.database, name)


def _connect(url: Secret) -> "RemoteSQLServer":
    from stithy.engines.sqlserver.remote import connect_remote

    return connect_remote(url)


BACKUPS = (NativeBackup(),)

_NUMBERS: Mapping[ErrorClass, frozenset[int]] = {
    "retryable": frozenset({1205, 1222, 3960, 3961, 3966, 41301, 41302, 41305, 41325}),
    "full": frozenset({1101, 1103, 1105, 3257, 5144, 5145, 5149, 9002}),
    "storage": frozenset({823, 824, 825, 8966}),
    "lost": frozenset({-1, 20, 64, 121, 233, 258, 596, 6005, 6104, 10053, 10054, 10060, 17892}),
}
NO_SPACE = ("There is not enough space on the disk", "No space left on device", "is full")


def classify_error(code: str | None, text: str) -> ErrorClass:
    """Classify an error by the server's number; a line of its log has none.

    >>> classify_error("1205", "Transaction was deadlocked on lock resources")
    'retryable'
    """
    if code is None:
        return "full" if any(words in text for words in NO_SPACE) else "other"
    number = int(code) if code.lstrip("-").isdigit() else 0
    return next((of for of, numbers in _NUMBERS.items() if number in numbers), "other")


TYPES = {
    "CPU": "",
    "IO": "reads and writes of pages (IO)",
    "Log": "the log at commits (Log)",
    "Lock": "locks of other transactions (Lock)",
    "Latch": "pages in memory that others use (Latch)",
    "Memory": "memory for their work (Memory)",
    "Client": "",
    "Other": "",
}
"""Reported in every sample; with what they are, beside the words that are Stithy's own."""

WAITS: Mapping[str, tuple[str, ...]] = {
    "IO": ("PAGEIOLATCH_", "IO_COMPLETION", "ASYNC_IO_COMPLETION", "WRITE_COMPLETION", "BACKUPIO"),
    "Log": ("WRITELOG", "LOGBUFFER", "LOGMGR", "LOG_RATE_GOVERNOR"),
    "Lock": ("LCK_M_",),
    "Latch": ("PAGELATCH_", "LATCH_"),
    "Memory": ("RESOURCE_SEMAPHORE", "CMEMTHREAD", "MEMORY_ALLOCATION_EXT"),
    "Client": ("ASYNC_NETWORK_IO",),
    "CPU": ("SOS_SCHEDULER_YIELD", "THREADPOOL", "CXPACKET", "CXCONSUMER"),
}
"""How the types of waits of each class begin; others, most of them idle, are of none."""


def classify_wait(wait: str) -> str:
    """Give the wait event of a session by what it waits for; empty if it does not wait.

    >>> classify_wait("PAGEIOLATCH_SH")
    'IO:PAGEIOLATCH_SH'
    """
    if not wait:
        return "CPU"
    kind = next((name for name, begins in WAITS.items() if wait.startswith(begins)), "Other")
    return f"{kind}:{wait}"


METRICS = (
    CollectedMetric("batch_requests_per_s", "1/s", "batches and calls of all sessions, those of "
                    "Stithy among them"),
    CollectedMetric("write_transactions_per_s", "1/s", "transactions of the database that wrote "
                    "and were committed"),
    CollectedMetric("log_flush_waits_per_s", "1/s", "commits that waited for the log"),
    CollectedMetric("page_writes_per_s", "1/s", "pages written to data files of all databases"),
    CollectedMetric("lazy_writes_per_s", "1/s", "pages written because memory was needed"),
    CollectedMetric("lock_waits_per_s", "1/s", "waits for locks of other sessions"),
    CollectedMetric("page_life_s", "s", "how long a page stays in the buffer pool unused"),
    CollectedMetric("waiting_by_class", "", "mean number of sessions that waited, by class of "
                    "wait; without idle ones", of_several="sum"),
    CollectedMetric("database_file_reads_per_s", "1/s", "reads by file", of_several="sum"),
    CollectedMetric("database_file_writes_per_s", "1/s", "writes by file", of_several="sum"),
    CollectedMetric("database_file_read_s", "s", "mean time of a read by file, with its wait in "
                    "the server"),
    CollectedMetric("database_file_write_s", "s", "mean time of a write by file, with its wait in "
                    "the server"),
)  # fmt: skip
"""Beside those that every engine has."""

ENGINE = Declaration(
    error_class=classify_error,
    metrics=METRICS,
    wait_types=TYPES,
    wait_group=group_wait,
    # It counts transactions that began, or those that wrote: none is what clients commit.
    commits=None,
    block_bytes=8192,
    maintenance="ghost cleanup",
    log_note="The transaction log holds changes of rows; each write of it goes through caches.",
)

_FORCED = (
    "a commit is answered before its log is written, so any end of the server, even a clean one, "
    "loses those of the last moments"
)
_ALLOWED = "sessions may commit before their log is written, and any end of the server loses those"
_UNVERIFIED = "pages have no checksums, so damage by storage is not noticed"
GIVEN_UP = {
    "delayed_durability": {"forced": _FORCED, "allowed": _ALLOWED},
    "page_verify": {"none": _UNVERIFIED, "torn_page_detection": _UNVERIFIED},
}


class SQLServerEngine(Engine):
    """SQL Server 2016 and later."""

    name = "sqlserver"
    url_schemes = ("sqlserver",)
    url_examples = (
        "sqlserver://me:secret@db.example/test",
        "sqlserver://me@localhost:1433/test?trustServerCertificate=true",
    )
    setting_examples = (
        {"recovery": "simple", "data_size": "20 GiB"},
        {"data_files": "/vol1/d1.mdf", "log_file": "/vol1/l1.ldf"},
    )
    given_up = GIVEN_UP
    backups = BACKUPS
    native_restore = (
        "reverts to a database snapshot, or restores a backup, as `settings: {native_restore: …}` "
        "says"
    )
    has_remote = True
    is_set_by_url = True
    no_server = "its programs are installed by hand and licensed, so Stithy starts none of them"

    declaration = ENGINE

    def explain_setting(self, name: str, value: str) -> tuple[str, str] | None:
        from stithy.engines.sqlserver import given

        return given.explain_setting(name, value)

    def count_log_bytes(self, settings: Mapping[str, str], window_s: float = 0.0) -> int:
        """Count what the log has from the start; unknown where the study does not say it."""
        from stithy.engines.sqlserver.given import make_wish

        return make_wish(settings).get_bytes("log_size") or 0

    def describe_settings(
        self, settings: Mapping[str, str], *, keeps_inside: bool
    ) -> Iterator[str]:
        from stithy.engines.sqlserver.given import make_wish

        return make_wish(settings).list_cautions(keeps_inside=keeps_inside)

    def connect(self, url: Secret, password: Secret | None = None) -> "instance.Endpoint":
        from stithy.engines.sqlserver.endpoint import SQLServerEndpoint
        from stithy.engines.sqlserver.given import parse_url

        return SQLServerEndpoint(parse_url(url, password).url)

    def connect_remote(self, url: Secret, password: Secret | None = None) -> "instance.Remote":
        from stithy.engines.sqlserver.remote import connect_remote

        return connect_remote(url, password)

    def locate(self, url: Secret) -> str:
        from stithy.engines.sqlserver.given import parse_url

        return parse_url(url).place


PLUGINS = (SQLServerEngine(),)
