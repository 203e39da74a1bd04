"""A window of the users by agents: ordered here, and kept as rows."""

import threading
from collections.abc import Iterator, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING

from stithy.agents.coordinator import Agents
from stithy.agents.link import bound_error_s, measure_move_s
from stithy.agents.merging import bound_unlisted_s
from stithy.agents.window import ENDED, AgentOutcome, AgentsDriven
from stithy.errors import InfrastructureError
from stithy.metrics import PAUSE_NEGLIGIBLE_S
from stithy.results.hlog import LoggedHistogram, decode
from stithy.results.tables import Row
from stithy.run.context import Context
from stithy.run.events import Note
from stithy.secrets import Secret
from stithy.wire.hammer import ProgressWatch
from stithy.wire.jobs import RunRequest
from stithy.wire.messages import AnyMessage, Warning

if TYPE_CHECKING:
    from stithy.activities.hammer.activity import HammerActivity


def expect(names: Sequence[str]) -> AgentsDriven:
    """Give what agents have done of a window before they are asked: nothing."""
    return AgentsDriven(None, tuple(AgentOutcome(name, n) for n, name in enumerate(names)))


def drive(
    of: "HammerActivity", agents: Agents, url: Secret, request: RunRequest, watch: ProgressWatch
) -> AgentsDriven:
    """Let the agents drive a window; nothing of an earlier one can be taken for a part of it.

    Raises PreconditionError where one cannot begin.
    """
    fence = make_fence(of.context, of.window.id)
    return agents.drive(fence, url, of.choice, request, watch)


def make_fence(context: Context, name: str) -> str:
    """Make what no other window or work has, and no other attempt at this one."""
    return f"{context.session.run_id}/{name}/{token_hex(4)}"


def make_watch(context: Context, stop: threading.Event | None) -> ProgressWatch:
    """Make what passes warnings on to who watches the run, and a stop to agents."""

    def hear(message: AnyMessage) -> None:
        if isinstance(message, Warning):
            context.session.tell(Note(message.text))

    return ProgressWatch(on_message=hear, stop=stop)


def require_complete(result: AgentsDriven, window_id: str) -> None:
    """Raise InfrastructureError where an agent is missing."""
    if not result.is_complete:
        raise InfrastructureError(
            result.explain_missing(),
            where=f"window {window_id}",
            remedy="see that the agent runs (stithy agents test), then measure the window again",
        )


def make_agent_rows(window_id: str, result: AgentsDriven) -> list[Row]:
    """Make the rows of AGENTS."""
    return [_make_row(window_id, agent) for agent in result.agents]


def _make_row(window_id: str, agent: AgentOutcome) -> Row:
    before = agent.clocks[0] if agent.clocks else None
    row: Row = {
        "window_id": window_id,
        "agent": agent.name,
        "number": agent.number,
        "cpus": agent.cpus,
        "clock_ahead_s": before and before.offset_s,
        "clock_within_s": before and before.uncertainty_s,
        "clock_moved_s": measure_move_s(agent.clocks),
        "missing_because": None if agent.missing_because == ENDED else agent.missing_because,
    }
    summary = agent.driven.summary if agent.driven else None
    lateness = decode(summary.lateness) if summary else LoggedHistogram({}, 0, 0)
    done = summary.transactions if summary else ()
    return row | {
        "users": summary and summary.users,
        "transactions": sum(kind.committed + kind.rolled_back for kind in done)
        if summary
        else None,
        "requests": None,
        "latency_mean_s": None,
        "latency_p99_s": None,
        "start_late_s": summary.woke_late_s if summary else agent.start_late_s,
        "lateness_mean_s": lateness.mean_s,
        "lateness_p99_s": lateness.percentile_s(99),
        "cpu_s": summary and summary.driver.cpu_s,
        "run_queue_s": summary and summary.driver.run_queue_delay_s,
    }


def summarize(result: AgentsDriven, rows: Sequence[Row]) -> Row:
    """Give the columns of LOAD: of each number the worst agent's.

    A pause of all users is wrong by the clocks at both of its ends, and by those too short to be
    listed. Where that may be noticed it is not known.
    """
    assert result.driven is not None  # as the caller knows
    errors_s = sorted(bound_error_s(agent.clocks) for agent in result.agents)
    parts = [agent.driven.summary for agent in result.agents if agent.driven]
    unlisted_s = bound_unlisted_s(parts, result.driven.summary.gaps.longest_s)
    within_s = sum(errors_s[-2:]) + unlisted_s
    unknown = ("gap_s", "gap_from_s") if within_s > PAUSE_NEGLIGIBLE_S else ()
    late = max(rows, key=lambda row: row["lateness_mean_s"] or 0.0)
    return {
        "late_agent": late["agent"],
        "agent_lateness_mean_s": late["lateness_mean_s"],
        "agent_start_late_s": max(_list_known(rows, "start_late_s"), default=None),
        "agent_clock_moved_s": max(_list_known(rows, "clock_moved_s"), default=None),
        "gap_within_s": within_s,
        **dict.fromkeys(unknown),
    }


def _list_known(rows: Sequence[Row], name: str) -> Iterator[float]:
    return (row[name] for row in rows if row[name] is not None)
