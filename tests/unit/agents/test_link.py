"""How agents are found and asked: their site, their clocks, and who does not answer."""

import asyncio
import gc
import json
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Scheduler, Worker

from fakes.agents import FakeLink
from stithy.agents import serving
from stithy.agents.coordinator import Agents
from stithy.agents.link import (
    ClockOffset,
    ClockSample,
    bound_error_s,
    estimate_offset,
    measure_move_s,
    refuse_far_clocks,
)
from stithy.agents.service import LOOPBACK, join, serve_scheduler
from stithy.agents.site import SchedulerSite, find_site, use_settings
from stithy.cli.agents.list import list_agents
from stithy.errors import Exit, InfrastructureError, PreconditionError, UserError
from stithy.hosts.links import find_free_port
from stithy.secrets import Secret
from stithy.wire.hammer import ProgressWatch
from support.agent_hosts import make_certificate

FACTS = replace(serving.describe(), missing=None)


def test_each_agent_is_tested_whatever_the_others_are_and_all_are_removed_or_none() -> None:
    """One that is not fit hides none of the others, and a misspelt name ends nobody."""
    link = FakeLink({"a": FACTS, "b": replace(FACTS, threads=2), "c": OSError()})
    tests = asyncio.run(link.test(["a", "b", "c", "q"]))
    assert [test.name for test in tests if test.clock] == ["a"]
    problems = [str(test.error) for test in tests if test.error]
    parts = ("b: it has 2 threads", "c: it does not answer", "not joined: q; there are a, b, c")
    assert all(part in problem for part, problem in zip(parts, problems, strict=True))
    with pytest.raises(PreconditionError, match="there:1: not joined: q; there are a, b, c: leave"):
        asyncio.run(link.remove(["a", "q"]))
    assert link.ended == []
    asyncio.run(link.remove(["a"]))
    assert link.ended == ["a"]
    link.address = "tls://there:1"
    with pytest.raises(PreconditionError, match="stithy agent tls://there:1 --name q --tls FILE"):
        asyncio.run(link.find(["q"]))
    link.dask = "2025.1.0"
    with pytest.raises(PreconditionError, match=f"of distributed 2025.1.0, this is {FACTS.dask}"):
        asyncio.run(link.find(["a"]))
    link.client.scheduler = None
    assert asyncio.run(link.explain(OSError())) == "the scheduler at tls://there:1 is gone"


