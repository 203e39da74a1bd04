"""What PostgreSQL's errors mean: their classes, by SQLSTATE or by the words of a log.

Source: PostgreSQL's manual, appendix "PostgreSQL Error Codes".
"""

from stithy.engines.declaration import ErrorClass

SERIALIZATION_FAILURE, DEADLOCK, DISK_FULL = "40001", "40P01", "53100"
CONNECTION_EXCEPTION = "08"
SHUTDOWNS = ("57P01", "57P02", "57P03", "57P05")
"""Ended by an administrator, by a crash, not yet started, ended because idle."""

NO_SPACE = "No space left on device"
SHARED_MEMORY = "shared memory segment"
"""It lies in /dev/shm: no room for it is not a full volume."""


def error_class(code: str | None, text: str) -> ErrorClass:
    """The class of an error; a line of the server's log has no code.

    >>> error_class("40P01", "deadlock detected")
    'retryable'
    """
    if code in (SERIALIZATION_FAILURE, DEADLOCK):
        return "retryable"
    is_full = code == DISK_FULL or (code is None and NO_SPACE in text)
    if is_full and SHARED_MEMORY not in text:
        return "full"
    if code and (code.startswith(CONNECTION_EXCEPTION) or code in SHUTDOWNS):
        return "lost"
    return "other"
