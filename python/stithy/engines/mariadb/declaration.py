"""What MariaDB's servers have in common, for who runs, judges and draws without asking one.

Sources: MariaDB's documentation, "MariaDB Error Codes", "General Thread States" and "InnoDB Status
Variables".
"""

from stithy.engines.declaration import CommitAllowance, Declaration, ErrorClass, group_wait
from stithy.metrics import CollectedMetric
from stithy.validity import Check, Flag, Reason, Recorded, Row

RETRYABLE = ("1213", "1205", "1020", "1615")
"""Deadlock, lock wait timeout, snapshot isolation, a statement that must be prepared again."""

FULL = ("1114", "1021", "3", "28")
LOST = ("1927", "1053", "1158", "1159", "1160", "1161", "2006", "2013")
DAMAGED = (
    "5", "30", "126", "1016", "1023", "1024", "1025", "1026", "1030", "1034", "1036", "1180",
    "1712", "1877", "1932",
)  # fmt: skip
"""Errors of the system and of its engines; a table whose file could not be read is said not to
exist, or to be in no engine."""

NO_SPACE = ("error 28", "error number 28", "Errcode: 28", "No space left on device", "errno: 28")


def classify_error(code: str | None, text: str) -> ErrorClass:
    """Classify an error; a line of the server's log has no code.

    >>> classify_error("1213", "Deadlock found when trying to get lock")
    'retryable'
    """
    if code in RETRYABLE:
        return "retryable"
    if code in FULL or (
        code in (None, "1026", "1030", "1180") and any(word in text for word in NO_SPACE)
    ):
        return "full"
    if code in DAMAGED:
        return "storage"
    return "lost" if code in LOST else "other"


TYPES = {
    "CPU": "",
    "IO": "reads of pages (IO)",
    "Log": "the log at commits (Log)",
    "Lock": "locks of other transactions (Lock)",
    "Client": "",
}
"""Reported in every sample; with what they are, beside the words that are Stithy's own."""

LOG_STATES = frozenset(
    {"commit", "commit implicit", "updating status", "waiting for handler commit"}
)
"""A session whose statement has ended and whose log is not flushed yet is in `updating status`; of
MySQL in the last of these."""


def classify_state(state: str) -> str:
    """Give the wait event of a session's state, as the list of sessions shows it.

    >>> classify_state("Waiting for table metadata lock")
    'Lock:table metadata lock'
    """
    words = state.lower()
    if words in LOG_STATES or "binlog" in words or "prior transaction" in words:
        return "Log:commit"
    if words.startswith("waiting for ") and "lock" in words:
        return f"Lock:{words.removeprefix('waiting for ')}"
    return "Client:net" if words in ("writing to net", "reading from net") else "CPU"


METRICS = (
    CollectedMetric("log_waits_per_s", "1/s", "waits because the log buffer was full"),
    CollectedMetric("pages_written_per_s", "1/s", "pages of tables and indexes written"),
    CollectedMetric("doublewrite_pages_per_s", "1/s", "pages written to the doublewrite area"),
    CollectedMetric("file_read_bytes_per_s", "B/s", "bytes read from data files"),
    CollectedMetric("file_written_bytes_per_s", "B/s", "bytes written to data files, twice where "
                    "the doublewrite area is used, without the log"),
    CollectedMetric("file_syncs_per_s", "1/s", "syncs of the log and of data files"),
    CollectedMetric("free_page_waits_per_s", "1/s", "waits because no page of the buffer pool was "
                    "free: storage cannot keep up with eviction"),
    CollectedMetric("row_lock_waits_per_s", "1/s", "waits for a row that another session holds"),
    CollectedMetric("checkpoint_age_bytes", "B", "log since the oldest change that is not yet in a "
                    "data file; near its limit pages must be written"),
    CollectedMetric("dirty_pages", "", "changed pages in the buffer pool"),
    CollectedMetric("old_versions", "", "transactions whose old versions of rows are to be purged"),
)  # fmt: skip
"""Beside those that every engine has."""

NO_WRITE_BACK = Flag(
    "pages not written back",
    "The server wrote none of its changed pages back while users worked, so write-back was not "
    "measured. Its log grew by {wrote:size}.",
    "Make the window longer, or lower innodb_log_file_size or innodb_max_dirty_pages_pct_lwm.",
)


def find_missing_write_back(around: Row | None) -> Reason | None:
    """Find a window whose changes all stayed in the buffer pool.

    Edge case: the server may not count its pages or its log; then nothing is said.
    """
    if around is None or around["log_bytes"] is None or around["pages_written"] != 0:
        return None
    return Reason(NO_WRITE_BACK, {"wrote": around["log_bytes"]})


CHECKS: tuple[Check[Recorded], ...] = (
    Check(("surroundings",), lambda of: find_missing_write_back(of.around)),
)

ENGINE = Declaration(
    error_class=classify_error,
    metrics=METRICS,
    wait_types=TYPES,
    wait_group=group_wait,
    # Only what says COMMIT counts: the hammer's quiet start and end, and its preparation.
    commits=CommitAllowance(counts_statements=False),
    block_bytes=16384,
    maintenance="purge",
    checks=CHECKS,
    log_note=(
        "The redo log holds changes of pages; pages themselves go to the doublewrite area and then "
        "to their place."
    ),
)
