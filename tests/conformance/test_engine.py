"""What every engine must do with a real server: live, die, recover, count, say what is wrong."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import pytest

from conformance.conftest import EACH_ENGINE, Loaded
from conformance.samples import sample
from stithy.analysis.invariants import bound_commits
from stithy.clock import SystemClock
from stithy.collectors import database
from stithy.collectors.collector import InstanceScope, Sample, Scope, Unavailable
from stithy.engines.engine import declaration, get_engine
from stithy.engines.instance import Configuration, Instance
from stithy.errors import InfrastructureError, UserError
from stithy.hosts.processes import find_pids_inside
from stithy.hosts.resources import make_group, remove_group
from stithy.hosts.runner import Command, LocalRunner, Running
from stithy.registry import plugins
from stithy.wire.hammer import ProgressWatch
from stithy.wire.jobs import RunRequest
from stithy.wire.messages import AnyMessage, SecondMessage
from stithy.workloads.workload import Workload
from support.places import DISK
from support.servers import PASSWORD, mounted, request, server_place, start

MIB = 2**20


def load(duration_s: float = 1.0, ledger: Path | None = None, users: int = 2) -> RunRequest:
    """Some users without pauses."""
    return RunRequest(
        seed=1, users=users, ramp_up_s=0.5, duration_s=duration_s, ledger=ledger, error_limit=20
    )


def every_second(act: Callable[[], bool]) -> ProgressWatch:
    """Does something each second of the users' work, until it says that the run may end."""
    stop = threading.Event()

    def on_message(message: AnyMessage) -> None:
        if (
            isinstance(message, SecondMessage)
            and message.second >= 1
            and not stop.is_set()
            and act()
        ):
            stop.set()

    return ProgressWatch(on_message=on_message, stop=stop)


class Remembering(LocalRunner):
    """A runner that knows what it started last."""

    last: Running

    def start(self, command: Command, *, stderr: Path | IO[bytes] | None = None) -> Running:
        """Start it."""
        self.last = super().start(command, stderr=stderr)
        return self.last


def killed(instance: Instance, runner: Remembering) -> bool:
    """Kill it, once: the driver in whose process it runs, or its own."""
    if instance.pid is None:
        runner.last.send_signal(signal.SIGKILL)
        return True
    if instance.ended_by() is None:
        os.kill(instance.pid, signal.SIGKILL)
    return instance.ended_by() is not None


def drive_until_killed(loaded: Loaded, instance: Instance, ledger: Path) -> None:
    """Let users work until the database is killed; who asks it then is told so."""
    runner = Remembering()
    watch = every_second(lambda: killed(instance, runner))
    hammer = loaded.hammer(instance.url, runner)
    if loaded.is_embedded:
        with pytest.raises(InfrastructureError, match="SIGKILL"):
            hammer.run(loaded.choice, load(600, ledger), watch=watch)
        return
    driven = hammer.run(loaded.choice, load(600, ledger), watch=watch)
    assert not driven.summary.complete
    assert instance.ended_by() == "was ended by SIGKILL"
    with pytest.raises(InfrastructureError):
        instance.checkpoint()


@EACH_ENGINE
def test_a_restored_copy_is_the_database_that_was_loaded(loaded: Loaded) -> None:
    """A server that stops writes all down; started again, it has what it had, and its settings.

    Its facts name neither places nor the password, and its URL for people names a file instead.
    """
    with loaded.copied() as place:
        for _ in range(2):
            instance = loaded.start(place)
            facts, kept = instance.facts(), instance.kept_url()
            checked = loaded.hammer(instance.url).check(loaded.choice, quick=True, after_load=True)
            instance.stop()
            instance.stop()
            assert instance.ended_by() == "ended with code 0"
            assert checked.conditions
            assert checked.broken == ()
            name, value = loaded.sample.setting
            assert facts.settings[name] == value
            assert not {str(place), PASSWORD} & {*facts.settings.values()}
            assert PASSWORD not in kept


