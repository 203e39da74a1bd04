"""`stithy cluster status`: how the clusters are that a person raised."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from stithy.cli.talk.options import Json
from stithy.cli.talk.render import UNKNOWN, format_size_text, make_table, show, show_json

if TYPE_CHECKING:
    from stithy.cluster.daemons import Status
    from stithy.run.by_hand import Cluster


def show_status(name: str | None = None, /, *, json: Json = False) -> None:
    """Show the health, OSDs, space and recovery of clusters that a person raised.

    A cluster is healthy when all OSDs serve and all placement groups are clean. Space is what all
    copies take of the drives. Clusters of runs are not shown.

    For example:

        stithy cluster status
        stithy cluster status lab --json | jq '.[].health'

    Parameters
    ----------
    name
        The cluster; default: all.
    """
    from stithy.cluster.daemons import read_status
    from stithy.run.by_hand import find_cluster, list_clusters

    found = [find_cluster(name)] if name is not None else list(list_clusters())
    told: list[tuple[Cluster, Status | None]] = []
    for cluster in found:
        status = None
        if cluster.folder and cluster.entry and cluster.is_whole:
            status = read_status(cluster.folder, cluster.entry)
        told.append((cluster, status))
    if json:
        show_json([_make_json(cluster, status) for cluster, status in told])
    elif not told:
        show("No cluster is up.")
    else:
        show("\n\n".join(_make_text(cluster, status) for cluster, status in told))


COMMAND = show_status


def _make_json(cluster: "Cluster", status: "Status | None") -> dict[str, object]:
    osds = [asdict(osd) for osd in status.osds] if status else None
    return make_cluster_json(cluster) | {"health": status.health if status else None, "osd": osds}


def _make_text(cluster: "Cluster", status: "Status | None") -> str:
    if status is None:
        return make_cluster_text(cluster)
    header = ["OSD", "host", "state", "stored", "taken", "of", "groups led", "not clean",
              "recovered"]  # fmt: skip
    rows = [
        [
            f"osd.{osd.osd}", f"host{osd.host}", osd.state, format_size_text(osd.stored_bytes),
            format_size_text(osd.allocated_bytes), format_size_text(osd.size_bytes),
            _count(osd.pgs), _count(osd.unclean), _count(osd.recovered),
        ]
        for osd in status.osds
    ]  # fmt: skip
    lines = [make_cluster_text(cluster), f"volume: {cluster.path}", f"health: {status.health}"]
    return "\n".join([*lines, make_table(header, rows, "<<<>>>>>>")])


def _count(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"


def make_cluster_json(cluster: "Cluster") -> dict[str, Any]:
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


def make_cluster_text(cluster: "Cluster") -> str:
    """`lab is up: 3 hosts with 3 OSDs, FTT 1 (2 copies, min_size 1)`."""
    entry = cluster.entry
    if entry is None or not cluster.is_whole:
        return f"{cluster.name} was killed: `stithy cluster down {cluster.name}` removes its rest"
    hosts = "1 host" if entry.hosts == 1 else f"{entry.hosts} hosts"
    osds = "1 OSD" if len(entry.osds) == 1 else f"{len(entry.osds)} OSDs"
    return f"{cluster.name} is up: {hosts} with {osds}, {entry.policy}"
