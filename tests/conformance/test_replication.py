"""What every engine must do of which one server follows another: lose nothing at the switch."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.conftest import STARTED, Loaded
from conformance.test_engine import every_second, load
from stithy.engines.engine import get_engine
from stithy.engines.instance import Instance
from stithy.engines.served import ServerProcess
from stithy.errors import StithyError
from stithy.hosts.runner import LocalRunner, find_server_user
from stithy.scenarios.migration.ways.servers import ReplicationWay
from stithy.storage.consent import ASIDE
from support import servers
from support.moved import make_move

FOLLOWED = [
    pytest.param((name, "order-entry"), marks=getattr(pytest.mark, f"needs_{name}"), id=name)
    for name in STARTED
    if get_engine(name).replica_copy
]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait half a minute for it at most."""
    until_s = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.05)


def assert_same_tables(loaded: Loaded, place: Path, target: Instance) -> None:
    """Let a server on the files of the first follow in its turn, and read both."""
    os.rename(place / "data", place / ASIDE)
    sums = ReplicationWay().compare(make_move(loaded.engine_name, loaded.engine, place, target))
    assert len(sums) >= 10
    assert {name: of for name, of in sums.items() if of[0] != of[1]} == {}


@pytest.mark.parametrize("loaded", FOLLOWED, indirect=True)
def test_a_follower_takes_over_with_all_that_was_committed(loaded: Loaded, tmp_path: Path) -> None:
    """Users work until nobody can commit, and then at the follower: their ledger holds there.

    At the first nobody gets in any more, and it ends without a shutdown. The second is behind then.
    Afterwards a server on the first's files has the same tables, once it has followed in its turn.
    """
    engine, user = get_engine(loaded.engine_name), find_server_user()
    replication, programs = engine.get_replication(), loaded.engine.check().programs
    ledger, followers = tmp_path / "ledger", []
    with loaded.copied() as place, servers.server_place() as beside:
        first = loaded.engine.start(
            replace(servers.start(place), more=engine.replica_settings)
        )  # fmt: skip
        assert isinstance(first, ServerProcess)

        def take_over() -> bool:
            copy = replication.make_copy(first.url, programs, beside / "data")
            done = LocalRunner().run(replace(copy, user=user.name if user else None))
            assert done.code == 0, done.stderr
            settings = replication.set_up_follower(first.url, beside / "data")
            second = loaded.engine.start(replace(servers.start(beside), more=settings))
            assert isinstance(second, ServerProcess)
            followers.append(second)
            wait_until(lambda: replication.count_lag_bytes(first.url, second.url) in range(2**20))
            second.suspend()
            with replication.stop_commits(first.url, first.sockets / first.socket) as end:
                with pytest.raises(StithyError):
                    loaded.sample.run(first.url, "SELECT 1")
                time.sleep(0.5)  # whoever could commit now would be ahead of the follower
                second.resume()
                wait_until(lambda: replication.has_all(second.url, end))
                first.stop(at_once=True)
                replication.promote(second.url)
            first.continue_as(second)
            return False

        watch = every_second(lambda: bool(followers) or take_over())
        try:
            hammer = loaded.hammer(first.url)
            driven = hammer.run(loaded.choice, load(600, ledger), watch=watch)
            found = hammer.verify_ledger(loaded.choice, ledger).summary
            checked = hammer.check(loaded.choice, quick=True, after_load=False)
            assert_same_tables(loaded, place, followers[0])
        finally:
            for server in (first, *followers):
                server.stop(at_once=True)
    assert followers
    assert found.holds
    assert {error.kind for error in driven.summary.errors} == {"lost"}
    assert checked.broken == ()
