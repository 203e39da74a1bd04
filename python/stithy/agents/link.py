"""A connection to a scheduler, and what a run asks its agents beside their tasks."""

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import stithy
from stithy.agents import serving
from stithy.agents.serving import AgentFacts
from stithy.agents.site import SchedulerSite, read_dask_version
from stithy.clock import Clock
from stithy.errors import PreconditionError, StithyError

CLOCK_SAMPLES, CLOCK_SAMPLES_MAX = 60, 300
CLOCK_WITHIN_S, CLOCK_PAUSE_S = 0.0005, 0.02
"""Own: a clock is asked until it is known so well, or often enough to be certain whether it may be
corrected; a host that is busy for a moment is asked with pauses."""

ANSWER_S, GONE_S = 5.0, 1.0

NOT_JOINED = "not joined"

OFFSET_S_MAX = 0.002
"""Clocks that differ by more are refused: what keeps them in step has failed."""

T = TypeVar("T")


@dataclass(frozen=True)
class ClockSample:
    """A question asked and answered at our times, and the other clock when it was answered."""

    asked_s: float
    read_s: float
    answered_s: float

    @property
    def round_trip_s(self) -> float:
        """How long the question took."""
        return self.answered_s - self.asked_s


@dataclass(frozen=True)
class ClockOffset:
    """The other clock is ahead by `offset_s`, give or take `uncertainty_s`."""

    offset_s: float
    uncertainty_s: float

    @property
    def correction_s(self) -> float:
        """What is taken from its times: nothing where it may be in step, as on one machine."""
        return 0.0 if abs(self.offset_s) <= self.uncertainty_s else self.offset_s

    @property
    def is_far(self) -> bool:
        """Whether it is certainly more than is corrected."""
        return abs(self.offset_s) - self.uncertainty_s > OFFSET_S_MAX

    @property
    def is_near(self) -> bool:
        """Whether it is certainly no more than is corrected."""
        return abs(self.offset_s) + self.uncertainty_s <= OFFSET_S_MAX


def estimate_offset(samples: Iterable[ClockSample]) -> ClockOffset:
    """Estimate the offset by the sample that took least, at least one: it is bounded best.

    Source: David L. Mills, RFC 5905, section 8, of which reading and answering are one moment here.
    """
    best = min(samples, key=lambda sample: sample.round_trip_s)
    middle_s = (best.asked_s + best.answered_s) / 2
    return ClockOffset(best.read_s - middle_s, best.round_trip_s / 2)


def measure_move_s(offsets: Sequence[ClockOffset]) -> float | None:
    """Measure the most by which a clock moved since the first measurement, at least.

    What both measurements may be wrong by is no move. None with fewer than two.
    """
    if len(offsets) < 2:
        return None
    first, *later = offsets
    return max(
        0.0,
        *(
            abs(now.offset_s - first.offset_s) - now.uncertainty_s - first.uncertainty_s
            for now in later
        ),
    )


def bound_error_s(offsets: Sequence[ClockOffset]) -> float:
    """Bound the error of times that are corrected by the first measurement, at least one."""
    first_s = offsets[0].correction_s
    return max(abs(now.offset_s - first_s) + now.uncertainty_s for now in offsets)


@dataclass(frozen=True)
class Member:
    """An agent that is there."""

    name: str
    address: str
    facts: AgentFacts


def refuse_unfit(member: Member) -> None:
    """Raise PreconditionError for other versions, no hammer, or more threads than one."""
    facts = member.facts
    _refuse_version("Stithy", facts.version, stithy.__version__, f"agent {member.name}")
    _refuse_version("distributed", facts.dask, read_dask_version(), f"agent {member.name}")
    if facts.missing is not None:
        remedy = "install Stithy there with its native program"
        raise PreconditionError(facts.missing, where=f"agent {member.name}", remedy=remedy)
    if facts.threads != 1:
        raise PreconditionError(
            f"it has {facts.threads} threads, and might drive so many loads at once",
            where=f"agent {member.name}",
            remedy="give this worker of Dask one: --nthreads 1",
        )


def _refuse_version(package: str, there: str, here: str, where: str) -> None:
    if there != here:
        remedy = f"install the same version of {package} on every host, and start it again"
        raise PreconditionError(
            f"it is of {package} {there}, this is {here}", where=where, remedy=remedy
        )


