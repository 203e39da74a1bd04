"""What PostgreSQL's servers have in common, for who runs, judges and draws without asking one.

That is also what its own work means for a window: checkpoints, log files, autovacuum.
Sources: PostgreSQL's manual, appendix "PostgreSQL Error Codes" for the classes of errors, and "The
Cumulative Statistics System" for the types of waits and their events.
"""

import re

from stithy.engines.declaration import CommitAllowance, Declaration, ErrorClass, WaitGroup
from stithy.metrics import CollectedMetric
from stithy.statements import Statement
from stithy.validity import Check, Flag, Reason, Recorded, Row

NO_CHECKPOINT = Flag(
    "no checkpoint inside",
    "No complete checkpoint fell into the measurement, so write-back was not measured{due}.",
    "Make the window longer than a checkpoint cycle, or lower checkpoint_timeout.",
)

SHORT_OF_CHECKPOINT = Flag(
    "too short for a checkpoint",
    "The window was too short for a checkpoint, so write-back was not measured: {rule}.",
    "To measure write-back, make it longer than a checkpoint cycle, or lower checkpoint_timeout.",
)

LOG_FILES_MADE = Flag(
    "log files created",
    "The server created {files:a file|# files} for its write-ahead log instead of recycling old "
    "ones, and commits waited for that.",
    "Raise max_wal_size, or shorten the window. A server that has run for long recycles its files.",
)

AUTOVACUUM = Flag(
    "autovacuum ran",
    "Autovacuum ran {runs:once|# times} during the window.",
    "It competes for the storage. Compare windows with equal numbers of runs.",
)


def checkpoint(window: Row, around: Row | None = None) -> Reason | None:
    """No whole checkpoint fell into the measurement, though one was due, or because none was.

    Edge case: where the server's rule is not known it is reported as if one had been due.
    Source: docs/explanation/method.md, "The same state".
    """
    if window["checkpoints_inside"] != 0:
        return None
    if around is None or around["checkpoint_after_s"] is None or around["log_bytes"] is None:
        return Reason(NO_CHECKPOINT, {"due": ""})
    length_s = window["measure_to_s"] - window["measure_from_s"]
    rule = Statement(
        "the server begins one after {after:duration} or {after_log:size} of log",
        after=around["checkpoint_after_s"], after_log=around["checkpoint_after_bytes"],
    )  # fmt: skip
    due = length_s >= around["checkpoint_after_s"]
    if due or around["log_bytes"] >= around["checkpoint_after_bytes"]:
        # The log was read around the whole load, ramp-up and drain included.
        due_text = Statement(
            ", although one was due: {rule}, and it wrote {wrote:size} in {span:duration}",
            rule=rule, wrote=around["log_bytes"], span=round(around["span_s"]),
        )  # fmt: skip
        return Reason(NO_CHECKPOINT, {"due": due_text})
    # Without the window's own numbers: all of a study are alike in it, and share a row.
    return Reason(SHORT_OF_CHECKPOINT, {"rule": rule})


def log_files_made(around: Row | None) -> Reason | None:
    """The server created log files during the measurement.

    Own: each one stalls all commits while it is filled and synced, as no long-running server would.
    """
    made = around["log_files_made"] if around is not None else None
    return Reason(LOG_FILES_MADE, {"files": made}) if made else None


def autovacuum(window: Row) -> Reason | None:
    """The server tidied up meanwhile.

    Own: it is ordinary work, but not the same in every window.
    """
    runs = window["maintenance_runs"]
    return Reason(AUTOVACUUM, {"runs": runs}) if runs else None


CHECKS: tuple[Check[Recorded], ...] = (
    Check(("load", "surroundings"), lambda of: checkpoint(of.window, of.around)),
    Check(("surroundings",), lambda of: log_files_made(of.around)),
    Check(("load",), lambda of: autovacuum(of.window)),
)

