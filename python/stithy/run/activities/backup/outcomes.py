"""What becomes of a backup and of its restore, as their spans say it, and whose failure it was."""

import errno
import os
import re

from stithy.errors import REMEDIES

DONE, FAILED = "done", "failed"
HOLDS, NOT_CHECKED = "restored, all conditions hold", "restored, not checked"
NOTHING_LOST = "nothing acknowledged before it is missing"
LOST = "acknowledged work is missing in what was restored"
RESTORE_FAILED, UNEQUAL = "restore failed", "NOT EQUAL"
"""Outcomes. Only the last one says something of the backup; a failed one is made or tried again."""

_OF_THE_MACHINE = tuple(
    os.strerror(each).lower() for each in (*REMEDIES, errno.ENXIO, errno.ENODEV)
)
"""A drive that is gone answers with the last two, beside EIO."""
_KILLED = re.compile(r"\bsignal (?:1|2|3|9|15)\b|\bSIG(?:HUP|INT|QUIT|KILL|TERM)\b")
"""Signals by which others end a program. By the rest (SIGSEGV, SIGABRT) it fails by itself, as a
server does on files that are not whole."""


def is_of_the_machine(because: str) -> bool:
    """Whether a restore failed for what says nothing of the backup: killed, no room, device gone.

    `because`: what the program, the server or a call said.
    """
    said = because.lower()
    return bool(_KILLED.search(because)) or any(each in said for each in _OF_THE_MACHINE)
