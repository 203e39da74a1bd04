"""The engines of machines whose power is cut, and how they are set.

What Stithy says of settings is what is proved: those of which it names nothing as given up must
lose nothing, and the others must lose something that is noticed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stithy.engines.engine import Engine, get_engine

BASE = ""
"""The variant that a study gets where it sets nothing of durability."""


@dataclass(frozen=True)
class Subject:
    """An engine, small, so that dirty pages are on their way and the log is not only written.

    `kinds` are its file systems, `variants` by name what is set otherwise.
    """

    name: str
    kinds: tuple[str, ...]
    settings: Mapping[str, str]
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
