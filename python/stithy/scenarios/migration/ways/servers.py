"""By servers: one ends here and one goes on there, on a copy of the files.

Base backup and replication: a second server on the target follows the first, until it takes its
place. Copy: the server is stopped, its files are copied and synced, and it starts with the copy.
"""

import math
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from stithy.errors import InfrastructureError
from stithy.scenarios.migration.way import SWITCH, Move, TableSums, WayKind, explain_unmovable

if TYPE_CHECKING:
    from stithy.engines.instance import Instance, Replication
    from stithy.study.model import Study

COPY, CATCH_UP = "base backup", "catch up"
POLL_S = 0.1

EXPLAINED = frozenset({"commit counters not verified"})
"""Another server counts from another begin."""

FOLLOW_S = 60.0
"""Own: how long a server may get no nearer to one that nobody works with."""


class ServerWay(WayKind):
    """The source's files stay as they were when its server ended."""

    def explain_uncompared(self, study: "Study") -> str | None:
        """Refuse engines of which no server follows another, or not with the study's settings."""
        from stithy.engines.engine import get_engine
        from stithy.scenarios.migration.plan import find_spec

        engine = get_engine(study.database.engine)
        if engine.replica_copy is None:
            return f"no server of {engine.name} is made to follow on the source's files"
        if engine.replica_settings and not find_spec(study).has_followers:
            given = ", ".join(map("=".join, engine.replica_settings.items()))
            return (
                f"a server of {engine.name} follows on the source's files only where all have "
                f"{given}, as with the way `replication` in the same study"
            )
        return None

    def compare(self, of: Move) -> TableSums:
        """Let a server on the source's files follow until it has all, and read both.

        What users did since the switch came with the target's log, and so did whole pages.
        """
        from stithy.storage.consent import ASIDE
        from stithy.storage.emulation import suspend_pacing

        target, aside = of.find_server(), of.source.path / ASIDE
        replication = of.find_engine().get_replication()
        with ExitStack() as held, suspend_pacing(of.source.drives):
            settings = replication.set_up_source(target.url, aside)
            source = of.start_beside(aside, settings, held, "comparison")
            _wait_for_all(of, source, partial(replication.count_lag_bytes, target.url, source.url))
            sums = source.checksums(), target.checksums()
        return {name: (sums[0].get(name), sums[1].get(name)) for name in {**sums[0], **sums[1]}}


def _wait_for_all(
    of: Move, follower: "Instance", count_lag_bytes: Callable[[], int | None]
) -> None:
    session = of.context.session
    least, until_s = math.inf, session.clock.monotonic_s() + FOLLOW_S
    while (lag_bytes := count_lag_bytes()) != 0:
        if lag_bytes is not None and lag_bytes < least:
            least, until_s = lag_bytes, session.clock.monotonic_s() + FOLLOW_S
        if session.clock.monotonic_s() > until_s:
            raise InfrastructureError(
                f"a server on the source's files did not get the target's log: "
                f"{follower.last_words()}", where=follower.place,
                remedy="let users work for less time after the move, if its log is gone by then",
            )  # fmt: skip
        session.stop.pause(POLL_S)


