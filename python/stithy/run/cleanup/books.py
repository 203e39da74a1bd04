"""What a run writes into before it creates anything: its journal and the machine's register."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from stithy.run.cleanup.handlers import Left, clean_up
from stithy.run.cleanup.register import Register, Resource, read_registered
from stithy.run.journal import Journal
from stithy.storage.provider import Record


@dataclass(frozen=True)
class Books:
    """The books of one run: all that it creates is in both of them first."""

    run_id: str
    register: Register
    journal: Journal

    def record(self, kind: str, facts: Mapping[str, str]) -> Resource:
        """Write down, durably and in both, what is about to be created."""
        self.journal.write("creating", kind=kind, facts=dict(facts))
        return Resource(self.register.creating(kind, facts), kind, facts)

    def recorder(self, candidate: str) -> Record:
        """`record` for what belongs to one candidate."""
        return lambda kind, facts: self.record(kind, {**facts, "candidate": candidate})

    def remove(self, resource: Resource) -> None:
        """Remove one resource now, and write that down."""

        def removed(number: int) -> None:
            self.register.removed(number)
            self.journal.write("removed", kind=resource.kind, facts=dict(resource.facts))

        clean_up(self.run_id, [resource], removed, everything=False)

    def remove_all(self, *, candidate: str) -> list[Left]:
        """Remove what is registered of one candidate. Returns what is left."""
        resources = [each for each in self._registered if each.facts.get("candidate") == candidate]
        return clean_up(self.run_id, resources, self.register.removed, everything=False)

    def end(self, keeps: Callable[[Resource], bool] = lambda resource: False) -> list[Left]:
        """Remove all but what is kept for a later session, and close the register.

        Its entry goes with the last thing that it names. Returns what is left.
        """
        registered = self._registered
        going = [resource for resource in registered if not keeps(resource)]
        left = clean_up(self.run_id, going, self.register.removed)
        self.register.close(remove=not left and len(going) == len(registered))
        return left

    @property
    def _registered(self) -> tuple[Resource, ...]:
        found = read_registered(self.register.path)
        return found.resources if found else ()

    @contextmanager
    def resource(self, kind: str, facts: Mapping[str, str]) -> Iterator[None]:
        """A resource that exists inside only; recorded before, removed after."""
        made = self.record(kind, facts)
        try:
            yield
        finally:
            self.remove(made)
