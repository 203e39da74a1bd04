"""What can go wrong in a cluster, done to it for real; and all of it healed again.

A daemon that dies is noticed at once, for its connections are refused; a host that is cut off is
noticed only by its silence. A host whose power fails is cut off first and killed then.
"""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from stithy.cluster import daemons
from stithy.cluster.layout import Entry
from stithy.hosts.processes import cmdline, end, is_held, pids_inside, wake

OSD = "ceph-osd"


def osd_pids(folder: Path) -> Mapping[int, int]:
    """The process of each OSD that there is, by the OSD's number."""
    found = {}
    for pid in pids_inside(folder, OSD):
        words = cmdline(pid)
        if "-i" in words and "--mkfs" not in words:
            found[int(words[words.index("-i") + 1])] = pid
    return found


def kill_osd(folder: Path, entry: Entry, osd: int) -> None:
    """The OSD's process dies; its host and drive live."""
    if (pid := osd_pids(folder).get(osd)) is not None:
        end([pid], signal.SIGKILL)


def hang_osd(folder: Path, entry: Entry, osd: int) -> None:
    """The OSD answers nothing any more, and its connections stay."""
    if (pid := osd_pids(folder).get(osd)) is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)


def cut_host(folder: Path, entry: Entry, host: int) -> None:
    """The host's cable is out; whatever runs on it goes on."""
    daemons.set_link(entry, host, up=False)


def power_off_host(folder: Path, entry: Entry, host: int) -> None:
    """The host falls silent: nobody hears its connections being closed."""
    cut_host(folder, entry, host)
    pids = osd_pids(folder)
    own = [pids[osd] for osd, of in entry.osds if of == host and osd in pids]
    end(own, signal.SIGKILL)


Fault = Callable[[Path, Entry, int], None]
OF_OSDS: Mapping[str, Fault] = {"kill-osd": kill_osd, "hang-osd": hang_osd}
OF_HOSTS: Mapping[str, Fault] = {"cut-host": cut_host, "power-off-host": power_off_host}


def heal(folder: Path, entry: Entry) -> None:
    """Plug all hosts in, let what is held go on, and start the OSDs that are not there."""
    for host in range(1, entry.hosts + 1):
        daemons.set_link(entry, host, up=True)
    there = osd_pids(folder)
    wake(there.values())
    for osd, host in entry.osds:
        if osd not in there:
            daemons.start_osd(folder, entry, osd, host)


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
    pids = osd_pids(folder)
    return Status(tuple(_read_osd(folder, entry, osd, host, pids) for osd, host in entry.osds))


def _read_osd(folder: Path, entry: Entry, osd: int, host: int, pids: Any) -> OsdStatus:
    if osd not in pids:
        return OsdStatus(osd, host, "stopped")
    if is_held(pids[osd]):
        return OsdStatus(osd, host, "hung")
    name = f"osd.{osd}"
    books, groups = (daemons.try_ask(folder, name, word) for word in ("perf dump", PG_HISTORY))
    told = daemons.try_ask(folder, name, "status") or {}
    state: State = "active" if told.get("state") == "active" else "starting"
    if not daemons.is_plugged(entry, host):
        state = "cut off"
    store = (books or {}).get("bluestore", {})
    leads, unclean = _read_groups(groups)
    return OsdStatus(
        osd, host, state, store.get("bluestore_stored"), store.get("bluestore_allocated"),
        _read_size(books), leads, unclean, (books or {}).get("osd", {}).get("recovery_ops"),
    )  # fmt: skip


PG_HISTORY = "dump_pgstate_history"


def _read_size(books: Any) -> int | None:
    size = (books or {}).get("osd", {}).get("stat_bytes")
    return int(size) if size else None


def _read_groups(history: Any) -> tuple[int | None, int | None]:
    """How many placement groups this OSD leads, and how many of them are not clean."""
    if not isinstance(history, dict):
        return None, None
    states = [str(each.get("currently", "")) for each in history.get("pgs", ())]
    led = [each for each in states if each.startswith(PRIMARY)]
    return len(led), sum(not each.endswith(CLEAN) for each in led)
