"""Agents in network namespaces as hosts: one result, one start, and no load that nobody wants."""

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stithy.activities.backup.by_agent import AgentClient
from stithy.agents.coordinator import Agents
from stithy.agents.window import AgentsDriven
from stithy.clock import SystemClock
from stithy.engines.backup import BackupJob, BackupOptions, Source
from stithy.engines.engine import get_engine
from stithy.engines.postgresql.connection import connect
from stithy.engines.postgresql.url import parse_url
from stithy.errors import Exit
from stithy.fio.library import find
from stithy.fio.load import FioLoad, FioTarget, split_load
from stithy.fio.measure import lay_out, make_file, measure, prepare_fio
from stithy.hosts.runner import Command, LocalRunner, find_server_user
from stithy.run.books import Register
from stithy.run.cleaning import clean
from stithy.scenarios.block_io.activity import FioAgents
from stithy.secrets import Secret
from stithy.wire.hammer import Hammer, ProgressWatch
from stithy.wire.jobs import BaselineJob
from stithy.wire.program import HAMMER, Lease, find_program
from support.agent_hosts import (
    CHOICE,
    AgentHosts,
    load_database,
    make_request,
    raise_hosts,
    wait_until,
)
from support.places import DISK, a_place
from support.servers import engine, make_folder, server_place, start

pytestmark = [pytest.mark.needs_namespace, pytest.mark.usefixtures("own_state")]
COUNT = 3
WRITES = CHOICE.model_copy(update={"mix": "update_non_index"})


@dataclass(frozen=True)
class _Lab:
    hosts: AgentHosts
    url: Secret

    def drive(self, fence: str, duration_s: float, watch: ProgressWatch) -> AgentsDriven:
        agents = Agents(self.hosts.site, self.hosts.names)
        return agents.drive(fence, self.url, CHOICE, make_request(6, duration_s), watch)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Lab]:
    """Three hosts with an agent each, and a database that all of them reach."""
    folder = tmp_path_factory.mktemp("agents")
    with raise_hosts(folder, COUNT) as hosts:
        yield _Lab(hosts, load_database(folder))


def test_agents_do_together_what_one_host_does(lab: _Lab, tmp_path: Path) -> None:
    """The same arrivals, from one moment on; logs and messages lie where one hammer's would.

    Their ledgers are one, of which the database has as much as of that of one hammer.
    """
    hammer, stem = Hammer(LocalRunner(), lab.url), tmp_path / "hammer"
    request = make_request(6, 2.0, per_s=60).model_copy(update={"hlog_stem": stem})
    ledgers = [tmp_path / "alone.ledger", tmp_path / "together.ledger"]
    requests = [request.model_copy(update={"ledger": ledger}) for ledger in ledgers]
    alone = hammer.run(WRITES, requests[0]).summary
    agents = Agents(lab.hosts.site, lab.hosts.names)
    watch = ProgressWatch(tmp_path / "hammer.jsonl")
    result = agents.drive("together", lab.url, WRITES, requests[1], watch)
    assert result.driven is not None, result.explain_missing()
    summary = result.driven.summary
    for ledger, written in zip(ledgers, (alone.ledger, summary.ledger), strict=True):
        (counts,) = hammer.verify_ledger(WRITES, ledger).summary.entries.values()
        assert written is not None
        assert (counts.acknowledged, counts.unknown) == (written.acknowledged, 0)
        assert counts.acknowledged > 100
        assert counts.lost + counts.differing + counts.returned == 0
    parts = [of.driven.summary for of in result.agents if of.driven]
    assert 0.0 < summary.gaps.longest_s <= min(part.gaps.longest_s for part in parts) + 1e-6
    assert not list(tmp_path.glob("together.ledger.*"))
    (one,), (all_of_them,) = alone.transactions, summary.transactions
    # A transaction may be answered on either side of the end.
    assert abs(one.committed - all_of_them.committed) <= COUNT
    assert (summary.users, summary.complete) == (6, True)
    assert len(parts) == COUNT
    assert 0.0 < max(part.woke_late_s or 0.0 for part in parts) < 1.0
    assert (tmp_path / "hammer.response.hlog").exists()
    assert len(list(tmp_path.glob("hammer.h*.jsonl"))) == COUNT
    assert str(lab.url.reveal()) not in (tmp_path / "hammer.jsonl").read_text()