@dataclass(frozen=True)
class AgentTest:
    """Whether an agent may drive a study; `clock` None: it was not asked, because of `error`."""

    name: str
    clock: ClockOffset | None
    error: PreconditionError | None

    def describe(self) -> dict[str, object]:
        """Say it for programs."""
        clock = vars(self.clock) if self.clock else {"offset_s": None, "uncertainty_s": None}
        return {**clock, "problem": self.error and self.error.problem}


@asynccontextmanager
async def connect(site: SchedulerSite, clock: Clock) -> AsyncIterator["Link"]:
    """Inside, a scheduler can be spoken with. Raises PreconditionError where there is none."""
    from distributed import Client
    from distributed.comm.core import CommClosedError
    from distributed.versions import VersionMismatchWarning

    client = Client(
        site.address, security=site.security, asynchronous=True, set_as_default=False,
        direct_to_workers=False, timeout=ANSWER_S,
    )  # fmt: skip
    try:
        try:
            with warnings.catch_warnings(action="ignore", category=VersionMismatchWarning):
                await asyncio.wait_for(client, 2 * ANSWER_S)  # another version is refused by name
        except (CommClosedError, TimeoutError, ValueError, TypeError) as error:
            problem = "what listens there wants another certificate, or none, or is no scheduler"
            remedy = "give the scheduler, agents and runs the same --tls FILE, or none"
            raise PreconditionError(problem, where=site.address, remedy=remedy) from error
        except OSError as error:
            problem = "no scheduler answers there"
            remedy = "start one: stithy agents serve; or name its address with --scheduler"
            raise PreconditionError(problem, where=site.address, remedy=remedy) from error
        yield Link(client, clock, site.address)
    finally:
        with contextlib.suppress(Exception):  # it is gone, and nothing depends on a farewell
            await client.close(timeout=ANSWER_S)


