"""A database of it by URL, which somebody else has started in this process."""

from stithy.engines.instance import Demand, Mark, NotStarted
from stithy.errors import PreconditionError
from stithy.secrets import Secret

from .endpoint import Endpoint

MARKS: dict[str, Mark] = {}
"""By URL, whose databases are."""


class MemoryRemote(NotStarted, Endpoint):
    """A store that its test looks after."""

    def __init__(self, url: Secret) -> None:
        """Raises InfrastructureError where it does not run."""
        super().__init__(url)
        self._since = self.store

    def check(self, demand: Demand) -> None:
        """Whether it is empty or marked."""
        del demand  # it may all, for any number of users
        if self.store.rows and self.mark() is None:
            raise PreconditionError("it is not empty", where=self.place, remedy="name another")

    def mark(self) -> Mark | None:
        """Whose it is."""
        return MARKS.get(self.place)

    def claim(self, mark: Mark) -> None:
        """Mark it."""
        self.check(Demand())
        self.empty()
        MARKS[self.place] = mark

    def empty(self) -> None:
        """No rows."""
        self.store.rows.clear()

    def keep(self, name: str) -> None:
        """Nobody asks it."""
        raise NotImplementedError

    def restore(self, name: str) -> None:
        """Nobody asks it."""
        raise NotImplementedError

    def give_back(self, run_id: str) -> None:
        """As it was."""
        if (mark := self.mark()) is not None and mark.run_id == run_id:
            self.empty()
            del MARKS[self.place]

    def size_bytes(self) -> int:
        """Its rows."""
        return len(self.store.rows)

    def round_trip_s(self) -> float:
        """It is near."""
        return 0.0015

    def describe_server(self) -> str:
        """It is not encrypted."""
        return f"version {self.store.version}"

    def checkpoint(self) -> None:
        """Counted."""
        self.store.checkpoints += 1

    def finish_loading(self, log_bytes: int) -> None:
        """Nothing is to be done."""
        del log_bytes

    def ended_by(self) -> str | None:
        """Whether another store has its place."""
        return None if self.store is self._since else "was restarted"
