"""What can go wrong in a cluster, done to it for real; and all of it healed again.

A daemon that dies is noticed at once, for its connections are refused; a host that is cut off is
noticed only by its silence. A host whose power fails is cut off first and killed then.
"""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from stithy.cluster import daemons, network
from stithy.cluster.layout import Entry
from stithy.hosts.processes import cmdline, end, pids_inside, wake

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
    network.set_link(entry, host, up=False)


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
        network.set_link(entry, host, up=True)
    there = osd_pids(folder)
    wake(there.values())
    for osd, host in entry.osds:
        if osd not in there:
            daemons.start_osd(folder, entry, osd, host)
