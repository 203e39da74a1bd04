"""A run whose users agents drive: one result as from one hammer, and nobody missing in silence."""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.agents import FakeAgents
from fakes.hammer import FakeHammer
from stithy.activities.hammer.declared import AGENTS
from stithy.activities.hammer.judge import (
    AGENT_CLOCK,
    AGENT_START,
    find_agent_clock,
    find_agent_start,
)
from stithy.activities.hammer.report import list_agents
from stithy.agents import serving, window
from stithy.agents.link import ClockOffset
from stithy.agents.orders import UsersOrder
from stithy.agents.window import AgentsDriven, drive_window, retry_lost
from stithy.analysis.checks.windows import NO_NUMBERS
from stithy.errors import InfrastructureError, PreconditionError
from stithy.report.context import make_context
from stithy.report.sections.answer import list_cautions
from stithy.results.files import read_rows, read_run
from stithy.run.agents import recall_site
from stithy.run.events import Note
from stithy.run.executor import execute
from stithy.secrets import Secret
from stithy.wire.hammer import ProgressWatch
from support.faked_run import FakedRun

pytestmark = pytest.mark.usefixtures("own_state")
NAMES = ("host-a", "host-b", "host-c")


def _faked(root: Path, keys: Mapping[str, str] | None = None, **how: Any) -> FakedRun:
    root.mkdir()
    hammer = FakeHammer()
    agents = FakeAgents(hammer, NAMES, **how)
    load = {"agents": "[host-a, host-b, host-c]", **(keys or {})}
    return FakedRun(root, users=(6,), hammer=hammer, load=load, agents=agents)


def test_agents_do_together_what_one_host_does(tmp_path: Path) -> None:
    """Each with its share of the same users; the row of each stands beside.

    A resumed run finds them where they met: a default scheduler may have agents of the same names.
    """
    faked = _faked(tmp_path / "a")
    assert execute(faked.start(), faked.deciders).end == "finished"
    shares = [(run.users, run.share.number, run.share.of) for run in faked.hammer.runs[:3]]
    assert shares == [(6, 0, 3), (6, 1, 3), (6, 2, 3)]
    assert faked.hammer.calibrated == []
    run = read_run(faked.out)
    assert run.window["agents"][0] == "host-a, host-b, host-c"
    assert run.window["gap_s"][0] == pytest.approx(0.1)
    assert run.window["gap_within_s"][0] == pytest.approx(0.001)
    assert run.seconds["committed"][0] == 3 * 10 * 5
    folder = faked.out / "windows" / run.window["window_id"][0]
    rows = read_rows(folder / "agents.parquet", AGENTS)
    assert [row["agent"] for row in rows] == list(NAMES)
    assert {row["clock_ahead_s"] for row in rows} == {0.001}
    fences = faked.agents.fences if isinstance(faked.agents, FakeAgents) else []
    assert len(set(fences)) == len(fences) == 2
    assert recall_site(faked.out) == ("tcp://127.0.0.1:1", None)
    assert recall_site(tmp_path) == (None, None)


class _LosingLink:
    """Some agent is not there the first `lost` times that it is asked for, a second each."""

    def __init__(self, lost: int) -> None:
        self.lost, self.asked, self.clock = lost, 0, self

    def monotonic_s(self) -> float:
        return float(self.asked)

    async def find(self, names: tuple[str, ...] | None) -> list[str]:
        self.asked += 1
        if self.asked <= self.lost:
            raise PreconditionError("not joined: host-b", where="load.agents", remedy="start it")
        return [*(names or ())]

    async def list_addresses(self) -> dict[str, str]:
        return {"host-a": "tcp://a", "host-c": "tcp://c"}


