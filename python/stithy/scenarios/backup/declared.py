"""Backups of the running database, and what they are restored to: times, rates, sizes."""

from stithy.activity import DeclaredActivity
from stithy.metrics import Metric, make_paired_metrics

NAME = "backup"

_METRICS = (
    Metric("backup.duration_s", "s", "lower", "values", "", "time of a backup", "Backup"),
    Metric("backup.bytes_per_s", "B/s", "higher", "values", "",
           "bytes of the database backed up per second", "Backup rate"),
    Metric("backup.size_bytes", "B", "lower", "values", "", "size of a backup", "Backup size"),
    Metric("backup.compression", "", "higher", "values", "",
           "size of the database by size of its backup", "Compression ratio"),
    Metric("backup.covered_share", "share", None, "values", "",
           "share of the measurement during which a backup ran", "Covered", compared=False),
    Metric("backup.commits", "", None, "values", "",
           "transactions that its programs committed in the database at most", "Own commits",
           compared=False),
    Metric("backup.cycle_bytes", "B", None, "values", "", "size of each backup", "Size",
           compared=False),
    Metric("backup.cycle_ratio", "", None, "values", "",
           "size of the database by size of each backup", "Ratio", compared=False),
    Metric("backup.restore_s", "s", "lower", "values", "",
           "time of a restore until the server answers", "Restore"),
    Metric("backup.restore_bytes_per_s", "B/s", "higher", "values", "",
           "bytes of the database restored per second", "Restore rate"),
    *make_paired_metrics(NAME, "with backups"),
)  # fmt: skip
"""Means over the cycles of a window that succeeded; of a cycle by the name of its span. Ratios are
of users with backups to the same users without."""

PLUGINS = (DeclaredActivity(NAME, _METRICS, by_agents="without-ledger"),)
