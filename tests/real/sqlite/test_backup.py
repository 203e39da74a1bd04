"""A real SQLite database, backed up while users write, and restored beside itself."""

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest

from stithy.engines.backup import BackupJob, BackupMethod, BackupOptions, Source
from stithy.engines.engine import get_engine
from stithy.engines.instance import ConfiguredEngine
from stithy.hosts.runner import Command, Finished, LocalRunner, find_server_user
from stithy.registry import plugins
from stithy.secrets import Secret
from stithy.wire.hammer import Hammer, ProgressWatch
from stithy.wire.jobs import RunRequest, WorkloadChoice
from stithy.wire.messages import AnyMessage, SecondMessage
from stithy.workloads.workload import Driving, Workload
from support.servers import make_folder, request, server_place, start

pytestmark = pytest.mark.needs_sqlite

SQLITE = get_engine("sqlite")
USER = find_server_user()


def choice() -> WorkloadChoice:
    """One warehouse."""
    keys = plugins(Workload)["order-entry"].keys
    return keys.model_validate({"name": "order-entry", "warehouses": 1}).choice(Driving())


def hammer(url: Secret) -> Hammer:
    """The load driver."""
    return Hammer(LocalRunner(), url)


def run(command: Command) -> Finished:
    """Run a command as the user of servers."""
    return LocalRunner().run(replace(command, user=USER.name if USER else None))


@pytest.fixture(scope="module")
def loaded() -> Iterator[tuple[Path, ConfiguredEngine]]:
    """A small database, and the engine that opens it."""
    with server_place() as place:
        engine = SQLITE.configure(request())
        engine.check()
        loading = engine.start(start(place, loading=True))
        hammer(loading.url).prepare(choice(), seed=1, loaders=1)
        loading.finish_loading(0)
        loading.stop()
        yield place, engine


@pytest.mark.parametrize("method", SQLITE.backups, ids=lambda method: str(method.name))
def test_a_backup_beside_users_holds(
    loaded: tuple[Path, ConfiguredEngine], method: BackupMethod
) -> None:
    """It is one state of the database, though users go on; a damaged one is not restored."""
    place, engine = loaded
    instance, finished, commits = engine.start(start(place)), list[Finished](), list[int]()
    rate = 40_000_000 if method.name == "online" else None
    job = BackupJob(place, BackupOptions(bytes_per_s=rate), make_folder(place, method.name))
    stop, began_s = threading.Event(), monotonic()

    def on_message(message: AnyMessage) -> None:
        if isinstance(message, SecondMessage):
            commits.append(sum(each.committed for each in message.transactions))
            if not finished:
                finished.append(run(method.back_up(job, Source(instance.url, place / "data"))))
                stop.set()

    watch = ProgressWatch(on_message=on_message, stop=stop)
    users = RunRequest(seed=1, users=2, ramp_up_s=0.1, duration_s=600.0)
    summary = hammer(instance.url).run(choice(), users, watch=watch).summary
    assert (finished[0].code, finished[0].stderr) == (0, "")
    assert summary.errors == ()
    [copy] = job.folder.iterdir()
    assert sum(commits[1:]) > 0
    if rate:
        assert monotonic() - began_s > copy.stat().st_size / rate
    data = make_folder(make_folder(place, f"restored-{method.name}"), "data")
    assert [run(command).code for command in method.restore(job, data)] == [0, 0]
    restored = engine.start(start(data.parent))
    assert hammer(restored.url).check(choice(), quick=False, after_load=False).broken == ()
    restored.stop()
    with copy.open("r+b") as file:
        file.seek(40 * 4096)
        file.write(os.urandom(40 * 4096))
    again = make_folder(place, f"again-{method.name}")
    assert run(method.restore(job, again)[-2]).code == 0
    damaged = run(method.restore(job, again)[-1])
    assert damaged.code != 0
    assert "damaged" in damaged.stderr or "malformed" in damaged.stderr
