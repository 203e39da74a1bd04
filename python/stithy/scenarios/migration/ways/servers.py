"""By servers: one ends here and one goes on there, on a copy of the files.

Base backup: a second server on the target follows the first, until it takes its place. Copy: the
server is stopped, its files are copied and synced, and it is started with the copy.
"""

from typing import TYPE_CHECKING

from stithy.scenarios.migration.way import SWITCH, Move, WayKind, explain_unmovable

if TYPE_CHECKING:
    from stithy.study.model import Study

COPY, CATCH_UP = "base backup", "catch up"
POLL_S = 0.1

LAG_BYTES = 2**20
"""Own: so much is sent while a server shuts down, without a pause that anybody would notice."""


class BaseBackupWay(WayKind):
    """Users pause only while the first server ends and the second takes over."""

    name = "base-backup"
    text = (
        "copies the files of the running server, lets a second one on the copy follow it, and "
        "switches over once that has nearly all"
    )
    expects = frozenset({"lost"})
    explains = frozenset(
        {"commit counters disagree", "commit counters not verified", "contradicts itself"}
    )
    parts = (COPY, CATCH_UP, SWITCH)
    servers_beside = 1

    def explain_refusal(self, study: "Study", candidate: str) -> str | None:
        """Refuse engines of which no server follows another."""
        from stithy.engines.engine import get_engine

        lacking = [name for name in study.engines if get_engine(name).replica_copy is None]
        if lacking:
            return f"no server of {lacking[0]} follows another here"
        return explain_unmovable(study, candidate)

    def move(self, of: Move) -> None:
        """Copy, follow, switch; the first is started again where the second lacks anything."""
        from stithy.engines.engine import get_engine
        from stithy.storage.consent import DATA
        from stithy.storage.copy import measure_tree

        servers, window, first = of.context.servers, of.window, of.find_server()
        study = servers.find_study(window.candidate, window.point)
        replication = get_engine(study.database.engine).get_replication()
        programs = servers.get_found(study).installation.programs
        place = of.make_place()
        of.begin(COPY)
        of.run(replication.make_copy(first.url, programs, place))
        of.moved_bytes = measure_tree(place)[1]
        of.begin(CATCH_UP)
        second = of.start_beside(place, replication.set_up_follower(first.url, place))

        def is_near() -> bool:
            lag_bytes = replication.count_lag_bytes(first.url)
            return lag_bytes is not None and lag_bytes <= LAG_BYTES

        of.wait_until(is_near, POLL_S)
        first.checkpoint()  # or the shutdown would write what is dirty while users wait
        of.wait_until(is_near, POLL_S)
        of.begin(SWITCH)
        try:
            first.stop()
            runner = of.context.session.host.runner
            end = replication.read_end(runner, programs, of.source.path / DATA)
            of.wait_until(lambda: replication.has_all(second.url, end))
            replication.promote(second.url)
        except BaseException:
            servers.start_again(window.candidate)
            raise
        of.switch_to(second, place, replication)


class FileCopy(WayKind):
    """The plain way: nobody works meanwhile, so users pause for the whole copy."""

    name = "copy"
    text = "stops the server, copies its files, syncs them, and starts it with the copy"
    expects = frozenset({"lost"})
    parts = (SWITCH,)

    def explain_refusal(self, study: "Study", candidate: str) -> str | None:
        """Refuse what no server of Stithy's has in one place."""
        return explain_unmovable(study, candidate)

    def move(self, of: Move) -> None:
        """Copy what a clean end left; where that fails the server goes on with its own files."""
        from stithy.run.volumes import get_parts
        from stithy.storage.copy import copy_tree, measure_tree, sync_filesystem

        servers, server, data = of.context.servers, of.find_server(), get_parts(of.source).data
        place = of.make_place()
        of.begin(SWITCH)
        server.stop()
        try:
            copy_tree(data, place, has_holes=of.has_holes(), watch=of.check)
            sync_filesystem(place)
            of.check()
            of.moved_bytes = measure_tree(place)[1]
        except BaseException:
            servers.start_again(of.window.candidate)
            raise
        of.settle_at(place)
        servers.start_again(of.window.candidate, place)


PLUGINS = (BaseBackupWay(), FileCopy())