def test_agents_are_listed_beside_one_that_does_not_describe_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is named with its reason, and a run that needs it is refused."""
    link = FakeLink({"a": FACTS, "c": ModuleNotFoundError("stithy")})
    with pytest.raises(PreconditionError, match="agent c: it does not answer as an agent: Dask"):
        asyncio.run(link.find(None))
    monkeypatch.setattr(Agents, "list_all", lambda agents: asyncio.run(link.describe(None)))
    with pytest.raises(PreconditionError, match="agent c: it does not answer .*ModuleNotFound"):
        list_agents()
    [_, first, second] = capsys.readouterr().out.splitlines()
    assert first.split()[:3] == ["a", FACTS.host, str(FACTS.cpus)]
    assert second.split() == ["c", *"-----"]
    assert list_agents(json=True) is Exit.PRECONDITION
    [there, gone] = json.loads(capsys.readouterr().out)
    assert (there["name"], there["cpus"], there["problem"]) == ("a", FACTS.cpus, None)
    assert (gone["name"], "ModuleNotFound" in gone["problem"]) == ("c", True)


def test_a_window_waits_for_a_scheduler_that_is_down() -> None:
    """Whoever watches is told before it is there again; then agents are waited for."""
    site = SchedulerSite(f"tcp://127.0.0.1:{find_free_port('127.0.0.1')}")
    is_told, stop, over = threading.Event(), threading.Event(), threading.Event()
    told: list[str] = []

    async def serve() -> None:
        assert is_told.wait(60)
        how: Any = {"dashboard": False, "dashboard_address": LOOPBACK}
        async with Scheduler(host="127.0.0.1", port=site.port, **how):
            while not over.is_set():
                await asyncio.sleep(0.01)

    def hear(message: Any) -> None:
        told.append(message.text)
        (stop if is_told.is_set() else is_told).set()

    thread, unused = threading.Thread(target=lambda: asyncio.run(serve())), Secret("")
    thread.start()
    try:
        order: Any = None
        watch = ProgressWatch(on_message=hear, stop=stop)
        driven = Agents(site, ["a"]).drive("run/w", unused, order, order, watch)
    finally:
        over.set()
        thread.join()
    assert driven.explain_missing() == "agent a: not joined"
    assert told[0] == f"no scheduler answers at {site.address} (waiting for up to 120 s)"
    assert "not joined: a; there is none" in told[1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_listens_there_and_is_no_scheduler_is_said() -> None:
    """So ends a refused certificate, too. Tornado leaves the socket open that it cannot bind."""

    def hang_up(server: socket.socket) -> None:
        with server.accept()[0] as connection:
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as server:
        site = SchedulerSite(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(InfrastructureError, match="there: address already in use"):
            serve_scheduler(site, print)
        threading.Thread(target=hang_up, args=(server,)).start()
        with pytest.raises(PreconditionError, match="wants another certificate, or none"):
            Agents(site, ()).list_all()
    gc.collect()


def test_idle_processes_wake_at_most_twice_a_second() -> None:
    """Dozens may share a machine with the load; Dask itself lets a heartbeat be as frequent."""
    how: Any = {"dashboard": False, "dashboard_address": LOOPBACK}

    async def list_periods_ms() -> list[float]:
        async with (
            Scheduler(host="127.0.0.1", port=0, **how) as scheduler,
            Worker(scheduler.address, nthreads=1, memory_limit=0, **how) as worker,
        ):
            assert "stealing" not in scheduler.periodic_callbacks
            return [of.callback_time for of in worker.periodic_callbacks.values()]

    with use_settings():
        assert min(asyncio.run(list_periods_ms())) >= 500


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_agent_whose_name_or_port_is_taken_says_so() -> None:
    """It would wait in silence for the end of the other."""

    async def join_beside(name: str) -> str | None:
        how = {"dashboard": False, "dashboard_address": LOOPBACK}
        async with (
            Scheduler(host="127.0.0.1", port=0, **how) as scheduler,
            Worker(scheduler.address, name="a", nthreads=1, port=taken, **how),
        ):
            return await join(SchedulerSite(scheduler.address), name, print, port)

    taken, port = find_free_port("127.0.0.1"), 0
    with use_settings():
        assert asyncio.run(join_beside("a")) == "the scheduler has another agent a"
        port = taken
        because = f"it cannot listen at port {taken}: address already in use"
        assert asyncio.run(join_beside("b")) == because
    gc.collect()


def test_a_site_is_an_address_with_a_scheme(tmp_path: Path) -> None:
    """Loopback needs no certificate; with one every address does."""
    pem = make_certificate(tmp_path)
    assert find_site("localhost:1", None).address == "tcp://localhost:1"
    far = find_site("10.0.0.1:8786", pem)
    assert (far.address, far.host, far.port) == ("tls://10.0.0.1:8786", "10.0.0.1", 8786)
    assert find_site("[::1]:9", None).host == "::1"


@pytest.mark.parametrize(
    ("address", "because"),
    [
        ("10.0.0.1:8786", "asks nobody for a certificate"),
        ("0.0.0.0:8786", "asks nobody for a certificate"),
        ("tcp://lab:8786", "asks nobody for a certificate"),
        ("lab", "not the address"),
        ("http://lab:1", "not the address"),
    ],
)
def test_what_anybody_could_reach_is_refused(address: str, because: str) -> None:
    """Whoever reaches a scheduler may start programs, and passwords travel by it."""
    with pytest.raises(UserError, match=because):
        find_site(address, None)


def test_others_may_not_read_the_key_and_it_is_there(tmp_path: Path) -> None:
    """As of password files; OpenSSL names no file, and says that its library failed."""
    make_certificate(tmp_path)
    for end, because in (("pem", "read this key"), ("crt", "no private key"), ("key", "no cert")):
        path = tmp_path / f"agents.{end}"
        path.chmod(0o644 if end == "pem" else 0o600)
        with pytest.raises(UserError, match=because):
            find_site("10.0.0.1:8786", path)


def test_the_quickest_answer_says_most() -> None:
    """A slow way there shifts the others; half of its time bounds the error."""
    slow = [ClockSample(10.0, 10.050 + 0.001, 10.052), ClockSample(11.0, 11.030, 11.031)]
    found = estimate_offset([*slow, ClockSample(12.0, 12.0015, 12.001)])
    assert found.offset_s == pytest.approx(0.001)
    assert found.uncertainty_s == pytest.approx(0.0005)


def test_what_the_measurement_may_be_wrong_by_is_no_move() -> None:
    """A clock has moved only by what is beyond both uncertainties; one measurement shows none."""
    first = ClockOffset(0.001, 0.0002)
    assert measure_move_s([first]) is None
    assert measure_move_s([first, ClockOffset(0.0015, 0.0004)]) == 0.0
    moved = measure_move_s([first, ClockOffset(0.0015, 0.0004), ClockOffset(-0.004, 0.0003)])
    assert moved == pytest.approx(0.0045)


def test_a_clock_that_may_be_in_step_is_not_corrected() -> None:
    """What was measured is then within the error of the measurement, as on one machine."""
    assert ClockOffset(-0.0004, 0.0004).correction_s == 0.0
    assert ClockOffset(-0.0005, 0.0004).correction_s == -0.0005
    later = ClockOffset(0.0002, 0.0003)
    assert bound_error_s([ClockOffset(-0.0001, 0.0002), later]) == pytest.approx(0.0005)
    assert bound_error_s([ClockOffset(-0.001, 0.0002), later]) == pytest.approx(0.0015)


@pytest.mark.parametrize(
    ("offset", "because"),
    [
        (ClockOffset(-0.003, 0.0005), r"are off: that of b by -3\.0 ms"),
        (ClockOffset(0.0015, 0.001), "may be off: that of b"),
        (ClockOffset(0.0043, 0.005), "may be off: that of b"),
    ],
)
def test_clocks_out_of_step_are_refused(offset: ClockOffset, because: str) -> None:
    """More than 2 ms either way, by name, and what nobody can be certain of; less is corrected."""
    near = ClockOffset(0.0014, 0.0005)
    refuse_far_clocks({"a": near})
    with pytest.raises(PreconditionError, match=because):
        refuse_far_clocks({"a": near, "b": offset})
