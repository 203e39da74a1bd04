"""Backups from another host: the program that makes them runs at an agent.

What it writes lies on the candidate's storage, and is measured, restored and checked by this host.
"""

from dataclasses import replace
from pathlib import Path

from stithy.activities.hammer.by_agents import make_agent_rows, make_fence, make_watch
from stithy.agents.command_job import CommandEnd
from stithy.agents.orders import CommandOrder
from stithy.agents.window import AgentOutcome, AgentsDriven
from stithy.errors import InfrastructureError, Interrupted
from stithy.hosts.runner import Command, name_own_user
from stithy.results.tables import Row
from stithy.run.context import Context


class AgentClient:
    """One agent that makes backups; what became of it stays for its row."""

    def __init__(self, context: Context, name: str) -> None:
        assert context.agents is not None  # the study names it
        self._context, self._name = context, name
        self._agents, self._stop = context.agents.select([name]), context.session.stop.asked
        self._outcomes: list[AgentOutcome] = []

    def await_agent(self) -> None:
        """Wait for it where it was lost. Raises PreconditionError where it does not return."""
        self._agents.await_all(make_watch(self._context, self._stop))

    def run(self, command: Command, log: Path) -> CommandEnd:
        """Run a command to its end, and add to a log what it said; times are of this host's clock.

        Raises Interrupted for a stop, InfrastructureError where the agent is lost: nobody waits.
        """
        fence, watch = make_fence(self._context, "backup"), make_watch(self._context, self._stop)
        asked = replace(command, user=name_owner(self._context))
        result = self._agents.run_order(CommandOrder((self._name,), fence, watch, asked))
        (outcome,) = result.agents
        self._outcomes.append(outcome)
        if self._stop.is_set():
            where, remedy = f"agent {self._name}", "`stithy resume`"
            raise Interrupted("stopped by a person", where=where, remedy=remedy)
        if (ended := outcome.ended) is None:
            remedy = "see that it runs: stithy agents test"
            raise InfrastructureError(result.explain_missing(), where="backup", remedy=remedy)
        with log.open("a") as words:
            words.write(ended.said)
        ahead_s = outcome.clocks[0].correction_s
        return replace(ended, from_s=ended.from_s - ahead_s, to_s=ended.to_s - ahead_s)

    def make_rows(self, window_id: str) -> list[Row]:
        """Make its row of AGENTS, of all backups of a window."""
        lost = (of.missing_because for of in self._outcomes if of.missing_because)
        clocks = [clock for of in self._outcomes for clock in of.clocks]
        cpus = next((of.cpus for of in self._outcomes if of.cpus), None)
        whole = AgentOutcome(self._name, 0, clocks, cpus, missing_because=next(lost, None))
        (row,) = make_agent_rows(window_id, AgentsDriven(None, (whole,)))
        used_s = [of.ended.cpu_s for of in self._outcomes if of.ended]
        return [row | {"cpu_s": sum(used_s) if used_s else None}]


def name_owner(context: Context) -> str:
    """Name the user whose the files of backups are."""
    user = context.host.user
    return user.name if user else name_own_user()