class FollowingWay(ServerWay):
    """A second server on a copy of the files follows the first, and then takes over from it."""

    expects = frozenset({"lost"})
    explains = EXPLAINED
    parts = (COPY, CATCH_UP, SWITCH)
    servers_beside = 1
    near_bytes: int
    """How little log the second may lack at the switch."""

    shuts_down: bool
    """Whether the switch begins with a shutdown of the first."""

    def explain_refusal(self, study: "Study", candidate: str) -> str | None:
        """Refuse engines of which no server follows another, and settings with which none does."""
        from stithy.engines.engine import get_engine

        for name in study.engines:
            engine = get_engine(name)
            if engine.replica_copy is None:
                return f"no server of {name} follows another here"
            settings = study.select_engine(name).give_database(candidate).settings
            if given := engine.find_unfollowed(settings):
                return f"no server follows one with {given}"
        return explain_unmovable(study, candidate)

    def move(self, of: Move) -> None:
        """Copy, follow, switch."""
        from stithy.storage.copy import measure_tree

        first, replication = of.find_server(), of.find_engine().get_replication()
        place = of.make_place()
        of.begin(COPY)
        of.run(replication.make_copy(first.url, of.find_programs(), place))
        of.moved_bytes = measure_tree(place)[1]
        of.begin(CATCH_UP)
        second = of.start_beside(place, replication.set_up_follower(first.url, place), of.held)

        def is_near() -> bool:
            lag_bytes = replication.count_lag_bytes(first.url, second.url)
            return lag_bytes is not None and lag_bytes <= self.near_bytes

        of.wait_until(is_near, POLL_S)
        if self.shuts_down:
            first.checkpoint()  # or the shutdown would write what is dirty while users wait
            of.wait_until(is_near, POLL_S)
        of.begin(SWITCH)
        self.switch(of, second, replication)
        of.switch_to(second, place)

    def switch(self, of: Move, second: "Instance", replication: "Replication") -> None:
        """Let the second take over; the first is started again where that lacks anything."""
        try:
            self.take_over(of, second, replication)
        except BaseException:
            of.find_server().stop(at_once=True)
            of.context.servers.start_again(of.window.candidate)
            raise

    def take_over(self, of: Move, second: "Instance", replication: "Replication") -> None:
        """End the first, and promote the second once it has all; users still pause."""
        raise NotImplementedError


class BaseBackupWay(FollowingWay):
    """Users pause only while the first server shuts down and the second takes over."""

    name = "base-backup"
    text = (
        "copies the files of the running server, lets a second one on the copy follow it, and "
        "switches over by a shutdown of the first once that has nearly all"
    )
    near_bytes = 2**20
    """Own: so much is sent while a server shuts down, without a pause that anybody would notice."""

    shuts_down = True

    def explain_refusal(self, study: "Study", candidate: str) -> str | None:
        """Refuse engines, too, whose end of the log is not in their files."""
        from stithy.engines.engine import get_engine

        if because := super().explain_refusal(study, candidate):
            return because
        silent = [name for name in study.engines if not get_engine(name).tells_log_end]
        return f"the files of {silent[0]} do not say where its log ends" if silent else None

    def take_over(self, of: Move, second: "Instance", replication: "Replication") -> None:
        """Shut the first down: it sends all of its log, and says where that ends."""
        from stithy.storage.consent import DATA

        of.find_server().stop()
        runner = of.context.session.host.runner
        end = replication.read_end(runner, of.find_programs(), of.source.path / DATA)
        of.wait_until(lambda: replication.has_all(second.url, end))
        replication.promote(second.url)


class ReplicationWay(FollowingWay):
    """Users pause only from the moment when they cannot commit until the second takes over."""

    name = "replication"
    text = (
        "lets a second server on a copy of the files follow the first, and switches over, once it "
        "has all but some transactions, by an end of all commits: the first is killed once the "
        "second has them all"
    )
    near_bytes = 2**16
    """Own: some tens of transactions, which a server that keeps up has in a moment."""

    shuts_down = False

    def take_over(self, of: Move, second: "Instance", replication: "Replication") -> None:
        """Let nobody commit at the first, and end it at once when the second has all."""
        first = of.find_process()
        socket = first.sockets / first.socket
        with replication.stop_commits(of.find_server().url, socket) as end:
            of.wait_until(lambda: replication.has_all(second.url, end))
            first.stop(at_once=True)
            replication.promote(second.url)


class FileCopy(ServerWay):
    """The plain way: nobody works meanwhile, so users pause for the whole copy."""

    name = "copy"
    text = "stops the server, copies its files, syncs them, and starts it with the copy"
    expects = frozenset({"lost"})
    explains = EXPLAINED
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


PLUGINS = (BaseBackupWay(), FileCopy(), ReplicationWay())
