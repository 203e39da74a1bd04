"""What was acknowledged before a backup began, and whether what is restored of it holds that.

Entries are only added to the ledger of a window, and an acknowledgement is in it only after the
database's answer. So its first bytes, as many as were written when the backup began, hold nothing
that came later. What they hold must be in the backup, whole; what came while it ran may be.
"""

import os

from stithy.results.layout import WindowDirectory
from stithy.run.activities.backup.outcomes import LOST
from stithy.wire.hammer import Program, Watch
from stithy.wire.jobs import WorkloadChoice

CHUNK_BYTES = 2**20
ROOM_BYTES = 4096
"""Zeros after the first bytes: those at the end of an entry among them, and room for more."""


def length(directory: WindowDirectory) -> int | None:
    """How many bytes are written to a window's ledger by now; None where there is none.

    The room after them is zeros, which those at the end of an entry are taken for. It is read from
    the end: users are measured meanwhile.
    """
    if not directory.ledger.exists():
        return None
    with directory.ledger.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end:
            begin = file.seek(max(0, end - CHUNK_BYTES))
            if written := file.read(end - begin).rstrip(b"\0"):
                return begin + len(written)
            end = begin
    return 0


def missing(
    hammer: Program, choice: WorkloadChoice, directory: WindowDirectory, promised_bytes: int
) -> str | None:
    """What the database misses of the ledger's first bytes, in words; None if nothing.

    An entry that they cut is none, as after a loss of power. Raises what the hammer does.
    """
    first = directory.ledger.with_name("before-backup.ledger")
    with directory.ledger.open("rb") as whole:
        first.write_bytes(whole.read(promised_bytes) + bytes(ROOM_BYTES))
    try:
        watch = Watch(raw_output=directory.root / "restored-ledger.jsonl")
        summary = hammer.verify_ledger(choice, first, watch=watch).summary
    finally:
        first.unlink()
    if summary.holds:
        return None
    every = summary.entries.values()
    wrong = {
        "lost": sum(each.lost for each in every),
        "torn": sum(each.differing for each in every),
        "returned though refused": sum(each.returned for each in every),
    }
    return f"{LOST}: {', '.join(f'{count} {what}' for what, count in wrong.items() if count)}"
