"""What PostgreSQL's servers have in common, for who runs, judges and draws without asking one."""

import re

from stithy.engines.declaration import CommitAllowance, Declaration
from stithy.engines.postgresql import waits
from stithy.engines.postgresql.checks import CHECKS
from stithy.engines.postgresql.errors import error_class
from stithy.metrics import CollectedMetric

METRICS = (
    CollectedMetric("log_records_per_s", "1/s", "records of the write-ahead log"),
    CollectedMetric("log_full_pages_per_s", "1/s", "full page images in the write-ahead log"),
    CollectedMetric(
        "log_buffers_full_per_s", "1/s", "log written early because its buffers were full"
    ),
    CollectedMetric(
        "log_files_to_archive", "", "finished files of the log that wait to be archived"
    ),
    CollectedMetric("checkpoints_timed_per_s", "1/s", "checkpoints caused by checkpoint_timeout"),
    CollectedMetric(
        "checkpoints_requested_per_s", "1/s", "checkpoints caused by log volume or by command"
    ),
    CollectedMetric("cleaner_buffers_per_s", "1/s", "buffers written by the background writer"),
    CollectedMetric("backend_buffers_per_s", "1/s", "buffers written by backends"),
    CollectedMetric(
        "io_reads_per_s", "1/s", "reads of data files by kind of process", of_several="sum"
    ),
    CollectedMetric(
        "io_writes_per_s", "1/s", "writes of data files by kind of process", of_several="sum"
    ),
    CollectedMetric(
        "io_extends_per_s", "1/s", "extensions of data files by kind of process", of_several="sum"
    ),
    CollectedMetric(
        "io_fsyncs_per_s", "1/s", "syncs of data files by kind of process", of_several="sum"
    ),
)
"""Beside those that every engine has."""


def find_defect(version: str) -> str | None:
    """What is known of a version, as `SHOW server_version` says it.

    Source: PostgreSQL's release notes, 18.2. Two sessions show it: the second of two statements
    UPDATE … FROM of one row waits for the first, and then changes nothing.
    """
    if (found := re.match(r"18(\.[01]\b|(beta|rc)\d)", version)) is None:
        return None
    return (
        f"PostgreSQL {found[0]} loses rows of UPDATE … FROM statements that waited for another "
        "session, so that transactions fail: use 18.2 or later, or another version"
    )


ENGINE = Declaration(
    error_class=error_class,
    metrics=METRICS,
    wait_types=waits.TYPES,
    wait_group=waits.wait_group,
    is_log_creation=waits.is_log_creation,
    # A session's start and its preparation commit, as do the hammer's quiet start and end, visits
    # of autovacuum and its work on tables. Measured without it: 14, and 2 more a connection.
    commits=CommitAllowance(fewer=5, more=30, per_connection=3, per_s=0.1, per_maintenance_run=5),
    block_bytes=8192,
    buffers="shared buffers",
    maintenance="autovacuum",
    checks=CHECKS,
    find_defect=find_defect,
    log_note="The first change of a page after a checkpoint logs the whole page.",
)
