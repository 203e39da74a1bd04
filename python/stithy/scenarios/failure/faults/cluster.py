"""Faults of a Ceph cluster: an OSD killed or hung, a host cut off or without power."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from stithy.scenarios.failure.fault import FaultKeys, FaultKind, Target
from stithy.storage.providers.ceph.keys import CephSpec

if TYPE_CHECKING:
    from stithy.cluster.layout import ClusterEntry
    from stithy.study.model import Study


class OsdKeys(FaultKeys):
    """Which OSD fails."""

    osd: int = Field(default=1, ge=0, description="The OSD, counted from 0.", examples=[1])


class HostKeys(FaultKeys):
    """Which host fails."""

    host: int = Field(default=2, ge=1, description="The host, counted from 1.", examples=[2])


class ClusterFault(FaultKind):
    """A fault of a part of a laboratory's cluster, of which at least one may fail."""

    is_noticeable = True

    def __init__(self, name: str, command: str, keys: type[FaultKeys], text: str) -> None:
        """`command`: its word in `stithy cluster fault`."""
        self.name, self.keys, self.text = name, keys, text
        self._command = command

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse what is no cluster of this machine, and one that would lose its data."""
        spec = study.candidates[candidate].spec
        if not isinstance(spec, CephSpec):
            return "it is not on a Ceph cluster"
        if spec.ceph.conf is not None:
            return "its cluster is somebody's: Stithy breaks only what it made"
        if not spec.ceph.policy.policy.failures:
            return "its policy tolerates no failure: the fault would lose the database"
        return None

    def inject(self, target: Target, keys: Any) -> None:
        """Break it."""
        from stithy.cluster.daemons import OF_HOSTS, OF_OSDS

        folder, entry = _find_cluster(target)
        number = keys.osd if isinstance(keys, OsdKeys) else keys.host
        {**OF_HOSTS, **OF_OSDS}[self._command](folder, entry, number)

    def heal(self, target: Target, keys: Any) -> None:
        """Plug all in, let all go on, and start what is not there."""
        from stithy.cluster.daemons import repair_cluster

        repair_cluster(*_find_cluster(target))

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Wait until all copies are there again."""
        from stithy.cluster.daemons import read_status

        session = target.context.session
        while read_status(*_find_cluster(target)).health != "healthy":
            session.stop.check()
            session.stop.asked.wait(POLL_S)
        return "clean"

    def is_detected(self, target: Target) -> bool:
        """Whether an OSD knows of placement groups that lack a copy."""
        from stithy.cluster.daemons import read_status

        status = read_status(*_find_cluster(target))
        return any(osd.unclean for osd in status.osds)


POLL_S = 0.25


def _find_cluster(target: Target) -> tuple[Path, "ClusterEntry"]:
    from stithy.cluster.layout import read_entry

    folder = target.volume.clusters[0]
    entry = read_entry(folder)
    assert entry is not None  # it serves the volume
    return folder, entry


PLUGINS = (
    ClusterFault("osd-killed", "kill-osd", OsdKeys, "a killed OSD"),
    ClusterFault("osd-hung", "hang-osd", OsdKeys, "an OSD that hangs"),
    ClusterFault("host-link-down", "cut-host", HostKeys, "a host cut off"),
    ClusterFault("host-off", "power-off-host", HostKeys, "a host without power"),
)
