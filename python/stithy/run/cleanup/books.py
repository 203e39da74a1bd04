"""What a run writes into before it creates anything: its journal and the machine's register."""

from collections.abc import Iterator, Mapping
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

    def remove_all(self, *, candidate: str | None) -> list[Left]:
        """Remove what is registered of one candidate; None: of all. Returns what is left."""
        registered = read_registered(self.register.path)
        resources = [
            resource
            for resource in (registered.resources if registered else ())
            if candidate is None or resource.facts.get("candidate") == candidate
        ]
        whole = candidate is None
        return clean_up(self.run_id, resources, self.register.removed, everything=whole)

    @contextmanager
    def resource(self, kind: str, facts: Mapping[str, str]) -> Iterator[None]:
        """A resource that exists inside only; recorded before, removed after."""
        made = self.record(kind, facts)
        try:
            yield
        finally:
            self.remove(made)