@pytest.mark.parametrize(("lost", "returns"), [(0, True), (100, True), (125, False)])
def test_a_window_waits_for_an_agent_that_was_lost(
    lost: int, returns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two minutes; whoever watches is told once for whom."""
    monkeypatch.setattr(window, "RENEW_S", 0.0)
    told: list[Any] = []
    request: Any = None
    order = UsersOrder(NAMES, "run/w", ProgressWatch(on_message=told.append), Secret("url"),
                       request, request)  # fmt: skip
    link: Any = _LosingLink(lost)
    if returns:
        found = retry_lost(lambda: link.find(order.names), link.clock, order.watch)
        assert [str(of) for of in asyncio.run(found)] == [*NAMES]
    else:
        driven = asyncio.run(drive_window(link, order))
        assert [of.missing_because for of in driven.agents] == [None, "not joined", None]
        assert driven.explain_missing() == "agent host-b: not joined"
    assert len(told) == (lost > 0)
    assert all("not joined: host-b" in of.text and "120 s" in of.text for of in told)


def test_a_missing_agent_is_named_and_the_window_has_no_numbers(tmp_path: Path) -> None:
    """What the others did is not taken for the whole."""
    faked = _faked(tmp_path / "a", lost={"host-b": "it did not answer for 5 s"})
    execute(faked.start(), faked.deciders)
    run = read_run(faked.out)
    assert not any(run.window["complete"])
    assert "agent host-b: it did not answer" in run.window["missing_because"][0]
    folder = faked.out / "windows" / run.window["window_id"][0]
    rows = read_rows(folder / "agents.parquet", AGENTS)
    assert [row["missing_because"] for row in rows] == [None, "it did not answer for 5 s", None]
    context, count = make_context(run), len(run.window)
    counts = [(row["windows"], row["missing"]) for row in list_agents(context)]
    assert counts == [(count, 0), (count, count), (count, 0)]
    (said,) = [text for text in list_cautions(context) if "host-" in text]
    assert f"host-b was missing in {count} of" in said
    assert NO_NUMBERS in [of.flag for of in context.evidence.windows[0].reasons]


class _UnfitAgents(FakeAgents):
    def drive(self, *order: Any, **named: Any) -> AgentsDriven:
        raise PreconditionError("clocks are off", where="load.agents", remedy="set them")


def test_a_window_that_agents_could_not_begin_is_counted(tmp_path: Path) -> None:
    """Nobody was missing there."""
    agents = _UnfitAgents(FakeHammer(), NAMES)
    agents.hosts = {"host-a": "vm-1"}
    faked = replace(_faked(tmp_path / "a"), agents=agents)
    execute(faked.start(), faked.deciders)
    run = read_run(faked.out)
    rows = list_agents(make_context(run))
    assert [row["host"] for row in rows] == ["vm-1", None, None]
    assert {row["windows"] for row in rows} == {len(run.window)}
    assert {row["missing"] for row in rows} == {0}


@pytest.mark.parametrize("lost", [{}, {"host-b": "its process ended"}], ids=["whole", "lost"])
def test_a_ledger_is_compared_where_all_agents_gave_theirs(
    tmp_path: Path, lost: Mapping[str, str]
) -> None:
    """What a lost agent had acknowledged is not known, and the window says why."""
    faked = _faked(tmp_path / "a", {"ledger": "true"}, lost=lost)
    execute(faked.start(), faked.deciders)
    because = read_run(faked.out).window["ledger_unverified_because"][0]
    assert bool(faked.hammer.verified) == (not lost)
    assert because == ("agent host-b: its process ended" if lost else None)


def test_a_ledger_is_handed_over_until_the_run_has_all(tmp_path: Path) -> None:
    """Bit by bit as the lease is renewed; one that nobody takes is the agent's failure."""
    ledger, load = tmp_path / "ledger", serving.LoadUnderWay()
    ledger.write_bytes(b"ledger" * 400_000)
    work = threading.Thread(target=load.hand_over, args=(ledger,))
    work.start()
    taken = b""
    while work.is_alive():
        taken += load.renew(0, len(taken)).piece
    assert taken == ledger.read_bytes()
    with pytest.raises(InfrastructureError, match="did not take its ledger"):
        serving.LoadUnderWay().hand_over(ledger, 0.05)


def test_a_pause_that_clocks_leave_open_is_not_known(tmp_path: Path) -> None:
    """A tenth of a second is what a person notices."""
    faked = _faked(tmp_path / "a", clocks=(ClockOffset(0.0, 0.001), ClockOffset(0.06, 0.001)))
    execute(faked.start(), faked.deciders)
    row = read_run(faked.out).window.to_dicts()[0]
    assert (row["gap_s"], row["gap_from_s"]) == (None, None)
    assert row["gap_within_s"] == pytest.approx(0.122)


def test_a_clock_that_moved_and_a_late_start_make_a_window_invalid(tmp_path: Path) -> None:
    """Half a minute of NTP's own slew is far less."""
    far = (ClockOffset(0.001, 0.0002), ClockOffset(0.009, 0.0004))
    faked = _faked(tmp_path / "a", clocks=far)
    execute(faked.start(), faked.deciders)
    row = read_run(faked.out).window.to_dicts()[0]
    moved = find_agent_clock(row)
    assert moved is not None
    assert moved.flag is AGENT_CLOCK
    late = find_agent_start({**row, "agent_start_late_s": 0.06})
    assert late is not None
    assert late.flag is AGENT_START
    assert find_agent_start(row) is None


def test_a_resumed_run_says_which_agents_it_could_not_reach(tmp_path: Path) -> None:
    """A session that was killed may have left load at them; without its lease that ends anyway."""
    faked = _faked(tmp_path / "a")
    faked.start()
    assert faked.resume().end == "finished"
    told = [event.text for event in faked.events if isinstance(event, Note)]
    (unreached,) = [text for text in told if "agents" in text]
    assert "not reached: host-a, host-b, host-c (tcp://127.0.0.1:1: no" in unreached
    assert unreached.endswith("their load ends within 5 s")