class Link:
    """A connection to a scheduler."""

    def __init__(self, client: Any, clock: Clock, address: str) -> None:
        self.client, self.clock, self.address = client, clock, address

    async def find(self, names: Sequence[str] | None) -> list[Member]:
        """Find agents by name, all of them without names.

        Raises PreconditionError, also for a scheduler of another version: Dask's client only warns.
        """
        versions = await self._ask_scheduler(lambda scheduler: scheduler.versions())
        dask = versions["packages"]["distributed"]
        _refuse_version("distributed", dask, read_dask_version(), f"scheduler {self.address}")
        members = []
        for found in (await self.describe(names)).values():
            if isinstance(found, PreconditionError):
                raise found
            members.append(found)
        return members

    async def describe(self, names: Sequence[str] | None) -> dict[str, Member | PreconditionError]:
        """Let agents describe themselves, all of them without names; why one does not, by name."""

        async def ask(name: str, address: str) -> Member | PreconditionError:
            try:
                return Member(name, address, await self._consult(name, address, serving.describe))
            except PreconditionError as error:
                return error

        known = await self._locate(names)
        found = await asyncio.gather(*(ask(*agent) for agent in known.items()))
        return dict(zip(known, found, strict=True))

    async def consult(self, names: Sequence[str], function: Callable[[], T]) -> dict[str, T]:
        """Ask agents one thing, by name."""
        known = await self._locate(names)
        asked = (self._consult(*agent, function) for agent in known.items())
        return dict(zip(known, await asyncio.gather(*asked), strict=True))

    async def _locate(self, names: Sequence[str] | None, remedy: str = "") -> dict[str, str]:
        known = await self.list_addresses()
        if missing := [name for name in names or () if name not in known]:
            there = f"; there are {', '.join(sorted(known))}" if known else "; there is none"
            tls = " --tls FILE" if self.address.startswith("tls://") else ""
            begin = f"start it on its host: stithy agent {self.address} --name {missing[0]}{tls}"
            problem = f"{NOT_JOINED}: {', '.join(missing)}{there}"
            raise PreconditionError(problem, where=self.address, remedy=remedy or begin)
        return {name: known[name] for name in names or sorted(known)}

    async def list_addresses(self) -> dict[str, str]:
        """List where agents are, by name."""
        identity = await self._ask_scheduler(lambda scheduler: scheduler.identity())
        return {str(of["name"]): address for address, of in identity["workers"].items()}

    async def _ask_scheduler(self, ask: Callable[[Any], Awaitable[T]]) -> T:
        try:
            return await ask(self.client.scheduler)
        except (OSError, AttributeError) as error:  # a client that was closed has no scheduler
            remedy = "start it again: agents join it by themselves"
            raise PreconditionError("it is gone", where=self.address, remedy=remedy) from error

    async def end_loads(self, names: Sequence[str], fence: str) -> dict[str, str]:
        """End the load of every fence that begins so; returns who was not reached, and why."""
        known = await self.list_addresses()

        async def end(name: str) -> str | None:
            if name not in known:
                return NOT_JOINED
            try:
                await self.ask(known[name], serving.end_loads, fence)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 told as its reason
                return await self.explain(error)
            return None

        found = zip(names, await asyncio.gather(*map(end, names)), strict=True)
        return {name: because for name, because in found if because is not None}

    async def _consult(self, name: str, address: str, function: Callable[[], T]) -> T:
        try:
            return await self.ask(address, function)
        except (Exception, asyncio.CancelledError) as error:
            problem = f"it does not answer as an agent: {await self.explain(error)}"
            remedy = "start it again, with this version of Stithy"
            raise PreconditionError(problem, where=f"agent {name}", remedy=remedy) from error

    async def explain(self, error: BaseException) -> str:
        """Say why an agent was not heard; what is gone may be the scheduler."""
        if isinstance(error, StithyError):
            return error.text
        try:
            await asyncio.wait_for(self.client.scheduler.identity(n_workers=0), GONE_S)
        except (Exception, asyncio.CancelledError):  # noqa: BLE001 whatever it is, none answers
            return f"the scheduler at {self.address} is gone"
        if isinstance(error, TimeoutError):
            return f"it did not answer for {ANSWER_S:g} s"
        if isinstance(error, OSError):
            return "the scheduler no longer reaches it"
        name = type(error).__name__  # of Dask, whose texts are for its programmers
        known = {
            "KilledWorker": "its process ended",
            "FutureCancelledError": "the scheduler was gone for a while",
        }
        return known.get(name, f"Dask has lost it ({name})")

    async def ask(self, address: str, function: Callable[..., T], *arguments: Any) -> T:
        """Ask one agent, beside its task. Raises TimeoutError, or what Dask raises."""
        asked = self.client.run(function, *arguments, workers=[address])
        answers: Mapping[str, T] = await asyncio.wait_for(asked, ANSWER_S)
        return answers[address]

    async def test(self, names: Sequence[str]) -> list[AgentTest]:
        """Test each as a run does, whatever the others are; without names all of them."""
        tests = []
        for name in names or sorted(await self.list_addresses()):
            clocks: dict[str, ClockOffset] = {}
            error = None
            try:
                members = await self.find([name])
                refuse_unfit(members[0])
                clocks = await self.measure_clocks(members)
                refuse_far_clocks(clocks)
            except PreconditionError as refusal:
                error = refusal
            tests.append(AgentTest(name, clocks.get(name), error))
        return tests

    async def measure_clocks(self, members: Sequence[Member]) -> dict[str, ClockOffset]:
        """One agent after the other: they would delay each other's answers."""
        found = {}
        for member in members:
            samples: list[ClockSample] = []
            while len(samples) < CLOCK_SAMPLES_MAX:
                asked_s = self.clock.now_s()
                read_s = await self._consult(member.name, member.address, serving.read_clock)
                samples.append(ClockSample(asked_s, read_s, self.clock.now_s()))
                offset = found[member.name] = estimate_offset(samples)
                if offset.uncertainty_s <= CLOCK_WITHIN_S:
                    break
                if len(samples) >= CLOCK_SAMPLES:
                    if offset.is_near or offset.is_far:
                        break
                    await asyncio.sleep(CLOCK_PAUSE_S)
        return found

    async def remove(self, names: Sequence[str]) -> None:
        """Ask agents to leave, all of them or none."""
        known = await self._locate(names, "leave it out; none was ended")
        for agent in known.items():
            await self._consult(*agent, serving.leave)


def refuse_far_clocks(offsets: Mapping[str, ClockOffset]) -> None:
    """Raise PreconditionError where clocks are not in step, or nobody can be certain of it."""
    unsure = {name: of for name, of in offsets.items() if not of.is_near}
    if not unsure:
        return
    shown = ", ".join(
        f"that of {name} by {1000 * of.offset_s:+.1f} ms, within {1000 * of.uncertainty_s:.1f} ms"
        for name, of in unsure.items()
    )
    is_far = any(of.is_far for of in unsure.values())
    raise PreconditionError(
        f"clocks {'are' if is_far else 'may be'} off: {shown}; at most {1000 * OFFSET_S_MAX:g} ms "
        "are corrected",
        where="agents",
        remedy="keep all hosts in step by NTP or PTP (chronyc tracking)"
        if is_far
        else "put agents nearer, or leave their hosts idle: answers take too long to tell",
    )
