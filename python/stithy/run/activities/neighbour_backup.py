"""A neighbour that backs databases of its own up and restores them, in cycles."""

from collections.abc import Mapping

from stithy.engines.backup import method_of
from stithy.errors import InfrastructureError
from stithy.plan.steps import WindowPlan
from stithy.run.activities.backup.cycles import Backups, Whose
from stithy.run.activities.backup.cycles import Cycle as OneWay
from stithy.run.activities.tenants.beside import Beside, OwnPlace, lay_out
from stithy.run.activities.tenants.cycles import Cycle
from stithy.run.context import Context
from stithy.scenarios.noisy_neighbour.aggressors import backup
from stithy.storage.consent import NEIGHBOUR

NAME = f"neighbour-{backup.NAME}"


class NeighbourBackup(Beside):
    """The cycles of a window, of as many databases as the point says."""

    name = "cycle"
    at_measurement = True

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """Nothing is read or written yet."""
        super().__init__(context, window)
        self.servers = self.workers = self.level
        self.most = self.asked.cycles
        self._backups: list[Backups] = []

    @property
    def asked(self) -> backup.Spec:
        """Its keys."""
        assert isinstance(self.spec, backup.Spec)  # as the plan chose this activity
        return self.spec

    def prepared(self, place: OwnPlace) -> Mapping[str, str]:
        """The repository of a method that keeps one, with what a server needs for it."""
        method = method_of(self.context.file.study.database.engine, self.asked.method)
        own = Backups(
            self.context, self.window.candidate, method, self.asked.options,
            Whose(place.data, f"{NEIGHBOUR}-{place.number + 1}-", f"m{place.number}",
                  self.spec.volume, place.memory_cgroup, place.io_cgroup, self.ended),
        )  # fmt: skip
        own.prepare(self.log(place.number))
        self._backups.append(own)
        return self.context.servers.more.get(place.data, {})

    def warm_up(self) -> None:
        """A full backup, where those of the cycles build on one."""
        for number, own in enumerate(self._backups):
            own.begin(self.up[number], self.log(number))

    def cycle(self, worker: int) -> Cycle:
        """A backup, and its restore until a server answers on it."""
        own, log = self._backups[worker], self.log(worker)
        taken = _good(own.take(self.up[worker], log), "backup")
        with own.restored(log) as (found, _):
            restored = _good(found, "restore")
        parts = {"backup": (taken.from_s, taken.to_s), "restore": (restored.from_s, restored.to_s)}
        return Cycle(worker, taken.from_s, restored.to_s, parts, taken.source_bytes)

    def end(self) -> None:
        """Remove what the last cycles left."""
        for each in self._backups:
            each.remove()


def _good(one: OneWay, what: str) -> OneWay:
    if one.failed_because is not None:
        raise InfrastructureError(one.failed_because, where=what, remedy="read its log")
    return one


create = NeighbourBackup


__all__ = ["create", "lay_out"]
