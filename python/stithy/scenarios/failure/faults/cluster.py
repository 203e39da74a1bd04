"""Faults of a Ceph cluster: of its OSDs, hosts and network."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from stithy.cluster.daemons import (
    HEALTHY,
    find_osd_pids,
    has_noticed,
    read_health,
    read_status,
    wait_for_health,
    wait_for_osds,
)
from stithy.cluster.faults import (
    FAULTS,
    ClusterFault,
    Packets,
    lose_osd,
    readmit_osds,
    repair_cluster,
    run_admin_command,
)
from stithy.cluster.image import cut_image_off
from stithy.cluster.layout import ClusterEntry, read_entry
from stithy.errors import InfrastructureError
from stithy.needs import Need
from stithy.scenarios.failure.fault import FaultKeys, FaultKind, Target
from stithy.storage.providers.ceph.existing import (
    FAULT,
    REPORTED_S,
    explain_unfit,
    is_clean,
    list_fault_facts,
)
from stithy.storage.providers.ceph.keys import CephSpec
from stithy.storage.providers.ceph.laboratory import FILTERS
from stithy.units import FinePercent, limit_quantity

if TYPE_CHECKING:
    from stithy.study.model import Study


POLL_S = 0.25
UNMANAGED = "no manager of the cluster says whether all is clean"
LOSS_S, REBUILD_S = 30.0, 600.0
"""Own: how long OSDs that all serve may say that nobody leads a placement group, until it counts as
lost, for one that still starts has not said anything; and how long it may take until all serve."""

OFF = "off"
"""The note that says which host has no power."""

REPLACED = "replaced"
"""The note that says which OSDs did not start again."""


class OsdKeys(FaultKeys):
    """Which OSD fails."""

    osd: int = Field(default=1, ge=0, description="The OSD, counted from 0.", examples=[1])


class HostKeys(FaultKeys):
    """Which host fails."""

    host: int = Field(default=2, ge=1, description="The host, counted from 1.", examples=[2])


class PartitionKeys(HostKeys):
    """Which packets of a host are dropped."""

    direction: Literal["both", "in", "out"] = Field(
        default="both",
        description="`in`: the host hears nothing; `out`: nobody hears it; or both.",
    )
    peer: int | None = Field(
        default=None,
        ge=1,
        json_schema_extra={"default": "all, and the monitor and clients"},
        description="The only other host from which it is cut off.",
        examples=[1],
    )


class LossKeys(PartitionKeys):
    """How many packets of a host are dropped."""

    share: Annotated[FinePercent, limit_quantity(0.1, 99, lambda value: f"{value:g}%")] = Field(
        default=5.0,
        json_schema_extra={"default": "5%"},
        description="Share of the packets that are lost, in each direction.",
        examples=["5%"],
    )


class CephFault(FaultKind):
    """A fault of a part of a cluster: of a laboratory, or of one that a study lets Stithy break."""

    def __init__(self, fault: ClusterFault) -> None:
        """As it is called everywhere."""
        self.name, self.text, self.keys = fault.name, fault.text, HostKeys
        if fault.of == "OSD":
            self.keys = OsdKeys
        elif fault.takes:
            self.keys = LossKeys if "share" in fault.takes else PartitionKeys
        self.needs: tuple[Need, ...] = FILTERS if fault.takes else ()
        self._fault = fault

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse what is no cluster, parts that it has not, and what its study does not allow."""
        spec = study.candidates[candidate].spec
        if not isinstance(spec, CephSpec):
            return "it is not on a Ceph cluster"
        if spec.ceph.conf is not None and not self._fault.remote:
            possible = " and ".join(name for name, fault in FAULTS.items() if fault.remote)
            return f"its cluster is somebody's, with hosts of its own: it can have {possible}"
        if spec.ceph.conf is not None:
            because = "its cluster is somebody's: only `allow_faults: true` beside `conf` allows it"
            return None if spec.ceph.allow_faults else because
        hosts = range(1, spec.ceph.hosts + 1)
        numbers = {"host": hosts, "peer": hosts, "osd": range(len(spec.ceph.osd_names))}
        for name, number in keys:
            if name in numbers and number not in (None, *(known := numbers[name])):
                return f"it has no {name} {number}, only {known.start} to {known.stop - 1}"
        if isinstance(keys, PartitionKeys) and keys.peer == keys.host:
            return f"host {keys.host} cannot be cut off from itself: name another `peer`"
        return None

    def is_promised(self, study: "Study", candidate: str, keys: Any) -> bool:
        """Whether another copy is there of data that are lost; all others come back."""
        spec = study.candidates[candidate].spec
        assert isinstance(spec, CephSpec)  # the plan refuses others
        return not self._fault.loses or spec.ceph.policy.policy.failures > 0

    def list_taken(self, keys: Any) -> frozenset[int]:
        """The drive of an OSD whose data are lost, as drives are counted."""
        return frozenset({keys.osd + 1} if self._fault.loses else ())

    def inject(self, target: Target, keys: Any) -> None:
        """Break it; of somebody's cluster the register knows it before."""
        folder, entry = find_cluster(target)
        number = keys.osd if isinstance(keys, OsdKeys) else keys.host
        packets = Packets()
        if isinstance(keys, PartitionKeys):
            share = keys.share / 100 if isinstance(keys, LossKeys) else 1.0
            packets = Packets(keys.direction, keys.peer, share)
        if entry.access:
            dump = json.loads(run_admin_command(folder, entry, "osd", "dump", "--format", "json"))
            if because := explain_unfit(dump, number):
                remedy = "name another OSD under `scenario.failure.faults`, or put this one right"
                where = f"candidate {target.candidate}"
                raise InfrastructureError(because, where=where, remedy=remedy)
            record = target.context.session.books.recorder(target.candidate)
            record(FAULT, list_fault_facts(entry, number))
        if (strike := self._fault.strike) is not None:
            strike(folder, entry, number, packets)
            return
        from stithy.drives.power_cut import CutRule
        from stithy.storage.power import cut_volume

        target.notes[OFF] = str(number)
        cut_volume(target.volume, CutRule(number), None, host=number)

    def heal(self, target: Target, keys: Any) -> None:
        """End it, and start what is not there."""
        folder, entry = find_cluster(target)
        if self._fault.remote:
            readmit_osds(partial(run_admin_command, folder, entry), [keys.osd])
        return_host(target)
        repair_cluster(folder, entry)

    def find_loss(self, target: Target, keys: Any) -> str | None:
        """Count the placement groups that nobody leads once all OSDs serve."""
        return find_orphans(target) if self._fault.loses else None

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Wait until all copies are there again. Raises InfrastructureError after a limit."""
        return wait_until_clean(target)

    def is_noticeable(self, target: Target) -> bool:
        """Whether its monitor can find it out: not what an administrator's command has told it."""
        return not self._fault.remote

    def is_detected(self, target: Target) -> bool:
        """Whether the monitor has marked an OSD."""
        return is_noticed(target)


