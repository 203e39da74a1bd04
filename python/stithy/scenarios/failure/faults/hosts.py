"""The host of a cluster that the database is on, too, loses its power."""

from typing import TYPE_CHECKING, Any

from stithy.drives.faults import PowerCutOptions
from stithy.engines.engine import get_engine
from stithy.errors import InfrastructureError
from stithy.scenarios.failure.fault import Target
from stithy.scenarios.failure.faults.cluster import (
    OFF,
    HostKeys,
    is_noticed,
    return_host,
    scrub_clean,
)
from stithy.scenarios.failure.faults.drives import OutageFault, join_keys
from stithy.storage.providers.ceph.keys import CephSpec

if TYPE_CHECKING:
    from stithy.study.model import Study


class DatabaseHostOff(OutageFault):
    """A host and the database on it lose their power; the database is started elsewhere.

    That begins at once, and takes as long as the cluster needs to find out which host is silent.
    """

    name = "host-off-with-database"
    text = "a host without power that the database is on"
    keys = join_keys(PowerCutOptions, HostKeys)

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse storage that goes with the host, and users that do."""
        spec = study.candidates[candidate].spec
        if not isinstance(spec, CephSpec) or spec.ceph.conf is not None:
            return "it is not on a Ceph cluster that Stithy made"
        sources = study.candidates[candidate].sources
        for role, source in sources.items():
            if not isinstance(source.spec, CephSpec):
                return f"its {role} is on no cluster, and would go with its host"
        if keys.host > spec.ceph.hosts:
            return f"it has no host {keys.host}, only 1 to {spec.ceph.hosts}"
        if spec.ceph.policy.policy.failures == 0:
            return f"{spec.ceph.policy.policy} cannot do without a host"
        if get_engine(study.database.engine).declaration.is_embedded:
            return "its users run in the process of the database, and would be cut off with it"
        return None

    def inject(self, target: Target, keys: Any) -> None:
        """Cut the power of the host's drives, its OSDs, the client of the image and the server."""
        from stithy.drives.power_cut import CutRule
        from stithy.scenarios.failure.service import list_live_pids
        from stithy.storage.power import cut_volume

        rule = CutRule(keys.seed, keys.lost / 100, keys.torn / 100, keys.unit)
        target.notes[OFF] = str(keys.host)
        cut_volume(target.volume, rule, lambda: list_live_pids(target), host=keys.host)

    def fail_over(self, target: Target, keys: Any) -> None:
        """Attach the image through another client, and start the server on it."""
        from stithy.scenarios.failure.service import restart_server

        try:
            target.context.volumes.mount_again(target.candidate)
            restart_server(target)
        except InfrastructureError as error:
            target.context.session.stop.check()
            target.notes["outage"] = error.text

    def heal(self, target: Target, keys: Any) -> None:
        """Give the host its power back."""
        return_host(target)
        super().heal(target, keys)

    def rebuild(self, target: Target, keys: Any) -> str | None:
        """Wait until the host has what it missed, and have all copies scrubbed."""
        return scrub_clean(target)

    def is_noticeable(self, target: Target) -> bool:
        """Whether the storage can know of it: its monitor."""
        return True

    def is_detected(self, target: Target) -> bool:
        """Whether the monitor has marked an OSD."""
        return is_noticed(target)


PLUGINS = (DatabaseHostOff(),)
