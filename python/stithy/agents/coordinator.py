"""The agents of a run, as its steps know them: found, compared with our clock, and set to work."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from copy import copy
from pathlib import Path
from typing import Self, TypeVar

from stithy.agents.link import AgentTest, ClockOffset, Link, Member, connect, refuse_unfit
from stithy.agents.orders import UsersOrder, WindowOrder
from stithy.agents.site import SchedulerSite, require_dask, use_settings
from stithy.agents.window import AgentsDriven, drive_window, retry_lost
from stithy.clock import Clock, SystemClock
from stithy.errors import PreconditionError, StithyError
from stithy.secrets import Secret
from stithy.wire.hammer import ProgressWatch
from stithy.wire.jobs import RunRequest, WorkloadChoice

T = TypeVar("T")


class Agents:
    """The agents of a run, by name; a window has a connection of its own."""

    def __init__(
        self, site: SchedulerSite, names: Sequence[str], clock: Clock | None = None
    ) -> None:
        self.site, self.names = site, tuple(names)
        self._clock = clock or SystemClock()
        self.hosts: dict[str, str] = {}

    def select(self, names: Sequence[str]) -> Self:
        """Give these of them."""
        selected = copy(self)
        selected.names = tuple(names)
        return selected

    def find(self) -> list[Member]:
        """Find all of them. Raises PreconditionError for what is missing or does not fit."""
        members = self._run(lambda link: link.find(self.names))
        for member in members:
            refuse_unfit(member)
        self.hosts = {member.name: member.facts.host for member in members}
        return members

    def list_all(self) -> dict[str, Member | PreconditionError]:
        """List every agent of the scheduler by name, or why it does not describe itself.

        Raises PreconditionError without a scheduler.
        """
        return self._run(lambda link: link.describe(None))

    def test(self) -> list[AgentTest]:
        """Test each as a run does, without names every agent of the scheduler."""
        return self._run(lambda link: link.test(self.names))

    def measure_clocks(self, members: Sequence[Member]) -> dict[str, ClockOffset]:
        """Measure how far the clocks of agents are ahead."""
        return self._run(lambda link: link.measure_clocks(members))

    def list_facts(self) -> dict[str, str]:
        """List what `end_loads` finds them by."""
        tls = {"tls": str(self.site.tls.absolute())} if self.site.tls else {}
        return {"scheduler": self.site.address, **tls, "names": " ".join(self.names)}

    def end_loads(self, fence: str) -> dict[str, str]:
        """End the load of every fence that begins so; returns who was not reached, and why."""
        try:
            require_dask()
            return self._run(lambda link: link.end_loads(self.names, fence))
        except StithyError as error:
            return dict.fromkeys(self.names, error.text)

    def remove(self) -> None:
        """Let all of them end. Raises PreconditionError, and ends none, where one is not there."""
        self._run(lambda link: link.remove(self.names))

    def drive(
        self,
        fence: str,
        url: Secret,
        workload: WorkloadChoice,
        request: RunRequest,
        watch: ProgressWatch,
    ) -> AgentsDriven:
        """Let the users of all agents work together, and write what they did as if by one hammer.

        Waits for a scheduler or an agent that was lost. Raises PreconditionError where one does not
        return or fit, or its clock is too far off.
        """
        return self.run_order(UsersOrder(self.names, fence, watch, url, workload, request))

    def run_order(self, order: WindowOrder) -> AgentsDriven:
        """Let all agents do together what is ordered. Raises as `drive` does."""
        watch = order.watch if order.waits else None
        return self._run(lambda link: drive_window(link, order), watch)

    def await_all(self, watch: ProgressWatch) -> None:
        """Wait for those that were lost, or the scheduler. Raises as `drive` does."""

        async def wait(link: Link) -> None:
            await retry_lost(lambda: link.find(self.names), self._clock, watch)

        self._run(wait, watch)

    def consult(self, function: Callable[[], T]) -> dict[str, T]:
        """Ask each beside its task. Raises PreconditionError for one that does not answer."""
        return self._run(lambda link: link.consult(self.names, function))

    def _run(self, do: Callable[[Link], Awaitable[T]], watch: ProgressWatch | None = None) -> T:
        async def run() -> T:
            async with AsyncExitStack() as stack:

                async def open_link() -> Link:
                    return await stack.enter_async_context(connect(self.site, self._clock))

                if watch is None:
                    return await do(await open_link())
                silent = f"no scheduler answers at {self.site.address}"
                return await do(await retry_lost(open_link, self._clock, watch, silent))

        with use_settings():
            return asyncio.run(run())


def end_loads(facts: Mapping[str, str], run_id: str) -> str | None:
    """End what agents still drive for a run; says who was not reached, None where all were."""
    site = SchedulerSite(facts["scheduler"], Path(facts["tls"]) if "tls" in facts else None)
    lost = Agents(site, facts["names"].split()).end_loads(f"{run_id}/")
    whys = "; ".join(dict.fromkeys(lost.values()))
    return (
        f"not reached: {', '.join(lost)} ({whys}); without a lease their load ends within 5 s"
        if lost
        else None
    )
