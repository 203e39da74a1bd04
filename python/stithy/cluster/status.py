"""How a cluster is: its OSDs, what they hold, and whether everything is where it belongs.

There is no manager to ask: each OSD tells its own part over its admin socket.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from stithy.cluster import admin, faults, network
from stithy.cluster.layout import Entry
from stithy.hosts.processes import is_held

State = Literal["active", "stopped", "hung", "cut off", "starting"]
CLEAN = "Clean"
PRIMARY = "Started/Primary"


@dataclass(frozen=True)
class OsdStatus:
    """One OSD; None where it does not tell.

    `pgs`: the placement groups that it leads, `unclean` how many of them lack a copy or recover.
    `recovered`: objects that it has recovered since it started.
    """

    osd: int
    host: int
    state: State
    stored_bytes: int | None = None
    allocated_bytes: int | None = None
    size_bytes: int | None = None
    pgs: int | None = None
    unclean: int | None = None
    recovered: int | None = None


@dataclass(frozen=True)
class Status:
    """All OSDs, and what follows."""

    osds: tuple[OsdStatus, ...]

    @property
    def health(self) -> str:
        """`healthy`, `recovering` or `degraded`, in words of what is not as it should be."""
        serving = sum(each.state == "active" for each in self.osds)
        if serving < len(self.osds):
            return f"degraded: {serving} of {len(self.osds)} OSDs serve"
        if any(each.unclean is None for each in self.osds):
            return "not known: an OSD does not tell its placement groups"
        if unclean := sum(each.unclean or 0 for each in self.osds):
            total = sum(each.pgs or 0 for each in self.osds)
            return f"recovering: {unclean} of {total} placement groups are not clean"
        return "healthy"


def status_of(folder: Path, entry: Entry) -> Status:
    """Ask every OSD; one that is held or cut off is not asked."""
    pids = faults.osd_pids(folder)
    return Status(tuple(_osd(folder, entry, osd, host, pids) for osd, host in entry.osds))


def _osd(folder: Path, entry: Entry, osd: int, host: int, pids: Any) -> OsdStatus:
    if osd not in pids:
        return OsdStatus(osd, host, "stopped")
    if is_held(pids[osd]):
        return OsdStatus(osd, host, "hung")
    name = f"osd.{osd}"
    books, groups = (admin.try_ask(folder, name, word) for word in ("perf dump", PG_HISTORY))
    told = admin.try_ask(folder, name, "status") or {}
    state: State = "active" if told.get("state") == "active" else "starting"
    if not network.is_plugged(entry, host):
        state = "cut off"
    store = (books or {}).get("bluestore", {})
    leads, unclean = _groups(groups)
    return OsdStatus(
        osd, host, state, store.get("bluestore_stored"), store.get("bluestore_allocated"),
        _size(books), leads, unclean, (books or {}).get("osd", {}).get("recovery_ops"),
    )  # fmt: skip


PG_HISTORY = "dump_pgstate_history"


def _size(books: Any) -> int | None:
    size = (books or {}).get("osd", {}).get("stat_bytes")
    return int(size) if size else None


def _groups(history: Any) -> tuple[int | None, int | None]:
    """How many placement groups this OSD leads, and how many of them are not clean."""
    if not isinstance(history, dict):
        return None, None
    states = [str(each.get("currently", "")) for each in history.get("pgs", ())]
    led = [each for each in states if each.startswith(PRIMARY)]
    return len(led), sum(not each.endswith(CLEAN) for each in led)
