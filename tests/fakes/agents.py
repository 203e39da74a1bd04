"""Agents of whom none has a host: fake hammers drive their parts, and fio here runs theirs."""

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from fakes.hammer import FakeHammer
from stithy.agents import serving
from stithy.agents.command_job import CommandJob, run_command
from stithy.agents.coordinator import Agents
from stithy.agents.fio_job import FioJob, run_fio
from stithy.agents.link import ClockOffset, Link
from stithy.agents.merging import merge_driven
from stithy.agents.orders import WindowOrder
from stithy.agents.serving import AgentFacts
from stithy.agents.site import SchedulerSite, read_dask_version
from stithy.agents.window import AgentOutcome, AgentsDriven
from stithy.clock import SystemClock
from stithy.secrets import Secret
from stithy.wire.hammer import Driven, ProgressWatch
from stithy.wire.jobs import RunRequest, UserShare, WorkloadChoice
from stithy.wire.program import Lease

T = TypeVar("T")

STEADY = (ClockOffset(0.001, 0.0002), ClockOffset(0.0011, 0.0004))


class FakeAgents(Agents):
    """Each agent has a hammer; `lost` says why one of that name is missing in every window."""

    def __init__(
        self,
        hammer: FakeHammer,
        names: Sequence[str],
        lost: Mapping[str, str] | None = None,
        clocks: Sequence[ClockOffset] = STEADY,
    ) -> None:
        super().__init__(SchedulerSite("tcp://127.0.0.1:1"), names)
        self.hammer, self.lost, self.clocks = hammer, lost or {}, list(clocks)
        self.fences: list[str] = []

    def drive(
        self,
        fence: str,
        url: Secret,
        workload: WorkloadChoice,
        request: RunRequest,
        watch: ProgressWatch,
    ) -> AgentsDriven:
        """All at once, each with its share."""
        self.fences.append(fence)
        parts: list[Driven] = []
        outcomes = []
        for number, name in enumerate(self.names):
            outcome = AgentOutcome(
                name, number, self.clocks, 2, missing_because=self.lost.get(name)
            )
            outcomes.append(outcome)
            if outcome.missing_because is None:
                share = UserShare(number=number, of=len(self.names))
                ledger = None if self.lost else request.ledger
                own = request.model_copy(update={"share": share, "ledger": ledger})
                outcome.driven = self.hammer.run(workload, own)
                parts.append(outcome.driven)
        return AgentsDriven(None if self.lost else merge_driven(parts), tuple(outcomes))

    def run_order(self, order: WindowOrder) -> AgentsDriven:
        """One after the other, each in a folder of its own; nothing where one is missing."""
        self.fences.append(order.fence)
        outcomes = []
        for number, name in enumerate(self.names):
            because = self.lost.get(name)
            outcomes.append(AgentOutcome(name, number, self.clocks, 2, missing_because=because))
        files: dict[str, Path] = {}
        for number, name in enumerate(() if self.lost else self.names):
            with tempfile.TemporaryDirectory() as folder:
                job, started, stop = order.make_job(number, 0.0), Lease(), threading.Event()
                if isinstance(job, CommandJob):
                    outcomes[number].ended = run_command(job, started, stop, Path(folder))
                    continue
                assert isinstance(job, FioJob)
                results, outcomes[number].start_late_s = run_fio(
                    job, SystemClock().now_s(), started, stop, Path(folder)
                )
                assert (file := order.place_file(name)) is not None
                files[name] = file
                file.write_bytes(results.read_bytes())
        if files:
            order.merge([], files)
        return AgentsDriven(None, tuple(outcomes))

    def await_all(self, watch: ProgressWatch) -> None:
        """They are there."""

    def consult(self, function: Callable[[], T]) -> dict[str, T]:
        """Ask each here."""
        return {name: function() for name in self.names}


class FakeLink(Link):
    """A connection to agents that are `facts`, or fail so; `ended` have been asked to leave."""

    def __init__(self, facts: Mapping[str, AgentFacts | Exception]) -> None:
        super().__init__(SimpleNamespace(scheduler=self), SystemClock(), "tcp://there:1")
        self.facts, self.ended = facts, list[str]()
        self.dask = read_dask_version()

    async def versions(self) -> Mapping[str, Any]:
        """Answer as a scheduler does."""
        return {"packages": {"distributed": self.dask}}

    async def identity(self, n_workers: int = -1) -> Mapping[str, Any]:
        """Answer as a scheduler does."""
        return {"workers": {name: {"name": name} for name in self.facts}}

    async def ask(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """Answer as an agent does."""
        if isinstance(facts := self.facts[address], Exception):
            raise facts
        if function is serving.leave:
            return self.ended.append(address)
        return facts if function is serving.describe else function(*arguments)
