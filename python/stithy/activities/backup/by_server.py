"""Backups that the server of a database by URL makes by itself, and restores beside the database.

How far one is stands in its log, by the server's own words.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from stithy.activities.backup.cycles import FOLDER, RESTORED, Backups, Cycle
from stithy.engines.backup import Progress, ServerMethod
from stithy.engines.engine import find_engine_of
from stithy.engines.instance import Endpoint, Instance, Remote, kept_of
from stithy.errors import InfrastructureError, Interrupted, StithyError
from stithy.run.events import Note


@dataclass(frozen=True)
class ServerBackups(Backups):
    """What lets a candidate's server back its database up."""

    def prepare(self, log: Path) -> str:
        """Nothing: each backup holds everything."""
        return "nothing to prepare"

    def take(self, instance: Instance, log: Path) -> Cycle:
        clock, remote = self.context.session.clock, self._remote
        name, way = self._make_name(FOLDER), self._method
        held, began_s = remote.size_bytes(), clock.now_s()
        because = self._watch(way.back_up_inside(remote.url, name, self.options), FOLDER, log)
        ended_s = clock.now_s()
        size = way.measure_backup(remote.url, name) if because is None else None
        return Cycle(began_s, ended_s, held, size, because)

    @contextmanager
    def restored(self, log: Path) -> Iterator[tuple[Cycle, Endpoint | None]]:
        """Another database of the server with what the last backup holds, dropped at the end."""
        clock, remote, way = self.context.session.clock, self._remote, self._method
        name, beside = self._make_name(FOLDER), self._make_name(RESTORED)
        began_s = clock.now_s()
        try:
            progress = way.restore_beside(remote.url, name, self.options, beside)
            because = self._watch(progress, RESTORED, log)
            cycle = Cycle(began_s, clock.now_s(), remote.size_bytes(), failed_because=because)
            url = way.locate_beside(remote.url, beside)
            yield cycle, None if because else find_engine_of(url).connect(url)
        finally:
            way.drop_beside(remote.url, beside)

    def remove(self) -> None:
        """Remove the last backup; where the server cannot, that is said."""
        try:
            self._method.remove_backup(self._remote.url, self._make_name(FOLDER))
        except InfrastructureError as error:
            self.context.session.tell(Note(f"{self.candidate}: the backup stays: {error.text}"))

    def _watch(self, progress: Progress, what: str, log: Path) -> str | None:
        """Run it to its end, and write down how far it is; returns why it failed, None if not."""
        session, percent = self.context.session, None
        began_s = session.clock.now_s()
        log.parent.mkdir(parents=True, exist_ok=True)  # no server of Stithy's writes there
        with log.open("a") as written, closing(progress):
            try:
                for percent in progress:
                    elapsed_s = session.clock.now_s() - began_s
                    shown = "not known" if percent is None else f"{percent:.0f}%"
                    written.write(f"{what}: {shown} after {elapsed_s:.0f} s\n")
                    written.flush()
                    if session.stop.asked.is_set():
                        raise Interrupted(
                            "stopped by a person", where=what, remedy="`stithy resume`"
                        )
            except Interrupted:
                raise
            except StithyError as error:
                written.write(f"{error.text}\n")
                return error.text if percent is None else f"{error.text} (at {percent:.0f}%)"
        return None

    @property
    def _method(self) -> ServerMethod:
        assert isinstance(self.method, ServerMethod)  # it is chosen by that
        return self.method

    @property
    def _remote(self) -> Remote:
        remote = self.context.servers.by_url(self.candidate)
        assert remote is not None  # such methods are of databases by URL only
        return remote

    def _make_name(self, what: str) -> str:
        """Name it so that the run's own clean-up finds it; two candidates may share a server."""
        number = list(self.context.file.study.candidates).index(self.candidate)
        return f"{kept_of(self.context.session.run_id)}c{number}{what}"
