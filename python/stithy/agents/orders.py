"""What agents are ordered to do together in a window, and how what they did becomes one.

Users are driven by hammers, each agent with every so many-th; workers of fio are dealt likewise. A
command is one agent's own.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import stithy
from stithy.agents.command_job import CommandJob
from stithy.agents.fio_job import FioJob, pack, scatter_results
from stithy.agents.ledgers import join_ledgers, read_batches
from stithy.agents.merging import AgentPart, merge_driven, write_logs
from stithy.agents.serving import AgentOrder
from stithy.fio.program import Worker
from stithy.hosts.runner import Command
from stithy.secrets import Secret
from stithy.wire.hammer import Driven, ProgressWatch, run_job
from stithy.wire.jobs import RunJob, RunRequest, UserShare, WorkloadChoice

LEAD_S, LEAD_S_PER_CONNECTION, LEAD_S_PER_USER = 3.0, 0.01, 1e-5
"""Own: until agents have begun their load drivers, and hammers have seated their users."""

START_LATE_S_MAX = 1.0
"""Own: as long as the shortest ramp of an open loop. fio that begins later measures another time
than the others."""


@dataclass(frozen=True)
class WindowOrder:
    """What agents are to do together; `watch` hears of it, and stops it.

    `waits`: one that was lost is waited for.
    """

    waits: ClassVar = True

    names: tuple[str, ...]
    fence: str
    watch: ProgressWatch

    def estimate_lead_s(self) -> float:
        """Estimate how long agents need until all may begin."""
        return LEAD_S

    def estimate_length_s(self) -> float:
        """Estimate how long the load takes once it has begun."""
        raise NotImplementedError

    def make_job(self, number: int, start_at_s: float) -> RunJob | FioJob | CommandJob:
        """Make one agent's part, its start by its own clock."""
        raise NotImplementedError

    def place_file(self, name: str) -> Path | None:
        """Say where what an agent hands over goes; None: it hands over nothing."""
        return None

    def explain_unfinished(self, part: AgentPart, file: Path | None) -> str | None:
        """Say why an agent that answered has not done its part; None where it has."""
        raise NotImplementedError

    def merge(self, parts: Sequence[AgentPart], files: Mapping[str, Path]) -> Driven | None:
        """Write what all have done as one load driver would; `files`: by agent, handed over."""
        return None

    def order(self, number: int, start_at_s: float, offset_s: float) -> AgentOrder:
        """One agent's part, its times by its own clock."""
        job = self.make_job(number, start_at_s + offset_s)
        return AgentOrder(self.fence, stithy.__version__, start_at_s + offset_s, job)


@dataclass(frozen=True)
class UsersOrder(WindowOrder):
    """Virtual users, each agent with every so many-th."""

    url: Secret
    workload: WorkloadChoice
    request: RunRequest

    def estimate_lead_s(self) -> float:
        """Hammers connect and seat their users before they begin."""
        users = self.request.users
        lead_s = LEAD_S + LEAD_S_PER_CONNECTION * (self.request.connections or users)
        return lead_s + LEAD_S_PER_USER * users

    def estimate_length_s(self) -> float:
        """Ramp-up and measurement."""
        return self.request.ramp_up_s + self.request.duration_s

    def make_job(self, number: int, start_at_s: float) -> RunJob:
        """A hammer's job for this agent's share."""
        request = self.request.model_copy(
            update={
                "share": UserShare(number=number, of=len(self.names)),
                "start_at_s": start_at_s,
                "hlog_stem": None,
            }
        )
        return run_job(self.url, self.workload, request)

    def place_file(self, name: str) -> Path | None:
        """Its ledger, beside that of all."""
        whole = self.request.ledger
        return whole and whole.with_name(f"{whole.name}.{name}")

    def explain_unfinished(self, part: AgentPart, file: Path | None) -> str | None:
        """A hammer ends with a summary. Raises InfrastructureError for a damaged ledger."""
        if file is not None:
            deque(read_batches(file), 0)  # all are whole
        return None if part.driven else "it gave no summary"

    def merge(self, parts: Sequence[AgentPart], files: Mapping[str, Path]) -> Driven:
        """Write logs, ledger and messages as one hammer would, and each agent's beside."""
        if self.request.ledger is not None and files:
            join_ledgers(self.request.ledger, [*files.values()])
        driven = merge_driven([driven for part in parts if (driven := part.driven)])
        if self.request.hlog_stem is not None:
            write_logs(self.request.hlog_stem, parts)
        if (output := self.watch.raw_output) is not None:
            for part in parts:
                own = output.with_stem(f"{output.stem}.{part.name}")
                own.write_text("\n".join([*part.answer.messages, ""]))
            messages = (*driven.seconds, *driven.warnings, driven.summary)
            output.write_text("".join(f"{message.model_dump_json()}\n" for message in messages))
        if self.watch.on_message is not None:
            self.watch.on_message(driven.summary)
        return driven


@dataclass(frozen=True)
class FioOrder(WindowOrder):
    """Workers of fio, each agent with every so many-th; `version`: that of fio here."""

    version: str
    workers: Sequence[Worker]
    duration_s: float
    patience_s: float
    where: str

    def list_workers(self, number: int) -> Sequence[Worker]:
        """List those of one agent."""
        return self.workers[number :: len(self.names)]

    def estimate_length_s(self) -> float:
        """As long as fio may take."""
        return self.duration_s + self.patience_s

    def make_job(self, number: int, start_at_s: float) -> FioJob:
        """This agent's workers, with what lies in their folders."""
        parts = tuple(map(pack, self.list_workers(number)))
        return FioJob(self.version, parts, self.duration_s, self.patience_s, self.where)

    def place_file(self, name: str) -> Path:
        """What its fio wrote, beside the folders of all workers."""
        return self.workers[0].folder.with_name(f"{name}.zip")

    def explain_unfinished(self, part: AgentPart, file: Path | None) -> str | None:
        """What all fio measured must be of one time."""
        late_s = part.answer.start_late_s or 0.0
        if file is None:
            return "it gave no results"
        late = f"its fio began {late_s:.1f} s after the start"
        return late if late_s > START_LATE_S_MAX else None

    def merge(self, parts: Sequence[AgentPart], files: Mapping[str, Path]) -> None:
        """Write into each worker's folder what fio would have written there."""
        for number, name in enumerate(self.names):
            scatter_results(files[name], [of.folder for of in self.list_workers(number)])


@dataclass(frozen=True)
class CommandOrder(WindowOrder):
    """A command of one agent, which begins once it is there, and takes as long as it takes."""

    waits: ClassVar = False

    command: Command = field(repr=False)

    def estimate_length_s(self) -> float:
        """Nobody knows."""
        return math.inf

    def make_job(self, number: int, start_at_s: float) -> CommandJob:
        """It begins at once, not at a common start."""
        return CommandJob(self.command)

    def explain_unfinished(self, part: AgentPart, file: Path | None) -> str | None:
        """A command that failed has ended, too."""
        return None if part.answer.ended else "it did not say how it ended"
