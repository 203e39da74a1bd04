"""A window driven by agents: ordered, started together, watched, collected.

Dask carries orders and answers, never load. While an agent's load goes on the run renews its lease;
an agent that does not answer for as long as a lease lasts is lost, and all others are ended. What
they hand over, such as ledgers, is taken bit by bit with the leases, and made one where none is
missing. What the load is, a kind of order says.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from stithy.agents import serving
from stithy.agents.command_job import CommandEnd
from stithy.agents.link import (
    NOT_JOINED,
    ClockOffset,
    ClockSample,
    Link,
    Member,
    estimate_offset,
    refuse_far_clocks,
    refuse_unfit,
)
from stithy.agents.merging import AgentPart, correct_time
from stithy.agents.orders import WindowOrder
from stithy.agents.serving import RENEW_S, AgentAnswer, Renewal
from stithy.clock import Clock
from stithy.errors import InfrastructureError, PreconditionError, convert_machine_failures
from stithy.results.convert import add_second
from stithy.wire.hammer import Driven, ProgressWatch
from stithy.wire.messages import SecondMessage, Warning, parse_message
from stithy.wire.program import Lease

T = TypeVar("T")

RETURN_S = 120.0
"""Own: so long a window waits for a lost agent, which is started again by hand in a minute."""

SILENT_S = 0.4
"""Own: a scheduler that is there answers by then, and a person is told within half a second."""

DRAIN_S = 100.0
"""How long after the end of a window its agents may take: a drain is at most a minute."""


@dataclass
class AgentOutcome:
    """What became of one agent in a window; `missing_because` None: it did its part.

    `clocks`: how far its clock was ahead before, meanwhile and after. `folder`: where its ledger
    lay on its host. `start_late_s`: how long after the common start its fio began. `ended`: what
    became of its command, by its clock.
    """

    name: str
    number: int
    clocks: list[ClockOffset] = field(default_factory=list)
    cpus: int | None = None
    folder: Path | None = None
    driven: Driven | None = None
    start_late_s: float | None = None
    ended: CommandEnd | None = None
    missing_because: str | None = None


@dataclass(frozen=True)
class AgentsDriven:
    """A window by agents; `driven` None: one of them is missing, or there are no users."""

    driven: Driven | None
    agents: tuple[AgentOutcome, ...]

    @property
    def is_complete(self) -> bool:
        """Whether each has done its part."""
        return bool(self.agents) and all(of.missing_because is None for of in self.agents)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where ledgers lay, each on the host of its agent."""
        return tuple(of.folder for of in self.agents if of.folder is not None)

    def explain_missing(self) -> str:
        """Who is missing, and why."""
        lost = [of for of in self.agents if of.missing_because is not None]
        first = [of for of in lost if of.missing_because != ENDED] or lost
        return "; ".join(f"agent {of.name}: {of.missing_because}" for of in first)


ENDED = "it was ended, because another agent was lost"


async def drive_window(link: Link, window: WindowOrder) -> AgentsDriven:
    """Let the users of all agents work together. Raises as `Agents.drive` does."""
    find = partial(link.find, window.names)
    try:
        members = await (retry_lost(find, link.clock, window.watch) if window.waits else find())
    except PreconditionError:
        known, names = await link.list_addresses(), window.names
        if not (away := dict.fromkeys(set(names) - set(known), NOT_JOINED)):
            raise
        asked = (AgentOutcome(of, n, missing_because=away.get(of)) for n, of in enumerate(names))
        return AgentsDriven(None, tuple(asked))
    for member in members:
        refuse_unfit(member)
    before = await link.measure_clocks(members)
    refuse_far_clocks(before)
    start_at_s = link.clock.now_s() + window.estimate_lead_s()
    seconds = _SecondsOfAll(window.watch, len(members))
    tasks = [
        _AgentTask(link, window, seconds, member, number, before[member.name], start_at_s)
        for number, member in enumerate(members)
    ]
    failed = asyncio.Event()
    parts = await asyncio.gather(*(task.control(failed) for task in tasks))
    there = [task for task in tasks if task.outcome.missing_because is None]
    with contextlib.suppress(Exception, asyncio.CancelledError):  # its clock is then not known
        after = await link.measure_clocks([task.member for task in there])
        for task in there:
            task.outcome.clocks.append(after[task.member.name])
    outcomes = tuple(task.outcome for task in tasks)
    complete = [part for part in parts if part is not None]
    files = {task.member.name: file for task in tasks if (file := task.find_file()) is not None}
    driven = window.merge(complete, files) if len(complete) == len(tasks) else None
    for file in files.values():
        file.unlink()
    return AgentsDriven(driven, outcomes)


async def retry_lost(
    attempt: Callable[[], Awaitable[T]], clock: Clock, watch: ProgressWatch, silent: str = ""
) -> T:
    """Repeat what is refused because an agent or the scheduler is away, for two minutes.

    Whoever watches is told the first refusal, or `silent` where nothing is known for that long.
    Raises the last refusal.
    """
    until_s, told = clock.monotonic_s() + RETURN_S, False

    def tell(text: str) -> None:
        nonlocal told
        if not told and watch.on_message is not None:
            text = f"{text} (waiting for up to {RETURN_S:g} s)"
            watch.on_message(Warning(code="agent-lost", text=text))
        told = True

    timer = asyncio.get_running_loop().call_later(SILENT_S, tell, silent) if silent else None
    try:
        while True:
            try:
                return await attempt()
            except PreconditionError as error:
                has_ended = watch.stop is not None and watch.stop.is_set()
                if has_ended or clock.monotonic_s() > until_s:
                    raise
                tell(error.text)
                await asyncio.sleep(RENEW_S)
    finally:
        if timer is not None:
            timer.cancel()


