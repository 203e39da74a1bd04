"""Which wait is about what."""

import pytest

from stithy.analysis.limits.waits import group_of


@pytest.mark.parametrize(
    ("event", "group"),
    [
        ("CPU", "cpu"), ("IO:DataFileRead", "device"), ("IO:DataFileExtend", "device"),
        ("IO:BufFileWrite", "device"), ("IPC:BufferIO", "device"), ("IPC:BufferIo", "device"),
        ("LWLock:buffer_io", "device"), ("IO:WALSync", "log"), ("IO:WalSync", "log"),
        ("IO:WALInitWrite", "log"), ("LWLock:WALWrite", "log"), ("LWLock:WALInsert", "log"),
        ("Lock:transactionid", "locks"), ("LWLock:BufferContent", "locks"),
        ("BufferPin:BufferPin", "locks"), ("Client:ClientRead", "client"),
        ("Timeout:VacuumDelay", "other"), ("Extension", "other"),
    ],
)  # fmt: skip
def test_an_event_belongs_to_one_group(event: str, group: str) -> None:
    """Names as PostgreSQL 13 to 18 have them."""
    assert group_of(event) == group
