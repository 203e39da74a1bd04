"""Whose failure it was that a backup was not restored, and when no other is begun."""

import errno
import os

import pytest

from stithy.activities.backup.cycles import Cycle, is_hopeless, is_of_the_machine

OF_OTHERS = [
    "tar was ended by signal 9",
    "pg_restore was ended by signal 15 | pg_restore: error: query failed",
    "/s/.s.PGSQL.5432: the server was ended by SIGKILL",
    "tar ended with code 2 | tar: Child died with signal 9",
    "tar ended with code 2 | tar: base.tar: Cannot read: Input/output error",
    "/a/backup: read-only file system",
    *(f"/a/restored: {os.strerror(each).lower()}" for each in (errno.ENOSPC, errno.ENXIO)),
]
OF_THE_BACKUP = [
    "tar ended with code 2 | tar: Unexpected EOF in archive",
    "tar was ended by signal 11",
    "the server was ended by SIGABRT: PANIC: could not locate a valid checkpoint record",
    "the server ended with code 1: invalid page in block 9 of relation base/5/1259",
]


@pytest.mark.parametrize("because", OF_OTHERS)
def test_what_was_killed_or_had_no_device_says_nothing_of_the_backup(because: str) -> None:
    """The restore is tried again at the end, and only that decides."""
    assert is_of_the_machine(because)


@pytest.mark.parametrize("because", OF_THE_BACKUP)
def test_what_fails_by_itself_condemns_the_backup(because: str) -> None:
    """Also a server that ends itself on files that are not whole."""
    assert not is_of_the_machine(because)


@pytest.mark.parametrize(
    ("became", "hopeless"), [("", False), ("--", False), ("+---", True), ("---+--", False)]
)
def test_backups_without_a_number_end_after_three_failures_in_a_row(
    became: str, hopeless: bool
) -> None:
    """A full volume would otherwise fail them as fast as they can be begun."""
    because = {"+": None, "-": "no space left on device"}
    assert is_hopeless([Cycle(0, 1, 0, None, because[each]) for each in became]) is hopeless
