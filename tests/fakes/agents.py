"""Agents of whom none has a host: fake hammers drive their parts."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from fakes.hammer import FakeHammer
from stithy.agents import serving
from stithy.agents.coordinator import Agents
from stithy.agents.link import ClockOffset, Link
from stithy.agents.merging import merge_driven
from stithy.agents.serving import AgentFacts
from stithy.agents.site import SchedulerSite
from stithy.agents.window import AgentOutcome, AgentsDriven
from stithy.clock import SystemClock
from stithy.secrets import Secret
from stithy.wire.hammer import Driven, ProgressWatch
from stithy.wire.jobs import RunRequest, UserShare, WorkloadChoice

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


class FakeLink(Link):
    """A connection to agents that are `facts`, or fail so; `ended` have been asked to leave."""

    def __init__(self, facts: Mapping[str, AgentFacts | Exception]) -> None:
        super().__init__(SimpleNamespace(scheduler=self), SystemClock(), "tcp://there:1")
        self.facts, self.ended = facts, list[str]()

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
