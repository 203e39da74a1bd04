"""How a cluster is shown: its volume, hosts, OSDs and policy."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stithy.run.by_hand import Cluster


def cluster_json(cluster: "Cluster") -> dict[str, Any]:
    """A cluster; null for what a killed one does not tell any more."""
    entry = cluster.entry
    return {
        "name": cluster.name,
        "whole": cluster.is_whole,
        "path": str(cluster.path) if cluster.path else None,
        "hosts": entry.hosts if entry else None,
        "osds": len(entry.osds) if entry else None,
        "policy": entry.policy if entry else None,
        "min_size": entry.least if entry else None,
        "conf": str(cluster.folder / "ceph.conf") if cluster.folder else None,
        "pool": entry.pool if entry else None,
    }


def cluster_text(cluster: "Cluster") -> str:
    """`lab is up: 3 hosts with 3 OSDs, FTT 1 (2 copies, min_size 1)`."""
    entry = cluster.entry
    if entry is None or not cluster.is_whole:
        return f"{cluster.name} was killed: `stithy cluster down {cluster.name}` removes its rest"
    hosts = "1 host" if entry.hosts == 1 else f"{entry.hosts} hosts"
    osds = "1 OSD" if len(entry.osds) == 1 else f"{len(entry.osds)} OSDs"
    return f"{cluster.name} is up: {hosts} with {osds}, {entry.policy}"
