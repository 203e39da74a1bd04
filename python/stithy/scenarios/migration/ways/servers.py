"""By servers: one ends here and one goes on there, on a copy of the files.

Base backup: a second server on the target follows the first, until it takes its place. Copy: the
server is stopped, its files are copied and synced, and it is started with the copy.
"""

import math
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from stithy.errors import InfrastructureError
from stithy.scenarios.migration.way import SWITCH, Move, TableSums, WayKind, explain_unmovable

if TYPE_CHECKING:
    from stithy.engines.instance import Instance
    from stithy.study.model import Study

COPY, CATCH_UP = "base backup", "catch up"
POLL_S = 0.1

LAG_BYTES = 2**20
"""Own: so much is sent while a server shuts down, without a pause that anybody would notice."""


FOLLOW_S = 60.0
"""Own: how long a server may get no nearer to one that nobody works with."""


class ServerWay(WayKind):
    """The source's files stay as they were when its server ended."""

    leaves_source = True

    def compare(self, of: Move) -> TableSums:
        """Let a server on the source's files follow until it has all, and read both.

        What users did since the switch came with the target's log.
        """
        from stithy.engines.engine import get_engine
        from stithy.storage.consent import ASIDE
        from stithy.storage.emulation import suspend_pacing

        servers, window, target = of.context.servers, of.window, of.find_server()
        engine = get_engine(servers.find_study(window.candidate, window.point).database.engine)
        if engine.replica_copy is None:
            return super().compare(of)
        replication, aside = engine.get_replication(), of.source.path / ASIDE
        with ExitStack() as held, suspend_pacing(of.source.drives):
            replication.keep_log(target.url)
            settings = replication.set_up_follower(target.url, aside)
            source = of.start_beside(aside, settings, held, "comparison")
            _wait_for_all(of, source, partial(replication.count_lag_bytes, target.url))
            sums = source.checksums(), target.checksums()
        return {name: (sums[0].get(name), sums[1].get(name)) for name in {**sums[0], **sums[1]}}


def _wait_for_all(
    of: Move, follower: "Instance", count_lag_bytes: Callable[[], int | None]
) -> None:
    session = of.context.session
    least, until_s = math.inf, session.clock.monotonic_s() + FOLLOW_S
    while (lag_bytes := count_lag_bytes()) != 0:
        session.stop.check()
        if lag_bytes is not None and lag_bytes < least:
            least, until_s = lag_bytes, session.clock.monotonic_s() + FOLLOW_S
        if session.clock.monotonic_s() > until_s:
            raise InfrastructureError(
                f"a server on the source's files did not get the target's log: "
                f"{follower.last_words()}", where=follower.place,
                remedy="let users work for less time after the move, or raise `max_wal_size`",
            )  # fmt: skip
        session.stop.asked.wait(POLL_S)


class BaseBackupWay(ServerWay):
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
        second = of.start_beside(place, replication.set_up_follower(first.url, place), of.held)

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


class FileCopy(ServerWay):
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