SERIALIZATION_FAILURE, DEADLOCK, DISK_FULL = "40001", "40P01", "53100"
CONNECTION_EXCEPTION = "08"
SHUTDOWNS = ("57P01", "57P02", "57P03", "57P05")
"""Ended by an administrator, by a crash, not yet started, ended because idle."""

DAMAGED = ("58030", "XX001", "XX002")
"""An I/O error, damaged tables, damaged indexes."""

READ_ONLY = "Read-only file system"
"""It has no code of its own."""

NO_SPACE = "No space left on device"
QUOTA = "Disk quota exceeded"
"""It has no code of its own."""

SHARED_MEMORY = "shared memory segment"
"""It lies in /dev/shm: no room for it is not a full volume."""


def classify_error(code: str | None, text: str) -> ErrorClass:
    """The class of an error; a line of the server's log has no code.

    >>> error_class("40P01", "deadlock detected")
    'retryable'
    """
    if code in (SERIALIZATION_FAILURE, DEADLOCK):
        return "retryable"
    is_full = code == DISK_FULL or QUOTA in text or (code is None and NO_SPACE in text)
    if is_full and SHARED_MEMORY not in text:
        return "full"
    if code in DAMAGED or (code and READ_ONLY in text):
        return "storage"
    if code and (code.startswith(CONNECTION_EXCEPTION) or code in SHUTDOWNS):
        return "lost"
    return "other"


TYPES = {
    "CPU": "",
    "IO": "reads and writes (IO)",
    "LWLock": "internal locks of the server (LWLock)",
    "Lock": "locks of other transactions (Lock)",
    "BufferPin": "", "IPC": "", "Client": "", "Timeout": "", "Extension": "",
}  # fmt: skip
"""Reported in every sample, also when nothing waits for it; others when they occur. With what the
commonest ones are, beside the server's own names for them."""

_BUFFER_IO = frozenset({"bufferio", "buffer_io"})
"""Waits for another session's read or write of the same block; of type IPC since version 14."""


def group_wait(event: str) -> WaitGroup:
    """The group of a wait event, such as `IO:DataFileRead`; of no event, `CPU`, it is `cpu`."""
    kind, _, name = event.partition(":")
    if kind == "CPU":
        return "cpu"
    if kind in ("IO", "LWLock") and name.upper().startswith("WAL"):
        return "log"
    if kind == "IO" or name.lower() in _BUFFER_IO:
        return "device"
    if kind in ("Lock", "LWLock", "BufferPin"):
        return "locks"
    return "client" if kind == "Client" else "other"


def is_log_creation(event: str) -> bool:
    """Whether a session fills or syncs a new file of the log: WALInitWrite and WALInitSync."""
    return event.upper().startswith("IO:WALINIT")


METRICS = (
    CollectedMetric("log_records_per_s", "1/s", "records of the write-ahead log"),
    CollectedMetric("log_full_pages_per_s", "1/s", "full page images in the write-ahead log"),
    CollectedMetric("log_buffers_full_per_s", "1/s",
                    "log written early because its buffers were full"),
    CollectedMetric("log_files_to_archive", "",
                    "finished files of the log that wait to be archived"),
    CollectedMetric("checkpoints_timed_per_s", "1/s", "checkpoints caused by checkpoint_timeout"),
    CollectedMetric("checkpoints_requested_per_s", "1/s",
                    "checkpoints caused by log volume or by command"),
    CollectedMetric("cleaner_buffers_per_s", "1/s", "buffers written by the background writer"),
    CollectedMetric("backend_buffers_per_s", "1/s", "buffers written by backends"),
    *(CollectedMetric(f"io_{name}_per_s", "1/s", f"{noun} of data files by kind of process",
                      of_several="sum")
      for name, noun in (("reads", "reads"), ("writes", "writes"), ("extends", "extensions"),
                         ("fsyncs", "syncs"))),
)  # fmt: skip
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
    error_class=classify_error,
    metrics=METRICS,
    wait_types=TYPES,
    wait_group=group_wait,
    is_log_creation=is_log_creation,
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