@pytest.mark.parametrize("is_held_open", [True, False])
def test_a_hammer_ends_itself_without_its_lease(tmp_path: Path, is_held_open: bool) -> None:
    """After its term where nobody renews it, at once where its owner is gone."""
    work = BaselineJob(file=str(tmp_path / "f"), file_bytes=4096, spin_s=60.0, read_s=0.1)
    command = [str(find_program(HAMMER)), "--lease", "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as hammer:
        assert hammer.stdin is not None
        hammer.stdin.write(f"{work.model_dump_json()}\n".encode())
        hammer.stdin.flush()
        began_s = time.monotonic()
        if not is_held_open:
            hammer.stdin.close()
        assert hammer.wait(10) == Exit.INFRASTRUCTURE
        assert (time.monotonic() - began_s >= 1.0) == is_held_open


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_lost_agent_is_named_and_leaves_no_load(lab: _Lab, number: int) -> None:
    """Its hammer ends by itself; the others are ended; its next one drives again."""
    results: list[AgentsDriven] = []
    begun = threading.Event()
    watch = ProgressWatch(on_message=lambda message: begun.set())
    work = threading.Thread(target=lambda: results.append(lab.drive(f"lost-{number}", 30.0, watch)))
    work.start()
    assert begun.wait(20), "no second was reported"
    name = lab.hosts.names[1]
    assert len(lab.hosts.list_hammers(name)) == 1
    lab.hosts.kill(name, number)
    wait_until(lambda: not lab.hosts.list_hammers(name), Lease.TERM_S + 1, "its hammer has ended")
    work.join(20)
    (result,) = results
    assert result.driven is None
    assert result.explain_missing().startswith(f"agent {name}: ")
    wait_until(lambda: not any(map(lab.hosts.list_hammers, lab.hosts.names)), 10, "no orphan")
    if number == signal.SIGKILL:
        lab.hosts.begin(name)
    else:
        lab.hosts.kill(name, signal.SIGCONT)
    lab.hosts.wait_until_joined()
    again = lab.drive(f"again-{number}", 1.0, ProgressWatch())
    assert again.driven is not None, again.explain_missing()


def test_what_a_run_left_at_agents_is_ended_and_who_is_not_reached_is_named(
    lab: _Lab, tmp_path: Path
) -> None:
    """Other runs' load goes on; nobody is asked twice, for load ends without its lease anyway."""
    begun = threading.Event()
    watch = ProgressWatch(on_message=lambda message: begun.set())
    work = threading.Thread(target=lambda: lab.drive("gone/w1/0", 60.0, watch))
    work.start()
    assert begun.wait(20), "no second was reported"
    for run_id, is_ended in (("go", False), ("gone", True)):
        register = Register(run_id, tmp_path / run_id, SystemClock())
        agents = Agents(lab.hosts.site, [*lab.hosts.names, "h9"])
        register.register_creation("agents", agents.list_facts())
        register.keep()
        register.close(remove=False)
        (cleaned,) = clean(tmp_path / run_id)
        (left,) = cleaned.left
        assert left.reason.startswith("not reached: h9 (not joined)")
        assert clean(tmp_path / run_id) == []
        assert is_ended or any(map(lab.hosts.list_hammers, lab.hosts.names))
    work.join(20)
    assert not any(map(lab.hosts.list_hammers, lab.hosts.names))


@pytest.mark.needs_postgresql
def test_a_dump_at_an_agent_is_one_of_this_host_and_ends_with_it(lab: _Lab) -> None:
    """It waits for a table when its agent is killed; another agent backs up the next time."""
    stop = SimpleNamespace(asked=threading.Event())
    session = SimpleNamespace(run_id="dump", tell=lambda event: None, stop=stop)
    agents, user = Agents(lab.hosts.site, lab.hosts.names), find_server_user()
    context: Any = SimpleNamespace(agents=agents, session=session, host=SimpleNamespace(user=user))
    name, client = lab.hosts.names[1], AgentClient(context, lab.hosts.names[1])
    with server_place() as place, ThreadPoolExecutor(1) as pool:
        (made := engine()).initialise(place / "data", place)
        server = made.start(start(place, loading=True))

        def dump(folder: str) -> Command:
            options = BackupOptions(2, agent=name)
            job = BackupJob(made.check().programs, options, make_folder(place, folder))
            return (
                get_engine("postgresql")
                .get_backup("dump")
                .back_up(job, Source(server.url, place / "data"))
            )

        try:
            with connect(parse_url(server.url)) as person:
                person.run("CREATE TABLE kept AS SELECT n FROM generate_series(1, 1000) n")
                began_s = SystemClock().now_s()
                ended = client.run(dump("whole"), place / "log")
                assert ended.code == 0, ended.said
                assert began_s < ended.from_s < ended.to_s < SystemClock().now_s()
                assert (place / "whole/toc.dat").stat().st_uid == (user.uid if user else 0)
                person.run("BEGIN")
                person.run("LOCK TABLE kept")
                lost = pool.submit(client.run, dump("lost"), place / "log")
                programs = partial(lab.hosts.list_programs, name, "pg_dump")
                wait_until(lambda: bool(programs()), 30, "it has begun")
                lab.hosts.kill(name)
                wait_until(lambda: not programs(), Lease.TERM_S + 1, "it has ended")
                assert f"agent {name}: " in str(lost.exception(60))
        finally:
            server.stop(at_once=True)
    (row,) = client.make_rows("w")
    assert row["missing_because"]
    assert row["cpu_s"] > 0
    lab.hosts.begin(name)
    lab.hosts.wait_until_joined()
    client.await_agent()


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found: install fio")
def test_fio_of_agents_is_one_and_a_lost_agent_leaves_none(lab: _Lab) -> None:
    """Each worker has its requests at a rate; of a closed loop none goes on without its agent."""
    session = SimpleNamespace(run_id="fio", tell=lambda event: None)
    context: Any = SimpleNamespace(agents=Agents(lab.hosts.site, lab.hosts.names), session=session)
    window: Any = SimpleNamespace(id="w")
    pattern, name = find("oltp-8k").patterns[0], lab.hosts.names[1]
    with a_place(DISK) as place, ThreadPoolExecutor(1) as pool:
        target = FioTarget(str(place / "target #1"), 2**24)
        make_file(target)
        machine = prepare_fio(LocalRunner(), [target], place / "tried")
        lay_out(machine, target, place / "written", seed=1)
        load = FioLoad(1.0, 0.0, seed=1, rate_per_s=600.0)
        workers, hosts = split_load([target], load, 2 * COUNT), FioAgents(context, window)
        found = measure(replace(machine, hosts=hosts), pattern, workers, place / "run")
        count = found.answers[0].count
        assert count == pytest.approx(600, rel=0.3)
        rows = hosts.make_rows(found.by_host)
        assert [row["agent"] for row in rows] == list(lab.hosts.names)
        assert sum(row["requests"] for row in rows) == count
        assert len(list(place.glob("run/worker-*/fio.json"))) == 2 * COUNT

        workers = split_load([target], replace(load, duration_s=60.0, rate_per_s=None), COUNT)
        machine = replace(machine, hosts=FioAgents(context, window))
        lost = pool.submit(measure, machine, pattern, workers, place / "lost")
        wait_until(lambda: bool(lab.hosts.list_programs(name, "fio")), 30, "its fio has begun")
        lab.hosts.kill(name)
        wait_until(lambda: not lab.hosts.list_programs(name, "fio"), 20, "its fio has ended")
        assert f"agent {name}: " in str(lost.exception(60))
        assert not any(lab.hosts.list_programs(each, "fio") for each in lab.hosts.names)
        lab.hosts.begin(name)
        lab.hosts.wait_until_joined()
