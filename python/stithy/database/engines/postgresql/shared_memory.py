"""Shared memory that a killed server leaves behind: named while it lives, removed when it is dead.

A PostgreSQL server that is killed cannot remove its System V segment nor its files in /dev/shm, and
both stay until the next boot. The System V segment is known from postmaster.pid; the files are
known from the server's own list of them, which is itself one of the files.
"""

import ctypes
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from stithy.errors import InfrastructureError

SHM = Path("/dev/shm")
PATIENCE_S = 5.0
"""How long the memory of killed processes may take to be unmapped."""

_IPC_RMID = 0
_NAME = "PostgreSQL."


def segment_facts(pid: int, pid_file: Path) -> dict[str, str]:
    """What must be known of a living server's shared memory; what cannot be read is left out."""
    facts: dict[str, str] = {}
    with suppress(OSError, IndexError, ValueError):
        # Line 7 of postmaster.pid: key and id of the System V segment.
        key, shmid = pid_file.read_text().splitlines()[6].split()
        facts |= {"key": str(int(key)), "shmid": str(int(shmid))}
    with suppress(OSError):
        maps = Path(f"/proc/{pid}/maps").read_text()
        names = sorted(set(re.findall(rf"/dev/shm/({re.escape(_NAME)}\d+)", maps)))
        facts |= {"files": " ".join(names)}
    return facts


def remove_segment(facts: Mapping[str, str]) -> None:
    """Remove what `segment_facts` named, and all that its list of files names. Idempotent.

    Raises InfrastructureError where it stays: while any process uses the System V segment, for a
    living server keeps it; but that is waited for a while, because processes that were just killed
    still hold it when they can no longer be found. Without that segment in the facts nobody can
    tell, so nothing is removed.
    """
    if "shmid" in facts:
        _remove(facts)
    if not is_gone(facts):
        raise InfrastructureError(
            "it is still there",
            where="shared memory of a server",
            remedy="see with `ipcs -m -p` who uses it, and end that",
        )


def _remove(facts: Mapping[str, str]) -> None:
    attached = _attached_at_last(facts)
    if attached:
        return
    for name in facts.get("files", "").split():
        if re.fullmatch(rf"{re.escape(_NAME)}\d+", name):
            _remove_files(SHM / name)
    if attached == 0:
        ctypes.CDLL(None).shmctl(int(facts["shmid"]), _IPC_RMID, None)


def _attached_at_last(facts: Mapping[str, str]) -> int | None:
    """As `_attached`, once that is none, or when patience is over."""
    until_s = time.monotonic() + PATIENCE_S
    while (attached := _attached(facts)) and time.monotonic() < until_s:
        time.sleep(0.02)
    return attached


def _remove_files(control: Path) -> None:
    """Remove a file and all files whose numbers it holds, of the same owner.

    The control segment lists the handles of all others as 32-bit numbers, and a handle is the
    number in a file's name. Reading every word for one spares knowing the layout of each version.
    """
    try:
        content, owner = control.read_bytes(), control.stat().st_uid
    except OSError:
        return
    words = {int.from_bytes(content[at : at + 4], "little") for at in range(0, len(content), 4)}
    for path in SHM.glob(f"{_NAME}*"):
        with suppress(OSError):
            if path.name.removeprefix(_NAME) in map(str, words) and path.stat().st_uid == owner:
                path.unlink()
    with suppress(OSError):
        control.unlink()


def _attached(facts: Mapping[str, str]) -> int | None:
    """Processes that use the System V segment; None where it is gone or belongs to another."""
    with suppress(OSError):
        for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[:2] == [facts["key"], facts["shmid"]]:
                return int(fields[6])
    return None


def is_gone(facts: Mapping[str, str]) -> bool:
    """Whether nothing of it is left."""
    files = [SHM / name for name in facts.get("files", "").split()]
    segment = _attached(facts) if "shmid" in facts else None
    return segment is None and not any(each.exists() for each in files)
