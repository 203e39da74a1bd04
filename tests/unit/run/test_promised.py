"""Which part of a ledger a backup must hold, and what is said of one that misses some of it."""

from pathlib import Path
from typing import Any

from fakes.hammer import FakeHammer
from stithy.activities.backup.cycles import is_of_the_machine
from stithy.results.layout import RunDirectory
from stithy.scenarios.backup.activity import ROOM_BYTES, explain_missing, measure_length
from stithy.wire.hammer import LedgerVerified
from stithy.wire.jobs import WorkloadChoice

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
    """Room that was ready for more entries is none of it; the copy is removed."""
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


def test_a_lost_commit_is_the_fault_of_the_backup(tmp_path: Path) -> None:
    """The reason counts what is missing, and names nothing of the machine."""
    directory = RunDirectory(tmp_path).window("w")
    directory.root.mkdir(parents=True)
    directory.ledger.write_bytes(b"head")
    because = explain_missing(FakeHammer(lost=1), CHOICE, directory, 4)
    assert because == "acknowledged work is missing in what was restored: 1 lost"
    assert not is_of_the_machine(because)