def find_cluster(target: Target) -> tuple[Path, ClusterEntry]:
    """Find the folder of the cluster that serves the volume, and its entry."""
    folder = target.volume.clusters[0]
    entry = read_entry(folder)
    assert entry is not None  # it serves the volume
    return folder, entry


def return_host(target: Target) -> None:
    """Give a host that is off its power back. Idempotent."""
    from stithy.storage.power import power_on

    if OFF in target.notes:
        power_on(target.volume, int(target.notes[OFF]))
        del target.notes[OFF]


def is_noticed(target: Target) -> bool:
    """Whether the monitor has marked an OSD."""
    return has_noticed(*find_cluster(target))


def bring_osds_back(target: Target, *, replaces: bool) -> None:
    """Start OSDs that are not there; `replaces`: an empty one for each that cannot start."""
    folder, entry = find_cluster(target)
    repair_cluster(folder, entry)
    try:
        wait_for_osds(folder, len(entry.osds))
    except InfrastructureError:
        dead = [osd for osd, _ in entry.osds if osd not in find_osd_pids(folder)]
        if not (replaces and dead):
            raise
        for osd in dead:
            lose_osd(folder, entry, osd)
        repair_cluster(folder, entry)
        wait_for_osds(folder, len(entry.osds))
        target.notes[REPLACED] = ", ".join(f"osd.{osd}" for osd in dead)


def find_orphans(target: Target) -> str | None:
    """Count the placement groups that nobody leads once all OSDs serve; None where there are none.

    Requests of the image then fail at once.
    """
    folder, entry = find_cluster(target)
    clock = target.context.session.clock
    from_s = clear_s = clock.monotonic_s()
    while (status := read_status(folder, entry)).orphans != 0:
        now_s = clock.monotonic_s()
        if not status.has_orphans:
            clear_s = now_s
        if now_s > min(clear_s + LOSS_S, from_s + REBUILD_S):
            cut_image_off(folder, entry)
            count = f"{status.orphans:,}" if status.has_orphans else "nobody knows how many"
            return f"{count} of {status.groups} placement groups have no copy left"
        target.context.session.stop.pause(POLL_S)
    return None


def wait_until_clean(target: Target) -> str:
    """Wait until all copies are there again. Raises InfrastructureError after a limit."""
    if find_cluster(target)[1].access:
        target.context.session.stop.asked.wait(REPORTED_S)
    good = (HEALTHY, UNMANAGED)
    pause = partial(target.context.session.stop.pause, POLL_S)
    health = wait_for_health(partial(_read_health, target), pause, good)
    return "clean" if health == HEALTHY else health


def scrub_clean(target: Target) -> str:
    """Wait for all copies, have them scrubbed, and wrong ones replaced; say what came of it.

    Where a wrong one has no right copy the volume is made anew before the next window.
    """
    from stithy.cluster.scrub import scrub_deeply

    wait_until_clean(target)
    pause = partial(target.context.session.stop.pause, POLL_S)
    found = scrub_deeply(*find_cluster(target), pause, repairs=True)
    wait_until_clean(target)
    if found.inconsistent:
        target.context.volumes.moved.add(target.candidate)
        return found.describe()
    made = f", {target.notes[REPLACED]} made anew" if REPLACED in target.notes else ""
    return f"clean, copies repaired: {found.repaired:,}{made}"


def _read_health(target: Target) -> str:
    """As its OSDs say it; of somebody's cluster its manager."""
    folder, entry = find_cluster(target)
    if not entry.access:
        return read_health(folder, entry)
    clean = is_clean(json.loads(run_admin_command(folder, entry, "status", "--format", "json")))
    if clean is None:
        return UNMANAGED
    return HEALTHY if clean else "not all placement groups are clean"


PLUGINS = tuple(map(CephFault, FAULTS.values()))
