"""The programs of Ceph, of the network and of images: found, called, and what they say."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stithy.cluster.configuration import CONF
from stithy.environment import search_path
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.runner import Command, LocalRunner
from stithy.needs import Package

SYSTEM_FOLDERS = tuple(map(Path, ("/usr/sbin", "/sbin", "/usr/bin", "/bin")))
PACKAGES = {
    "ceph-mon": Package("ceph-mon", "ceph-mon"),
    "ceph-osd": Package("ceph-osd", "ceph-osd"),
    "ceph": Package("ceph-common", "ceph-common"),
    "rbd": Package("ceph-common", "ceph-common"),
    "rbd-nbd": Package("rbd-nbd", "rbd-nbd"),
    "monmaptool": Package("ceph-common", "ceph-common"),
    "qemu-storage-daemon": Package("qemu-system-common qemu-block-extra", "qemu-block-rbd"),
    "nbdfuse": Package("libnbd-bin", "nbdfuse"),
    "umount": Package("mount", "util-linux"),
    "ip": Package("iproute2", "iproute"),
    "tc": Package("iproute2", "iproute-tc"),
    "nsenter": Package("util-linux", "util-linux"),
    "losetup": Package("mount", "util-linux"),
}
"""What brings each program."""


@dataclass(frozen=True)
class Access:
    """How a client reaches a cluster: its configuration, absolute, and the user's name."""

    conf: str = CONF
    user: str = "admin"

    def rbd(self, *words: str) -> list[str]:
        """The words of a command of `rbd`."""
        return [tool("rbd"), "-c", self.conf, "--id", self.user, *words]


def tool(name: str) -> str:
    """The full path of a program. Raises PreconditionError where it is not there."""
    for folder in (*search_path(), *SYSTEM_FOLDERS):
        if os.access(folder / name, os.X_OK):
            return str(folder / name)
    raise PreconditionError(
        f"the program {name} was not found", where="this machine", remedy=PACKAGES[name].install()
    )


def call(argv: Sequence[str], folder: Path | None = None, *, timeout_s: float = 60.0) -> str:
    """Run to the end; what it wrote. Raises InfrastructureError where it fails."""
    finished = LocalRunner().run(Command(argv=argv, directory=folder), timeout_s=timeout_s)
    if finished.code != 0:
        said = (finished.stderr + finished.stdout).strip().splitlines()
        last = said[-1].rstrip(".") if said else f"it ended with code {finished.code}"
        raise InfrastructureError(
            f"{Path(argv[0]).name} failed: {last}",
            where=" ".join(argv[1:6]),
            remedy="look into the logs in the cluster's folder; free memory and CPU, and try again",
        )
    return finished.stdout


def ceph(folder: Path, *words: str) -> str:
    """Ask the cluster in this folder, as its administrator."""
    return call([tool("ceph"), "-c", CONF, "--connect-timeout", "20", *words], folder)


def rbd(folder: Path, *words: str, timeout_s: float = 60.0) -> str:
    """Do something to images of the cluster in this folder."""
    return call([tool("rbd"), "-c", CONF, *words], folder, timeout_s=timeout_s)
