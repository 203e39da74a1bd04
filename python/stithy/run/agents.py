"""The agents of a study: found, and known to reach its databases with clocks in step."""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.activity import get_users, list_not_by_agents
from stithy.agents import serving
from stithy.agents.coordinator import Agents
from stithy.agents.link import refuse_far_clocks
from stithy.agents.site import find_site
from stithy.errors import PreconditionError, StithyError, UserError
from stithy.results.layout import RunDirectory
from stithy.run.history import read_history
from stithy.study.model import Study
from stithy.study.network import list_networks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stithy.agents.link import Member
    from stithy.agents.serving import AgentFacts
    from stithy.plan.steps import Plan


def make_finder(scheduler: str | None, tls: Path | None) -> "Callable[[Study], Agents | None]":
    """Make what finds the agents of a study at this scheduler; None: the default one."""
    return partial(find_agents, scheduler=scheduler, tls=tls)


def recall_site(root: Path) -> tuple[str | None, Path | None]:
    """Recall where the agents of a run met last, and by which certificate; None where none did."""
    with suppress(StithyError):
        for resource in reversed(read_history(RunDirectory(root)).resources):
            if resource.kind == "agents":
                tls = resource.facts.get("tls")
                return resource.facts["scheduler"], None if tls is None else Path(tls)
    return None, None


def find_agents(study: Study, *, scheduler: str | None, tls: Path | None) -> Agents | None:
    """Find the agents that a study names; None where it names none.

    Raises UserError for a scheduler of a study without agents, PreconditionError for agents that
    are not there, do not fit, cannot reach the databases or have another time.
    """
    names = study.load.agents if study.given_load is not None else ()
    if not names:
        for option, given in {"--scheduler": scheduler, "--tls": tls}.items():
            if given is not None:
                remedy = "add load.agents to the study, or leave the option out"
                raise UserError("the study names no agents", where=option, remedy=remedy)
        return None
    agents = Agents(find_site(scheduler, tls), names)
    members = agents.find()
    if not study.by_url:
        refuse_distant(members, serving.describe())
    refuse_far_clocks(agents.measure_clocks(members))
    return agents


def refuse_distant(members: "Sequence[Member]", here: "AgentFacts") -> None:
    """Raise PreconditionError for agents on other machines, or with other files, than `here`."""
    seen = {of.name: (of.facts.boot_id, of.facts.files) for of in members}
    if away := [name for name, of in seen.items() if of != (here.boot_id, here.files)]:
        raise PreconditionError(
            f"{', '.join(away)} cannot reach the databases that Stithy starts: these have a socket "
            "in /tmp of this machine, and no other machine or container sees it",
            where="load.agents",
            remedy="give candidates a url, or name agents of this machine",
        )


def refuse_other_activities(study: Study, plan: "Plan") -> None:
    """Raise UserError for drivers elsewhere in windows in which they cannot drive users."""
    if study.given_load is None:
        return
    activities = sorted(
        {name for step in plan.steps if step.window for name in step.window.activities}
    )
    if list_networks(study) and (others := [of for of in activities if of != get_users().name]):
        raise UserError(
            f"a link is of users alone, and this study's windows have {', '.join(others)}, too",
            where="load.network",
            remedy="leave `network` out: this host drives them all",
        )
    has_ledger = study.load.ledger
    others = list_not_by_agents(activities, has_ledger=has_ledger) if study.load.agents else []
    if others:
        ledger = " with a commit ledger" if not list_not_by_agents(others, has_ledger=False) else ""
        raise UserError(
            f"agents cannot drive users beside {', '.join(others)}{ledger}",
            where="load.agents",
            remedy="leave `agents` out: one host drives them all"
            + (", or `ledger`: agents hand theirs over when users are done" if ledger else ""),
        )