class _SecondsOfAll:
    """Passes a second on when every agent has reported it."""

    def __init__(self, watch: ProgressWatch, agents: int) -> None:
        self._watch, self._agents = watch, agents
        self._heard: dict[int, list[SecondMessage]] = {}

    def add(self, message: SecondMessage) -> None:
        """Add one agent's second."""
        heard = self._heard.setdefault(message.second, [])
        heard.append(message)
        if len(heard) == self._agents and self._watch.on_message is not None:
            self._watch.on_message(add_second(heard[0], heard[1:]))


class _AgentTask:
    """One agent's part of a window, from the order to the answer."""

    def __init__(
        self, link: Link, window: WindowOrder, seconds: _SecondsOfAll, member: Member, number: int,
        clock: ClockOffset, start_at_s: float,
    ) -> None:  # fmt: skip
        self.member = member
        facts = member.facts
        self.outcome = AgentOutcome(member.name, number, [clock], facts.cpus, facts.folder)
        self._file = window.place_file(member.name)
        if self._file is not None:
            self._file.unlink(missing_ok=True)
        self._taken_bytes = 0
        self._link, self._window, self._seconds = link, window, seconds
        self._offset_s = clock.correction_s
        self._order = window.order(number, start_at_s, self._offset_s)
        self._until_s = start_at_s + window.estimate_length_s() + DRAIN_S
        self._heard = 0
        self._samples: list[ClockSample] = []

    def find_file(self) -> Path | None:
        """Find what it has handed over; None where that is nothing."""
        return self._file if self._file is not None and self._file.exists() else None

    async def control(self, failed: asyncio.Event) -> AgentPart | None:
        """Submit it, and renew its lease until it has ended; None where it is missing."""
        client = self._link.client
        future = client.submit(
            serving.drive, self._order, key=f"{self._order.fence}/{self.member.name}",
            workers=[self.member.address], allow_other_workers=False, retries=0, pure=False,
        )  # fmt: skip
        unfinished = None
        try:
            answer = await self._watch(future, failed)
            part = AgentPart(self.member.name, self._offset_s, answer)
            unfinished = answer.because or await asyncio.to_thread(
                self._window.explain_unfinished, part, self.find_file()
            )
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 told as its reason
            unfinished = await self._link.explain(error)
            part = AgentPart(self.member.name, self._offset_s, AgentAnswer(because=unfinished))
            with contextlib.suppress(Exception):  # it may be gone with its scheduler
                await client.cancel([future], force=True)
        self.outcome.driven, self.outcome.start_late_s = part.driven, part.answer.start_late_s
        self.outcome.ended = part.answer.ended
        if unfinished is not None:
            self.outcome.missing_because = ENDED if failed.is_set() else unfinished
            failed.set()
            return None
        if self._samples:
            self.outcome.clocks.append(estimate_offset(self._samples))
        return part

    async def _watch(self, future: Any, failed: asyncio.Event) -> AgentAnswer:
        clock, told = self._link.clock, False
        answer: asyncio.Future[AgentAnswer] = asyncio.ensure_future(future.result())
        answer.add_done_callback(lambda of: of.cancelled() or of.exception())  # it is seen here
        try:
            while not answer.done():
                if clock.now_s() > self._until_s:
                    raise InfrastructureError(
                        "it did not come to its end", where=self.member.name, remedy="see its host"
                    )
                came = await self._renew()
                stop = self._window.watch.stop
                if not told and (failed.is_set() or (stop is not None and stop.is_set())):
                    ask = self._link.ask(self.member.address, serving.end_loads, self._order.fence)
                    told = await ask > 0
                if came:  # who hands over a long file is not late
                    self._until_s = max(self._until_s, clock.now_s() + DRAIN_S)
                else:
                    await asyncio.wait([answer], timeout=RENEW_S)
            return answer.result()
        finally:
            answer.cancel()

    async def _renew(self) -> bool:
        """Renew its lease; returns whether more of its file may follow at once."""
        clock, fence = self._link.clock, self._order.fence
        had = self._heard, self._taken_bytes
        asked_s = clock.now_s()
        renewal: Renewal = await asyncio.wait_for(
            self._link.ask(self.member.address, serving.renew, fence, *had), Lease.TERM_S
        )
        self._samples.append(ClockSample(asked_s, renewal.now_s, clock.now_s()))
        self._heard += len(renewal.messages)
        for text in renewal.messages:
            message = correct_time(parse_message(text), self._offset_s)
            if isinstance(message, SecondMessage):
                self._seconds.add(message)
        if renewal.piece and self._file is not None:
            with convert_machine_failures("what it handed over"), self._file.open("ab") as file:
                file.write(renewal.piece)
            self._taken_bytes += len(renewal.piece)
        return bool(renewal.piece)