@EACH_ENGINE
def test_a_killed_server_recovers(loaded: Loaded, tmp_path: Path) -> None:
    """Its other processes end too, its memory is forgotten, and its ledger holds.

    What the ledgers of other workloads find is proved in `crates/hammer/tests/`.
    """
    forget = get_engine(loaded.engine_name).forget
    with loaded.copied() as place:
        instance = loaded.start(place)
        memory = instance.shared_memory()
        ledger = tmp_path / "ledger"
        drive_until_killed(loaded, instance, ledger)
        instance.stop(at_once=loaded.is_embedded)
        assert find_pids_inside(place / "data", loaded.engine.program) == []
        forget(memory)
        forget(memory)
        assert not loaded.sample.left(memory)
        recovered = loaded.start(place)
        try:
            found = loaded.hammer(recovered.url).verify_ledger(loaded.choice, ledger).summary
            checked = loaded.hammer(recovered.url).check(
                loaded.choice, quick=True, after_load=False
            )
        finally:
            recovered.stop(at_once=True)
        assert found.holds
        assert sum(entry.acknowledged for entry in found.entries.values()) > 0
        assert checked.broken == ()


@EACH_ENGINE
@pytest.mark.needs_root
def test_a_full_volume_is_called_full(loaded: Loaded, tmp_path: Path) -> None:
    """By an error that the driver got or by a line of the server's log; then it is out of room."""
    used = sum(path.stat().st_size for path in loaded.place.rglob("*") if path.is_file())
    classify = declaration(loaded.engine_name).error_class
    left = 8 if loaded.is_embedded else 24  # a server begins with segments of its log
    with (
        server_place() as made,
        mounted(made / "small", f"{used // MIB + left}m") as small,
        loaded.copied(small) as place,
    ):
        instance = loaded.start(place, sockets=made, log=made / "server.log")
        ended = every_second(lambda: instance.ended_by() is not None)
        (place / "another's").write_bytes(bytes(shutil.disk_usage(small).free - MIB // 4))
        try:
            errors = loaded.hammer(instance.url).run(loaded.choice, load(60), watch=ended)
            classes = [classify(error.code, error.text) for error in errors.summary.errors]
        finally:
            instance.stop(at_once=True)
        log = made / "server.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        assert "full" in [*classes, *(classify(None, line) for line in lines)]


@EACH_ENGINE
@pytest.mark.needs_cgroup
def test_a_server_stays_within_its_memory(loaded: Loaded) -> None:
    """All of its processes are in the group from the start, with the page cache of its files.

    They lie on a disk: of files in memory none would be written back.
    """
    made: list[Path] = []
    name = f"stithy-test-{os.getpid()}"
    group = make_group(name, 256 * MIB, runner=LocalRunner(), record=made.append).group
    assert group is not None
    try:
        with server_place(DISK) as own, loaded.copied(own) as place:
            instance = loaded.start(place, memory_cgroup=group.path)
            try:
                loaded.hammer(instance.url, None, group.path).run(loaded.choice, load())
                assert instance.pid is None or group.explain_lost(instance.pid) is None
                assert group.count_killed() in (0, None)
                # A driver that holds a megabyte of data itself needs less than a server.
                least = 4 * MIB if loaded.is_embedded else 16 * MIB
                assert least < (group.read_peak_bytes() or 0) <= 256 * MIB
            finally:
                instance.stop(at_once=True)
    finally:
        remove_group(group.path)


def test_work_moves_what_a_window_reads_of_its_server(loaded: Loaded, server: Instance) -> None:
    """Commits as the driver has them, within what the server may commit by itself; its log; a
    checkpoint that was asked for.
    """
    clock = SystemClock()
    before, commits = server.maintenance(), server.commits(clock)
    summary = loaded.hammer(server.url).run(loaded.choice, load()).summary
    later = server.commits(clock)
    server.checkpoint()
    after = server.maintenance()
    if commits is not None:
        assert later is not None
        assert commits.settled and later.settled  # noqa: PT018 both of one reading
        assert later.rollbacks - commits.rollbacks == summary.rollbacks
        own = declaration(loaded.engine_name).commits
        assert own is not None
        runs = (after.maintenance_runs or 0) - (before.maintenance_runs or 0)
        job_s = summary.measure_to_s - summary.started_at_s
        least, most = bound_commits(
            own, summary.commits, job_s, connections=2, maintenance_runs=runs
        )
        workload = plugins(Workload)[loaded.workload]
        if workload.is_one_commit({}, counts_statements=own.counts_statements):
            assert least <= later.commits - commits.commits <= most
    for name in ("log_position_bytes", "checkpoints_requested"):
        earlier, now = vars(before)[name], vars(after)[name]
        assert earlier is now is None or now > earlier
    if before.last_checkpoint_at_s is not None:
        assert (after.last_checkpoint_at_s or 0.0) >= before.last_checkpoint_at_s
    rule = server.checkpoint_rule()
    assert rule is None or (rule.after_s is None or rule.after_s > 0) and rule.after_bytes > 0


@EACH_ENGINE
def test_its_collector_has_a_value_or_a_reason_for_every_metric(
    loaded: Loaded, server: Instance
) -> None:
    """Of those that all engines have, and of its own; what the users do is among them.

    An engine without statistics gives the reason once for all.
    """
    own = {metric.name for metric in declaration(loaded.engine_name).metrics}
    common = {each.name for each in database.COMMON}
    found = sampled(loaded, server)
    if isinstance(found, Unavailable):
        assert str(found)
        return
    rare = {"waiting_sessions_by_event"}  # it has a subject only while someone waits
    assert {each.metric for each in found} | rare == common | own | rare
    assert all((each.value is None) == (each.missing_because is not None) for each in found)
    values = {each.metric: each.value or 0.0 for each in found if each.subject == ""}
    assert min(values[each] for each in SEEN) > 0


SEEN = ("commits_per_s", "log_bytes_per_s", "active_sessions")
"""What users do, as samples of a server have it."""


def sampled(loaded: Loaded, instance: Instance) -> Sequence[Sample] | Unavailable:
    """What the collector gives once users are at work, or why it gives nothing."""
    try:
        collector = database.create(Scope(()), InstanceScope("", instance))
    except Unavailable as because:
        return because
    found: list[Sample] = []

    def look() -> bool:
        collector.sample()
        until_s = time.monotonic() + 60.0
        # Its counts are handed over about once a second, and in a moment nobody may be at work.
        while not {*SEEN} <= {each.metric for each in found if each.value}:
            assert time.monotonic() < until_s
            time.sleep(0.5)
            found[:] = collector.sample()
        return True

    try:
        loaded.hammer(instance.url).run(loaded.choice, load(600), watch=every_second(look))
    finally:
        collector.close()
    return found


def test_settings_are_refused_before_starting(installed: str) -> None:
    """At the key that it stands under: the study's, or a candidate's own."""
    known = sample(installed)
    create = get_engine(installed).configure
    with pytest.raises(UserError, match=known.refused[0]) as caught:
        create(request(dict([known.refused]))).check()
    assert caught.value.where.startswith("database.settings")
    own = [("candidates.b", Configuration(dict([known.refused]), 256 * MIB))]
    with pytest.raises(UserError, match=known.refused[0]) as caught:
        create(request(dict([known.setting]), own=own)).check()
    assert caught.value.where.startswith("candidates.b.settings")


def test_a_start_that_fails_quotes_the_server(installed: str) -> None:
    """A directory without a database has no server."""
    with server_place() as place, pytest.raises(InfrastructureError, match="while starting: "):
        get_engine(installed).configure(request()).start(start(place))


def test_an_error_has_a_declared_class(engine_name: str) -> None:
    """By its code; a line of the log by its words."""
    known, declared = sample(engine_name).errors, declaration(engine_name)
    assert {of: declared.error_class(*of) for of in known} == dict(known)
    assert declared.error_classes == {*known.values()}
