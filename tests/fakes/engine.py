"""An engine whose database is two files and whose server is nothing at all."""

from collections.abc import Mapping
from pathlib import Path

from stithy.clock import Clock
from stithy.collectors.collector import LiveCollector
from stithy.engines import instance
from stithy.engines.engine import UNDO_FOLDER
from stithy.engines.instance import Installation, Loaded, Start
from stithy.errors import InfrastructureError
from stithy.secrets import Secret


class FakeEngine:
    """Starts `FakeInstance`s; `broken_starts` of them fail, counted from 1.

    Those of `ended_starts` end by themselves, as soon as somebody asks.
    """

    program = "no-such-program"
    log_folder = "wal"

    def __init__(
        self,
        broken_starts: frozenset[int] = frozenset(),
        ended_starts: frozenset[int] = frozenset(),
        *,
        with_log: bool = False,
    ) -> None:
        """All starts work but those in `broken_starts`; `with_log`: folders for log and undo."""
        self._broken, self._ended, self._with_log = broken_starts, ended_starts, with_log
        self.starts: list[Start] = []
        self.stops: list[bool] = []
        """Of each stop, whether it was to be at once."""

    def check(self) -> Installation:
        """Always there."""
        return Installation(Path("/nowhere"), "0.fake")

    def initialise(self, data: Path, scratch: Path) -> None:
        """Two files and a directory."""
        (data / "base").mkdir()
        (data / "base/rows").write_bytes(bytes(range(256)) * 64)
        (data / "log").write_text("empty")
        if self._with_log:
            for name in (self.log_folder, UNDO_FOLDER):
                (data / name).mkdir()
                (data / name / "1").write_text("begin")

    def start(self, start: Start) -> "FakeInstance":
        """Start nothing."""
        self.starts.append(start)
        if len(self.starts) in self._broken:
            raise InfrastructureError("it fell over", where="fake server", remedy="none")
        ended = "was ended by SIGKILL" if len(self.starts) in self._ended else None
        return FakeInstance(start, self.stops, ended)


class FakeInstance:
    """Changes its database when used, as a real one does."""

    pid = 2**22 + 1
    url = Secret("postgresql://nobody:secret@/none?host=/nowhere")

    def __init__(self, start: Start, stops: list[bool], ended: str | None = None) -> None:
        """A server on `start.data`; `stops` gets what `stop` was asked."""
        self._start, self._stops, self._ended, self._checkpoints = start, stops, ended, 0
        with (start.data / "log").open("a") as log:
            log.write("started\n")

    @property
    def place(self) -> str:
        """Nowhere."""
        return "/nowhere"

    def activity(self, clock: Clock) -> LiveCollector:
        """It has no statistics to ask for."""
        raise InfrastructureError("it does not answer", where="fake server", remedy="none")

    def loaded(self) -> Loaded | None:
        """Nobody asks it."""
        return None

    def kept_url(self) -> str:
        """In the form of any engine that can read passwords from a file."""
        file = self._start.sockets / "password"
        file.touch(mode=0o600)
        file.write_text("*:*:*:*:secret\n")
        return f"fake://nobody@/none?passfile={file}"

    def shared_memory(self) -> Mapping[str, str]:
        """None."""
        return {}

    def last_words(self) -> str:
        """Nothing to say."""
        return "it wrote nothing"

    def ended_by(self) -> str | None:
        """It ends by itself only where it was made to."""
        return self._ended

    def checkpoint(self) -> None:
        """Counted."""
        self._checkpoints += 1

    def finish_loading(self, log_bytes: int) -> None:
        """A file more."""
        (self._start.data / "base/loaded").write_text("yes")

    def commits(self, clock: Clock) -> instance.CommitCounters:
        """None yet."""
        return instance.CommitCounters(0, 0, settled=True)

    def maintenance(self) -> instance.MaintenanceCounters:
        """None yet."""
        return instance.MaintenanceCounters(0, self._checkpoints, 0.0, 0, 0)

    def checkpoint_rule(self) -> instance.CheckpointRule:
        """After five minutes."""
        return instance.CheckpointRule(300.0, 2**28)

    def checksums(self) -> dict[str, str]:
        """No table."""
        return {}

    def facts(self) -> instance.ServerFacts:
        """Three settings, as the candidate has them."""
        settings = {"fsync": "on", "shared_buffers": "1MB", "wal_level": "replica"}
        own = self._start.own.settings if self._start.own else {}
        return instance.ServerFacts("0.fake", {k: own.get(k, v) for k, v in settings.items()})

    def stop(self, *, at_once: bool = False) -> None:
        """Nothing runs."""
        self._stops.append(at_once)
