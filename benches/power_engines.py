"""The engines of machines whose power is cut: how they are set, and how each checks itself.

What Stithy says of settings is what is proved: those of which it names nothing as given up must
lose nothing, and the others must lose something that is noticed.
"""

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stithy.engines.engine import Engine, get_engine
from stithy.engines.instance import Instance
from stithy.engines.mariadb.connection import connect, quote_name
from stithy.engines.mariadb.server import MariaDBServer
from stithy.engines.mariadb.url import parse_url
from stithy.engines.sqlite.backups import FILE
from stithy.engines.sqlite.copies import check

BASE = ""
"""The variant that a study gets where it sets nothing of durability."""


def check_tables(server: Instance, data: Path) -> str:
    """Ask MariaDB for what `CHECK TABLE … EXTENDED` finds in any of its tables, indexes too."""
    assert isinstance(server, MariaDBServer)
    with connect(parse_url(server.control)) as session:
        tables = [quote_name(str(row[0])) for row in session.run("SHOW TABLES")]
        rows = session.run(f"CHECK TABLE {', '.join(tables)} EXTENDED")
    return "; ".join(f"{row[0]}: {row[3]}" for row in rows if (row[2], row[3]) != ("status", "OK"))


def check_integrity(server: Instance, data: Path) -> str:
    """Ask SQLite for what its `integrity_check` and `foreign_key_check` find."""
    (data / FILE).read_bytes()  # so that the check, page by page, waits for no drive
    try:
        check(str(data / FILE))
    except sqlite3.DatabaseError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Subject:
    """An engine, small, so that dirty pages are on their way and the log is not only written.

    `kinds` are its file systems, `variants` by name what is set otherwise. `find_damage` says what
    the engine's own check finds wrong in a data directory on which its server runs; None: it has
    none without extensions.
    """

    name: str
    kinds: tuple[str, ...]
    settings: Mapping[str, str]
    find_damage: Callable[[Instance, Path], str] | None = None
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def engine(self) -> Engine:
        """What Stithy knows of it."""
        return get_engine(self.name)

    def configure(self, variant: str) -> dict[str, str]:
        """Give the settings of a variant."""
        return {**self.settings, **({} if variant == BASE else self.variants[variant])}

    def is_durable(self, variant: str) -> bool:
        """Whether Stithy names nothing that these settings give up."""
        return not self.engine.list_given_up(self.configure(variant))


SUBJECTS = {
    subject.name: subject
    for subject in (
        Subject(
            "postgresql",
            ("ext4", "xfs", "btrfs"),
            {
                "shared_buffers": "16MB",
                "max_wal_size": "64MB",
                "min_wal_size": "32MB",
                "bgwriter_delay": "20ms",
                "autovacuum": "on",
            },
        ),
        Subject(
            "mariadb",
            ("ext4", "xfs"),
            {
                "innodb_buffer_pool_size": "16M",
                "innodb_log_file_size": "16M",
                "innodb_max_dirty_pages_pct": "10",
                "innodb_max_dirty_pages_pct_lwm": "1",
            },
            check_tables,
            {
                "unflushed": {
                    "innodb_flush_log_at_trx_commit": "0",
                    # Before a page is written its log is: with room in memory that is seldom.
                    "innodb_buffer_pool_size": "128M",
                    "innodb_max_dirty_pages_pct": "90",
                    "innodb_max_dirty_pages_pct_lwm": "0",
                }
            },
        ),
        Subject(
            "sqlite",
            ("ext4", "xfs"),
            {"autocheckpoint": "100", "cache_kib": "500"},
            check_integrity,
            {
                "truncate": {"journal": "truncate"},
                "persist": {"journal": "persist"},
                "extra": {"journal": "delete", "synchronous": "extra"},
                "delete": {"journal": "delete"},
                "unflushed": {"synchronous": "off"},
            },
        ),
    )
}
