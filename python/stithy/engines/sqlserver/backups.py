"""The way to back a SQL Server database up: BACKUP DATABASE, to files of the server itself.

Source: Microsoft's documentation of BACKUP, RESTORE and sys.dm_exec_requests.
"""

from typing import TYPE_CHECKING

from stithy.engines.backup import BackupOptions, Progress, ServerMethod
from stithy.secrets import Secret

if TYPE_CHECKING:
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
        """Back it up."""
        from stithy.engines.sqlserver import native

        remote = _connect(url)
        devices = remote.wish.list_devices(name, options.processes)
        return native.run_watched(
            remote, native.make_backup(remote.database, name, devices, remote.wish)
        )

    def measure_backup(self, url: Secret, name: str) -> int | None:
        """Read how large it is, compressed, in the server's history of backups."""
        from stithy.engines.sqlserver import native

        remote = _connect(url)
        with remote.connect_master() as master:
            return native.measure_backup(master, remote.database, name)

    def restore_beside(
        self, url: Secret, name: str, options: BackupOptions, beside: str
    ) -> Progress:
        """Restore it to files beside those of the database."""
        from stithy.engines.sqlserver import native

        remote = _connect(url)
        devices = remote.wish.list_devices(name, options.processes)
        with remote.connect_master() as master:
            native.drop_database(master, beside)
            statement = native.make_restore(master, remote.database, beside, devices, remote.wish)
        return native.run_watched(remote, statement)

    def locate_beside(self, url: Secret, beside: str) -> Secret:
        """Give the same URL with another database."""
        from dataclasses import replace

        from stithy.engines.sqlserver.given import parse_url

        return replace(parse_url(url), database=beside).url

    def drop_beside(self, url: Secret, beside: str) -> None:
        """Drop it."""
        from stithy.engines.sqlserver import native

        with _connect(url).connect_master() as master:
            native.drop_database(master, beside)

    def remove_backup(self, url: Secret, name: str) -> None:
        """Let the server delete its files."""
        from stithy.engines.sqlserver import native

        remote = _connect(url)
        with remote.connect_master() as master:
            native.delete_backups(master, remote.database, name)


def _connect(url: Secret) -> "RemoteSQLServer":
    from stithy.engines.sqlserver.remote import connect_remote

    return connect_remote(url)


BACKUPS = (NativeBackup(),)
