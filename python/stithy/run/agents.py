"""The agents of a study: found, and known to reach its databases with clocks in step."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.activity import list_not_by_agents
from stithy.agents import serving
from stithy.agents.coordinator import Agents
from stithy.agents.link import refuse_far_clocks
from stithy.agents.site import find_site
from stithy.errors import PreconditionError, UserError
from stithy.study.model import Study
from stithy.study.network import list_networks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from stithy.agents.link import Member
    from stithy.plan.steps import Plan


def make_finder(scheduler: str | None, tls: Path | None) -> "Callable[[Study], Agents | None]":
    """Make what finds the agents of a study at this scheduler; None: the default one."""
    return partial(find_agents, scheduler=scheduler, tls=tls)


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
        refuse_distant(members, serving.describe().boot_id)
    refuse_far_clocks(agents.measure_clocks(members))
    return agents


def refuse_distant(members: "Sequence[Member]", here: str) -> None:
    """Raise PreconditionError for agents on other machines than the one booted as `here`."""
    if away := [of.name for of in members if of.facts.boot_id != here]:
        raise PreconditionError(
            f"{', '.join(away)} cannot reach the databases that Stithy starts: these listen on "
            "this machine alone",
            where="load.agents",
            remedy="give candidates a url, or name agents of this machine",
        )


def refuse_other_activities(study: Study, plan: "Plan") -> None:
    """Raise UserError for drivers elsewhere in windows in which more happens than users' work."""
    if study.given_load is None or not (study.load.agents or list_networks(study)):
        return
    who, key = ("agents drive", "agents") if study.load.agents else ("a link is of", "network")
    activities = {name for step in plan.steps if step.window for name in step.window.activities}
    if others := list_not_by_agents(sorted(activities)):
        raise UserError(
            f"{who} users alone, and this study's windows have {', '.join(others)}, too",
            where=f"load.{key}",
            remedy=f"leave `{key}` out: this host drives them all",
        )
