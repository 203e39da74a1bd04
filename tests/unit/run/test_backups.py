"""Whose failure it was that a backup was not restored, and what of a ledger it must hold."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from fakes.hammer import FakeHammer
from stithy.activities.backup.cycles import Cycle, is_hopeless, is_of_the_machine
from stithy.results.layout import RunDirectory
from stithy.scenarios.backup.activity import ROOM_BYTES, explain_missing, measure_length
from stithy.wire.hammer import LedgerVerified
from stithy.wire.jobs import WorkloadChoice

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


@pytest.mark.parametrize("because", [*OF_OTHERS, *OF_THE_BACKUP])
def test_what_was_killed_or_had_no_device_says_nothing_of_the_backup(because: str) -> None:
    """The restore is tried again at the end, and only that decides. What fails by itself condemns
    the backup, also a server that ends itself on files that are not whole.
    """
    assert is_of_the_machine(because) is (because in OF_OTHERS)


@pytest.mark.parametrize(
    ("became", "hopeless"), [("", False), ("--", False), ("+---", True), ("---+--", False)]
)
def test_backups_without_a_number_end_after_three_failures_in_a_row(
    became: str, hopeless: bool
) -> None:
    """A full volume would otherwise fail them as fast as they can be begun."""
    because = {"+": None, "-": "no space left on device"}
    assert is_hopeless([Cycle(0, 1, 0, None, because[each]) for each in became]) is hopeless


CHOICE = WorkloadChoice(name="order-entry")


class Reading(FakeHammer):
    """Keeps the bytes of each ledger that it is asked about."""

    def verify_ledger(self, workload: WorkloadChoice, ledger: Path, **more: Any) -> LedgerVerified:
        """As the fake has it."""
        self.read = ledger.read_bytes()
        return super().verify_ledger(workload, ledger, **more)


def test_what_was_written_when_the_backup_began_is_promised_and_nothing_later(
    tmp_path: Path,
) -> None:
    """Room that was ready for more entries is none of it; the copy is removed.

    A lost commit is the fault of the backup: the reason names nothing of the machine.
    """
    directory = RunDirectory(tmp_path).window("w")
    directory.root.mkdir(parents=True)
    assert measure_length(directory) is None
    directory.ledger.write_bytes(b"head, first" + bytes(4096))
    promised = measure_length(directory)
    assert promised == len(b"head, first")
    directory.ledger.write_bytes(b"head, first, later" + bytes(4089))
    hammer = Reading()
    assert explain_missing(hammer, CHOICE, directory, promised) is None
    assert hammer.read == b"head, first" + bytes(ROOM_BYTES)
    assert [path.name for path in directory.root.iterdir()] == ["hammer.ledger"]
    because = explain_missing(FakeHammer(lost=1), CHOICE, directory, promised)
    assert because == "acknowledged work is missing in what was restored: 1 lost"
    assert not is_of_the_machine(because)
