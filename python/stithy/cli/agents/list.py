"""`stithy agents list`: who has joined."""

from dataclasses import asdict

from stithy.cli.talk.options import Json, Scheduler, Tls
from stithy.cli.talk.render import UNKNOWN, make_table, show, show_json


def list_agents(*, scheduler: Scheduler = None, tls: Tls = None, json: Json = False) -> None:
    """List the agents that have joined a scheduler, with their CPUs and versions.

    For example:

        stithy agents list
    """
    from stithy.agents.coordinator import Agents
    from stithy.agents.site import find_site

    members = Agents(find_site(scheduler, tls), ()).list_all()
    if json:
        show_json([{"name": of.name, **asdict(of.facts)} for of in members])
    elif not members:
        show("No agent has joined.")
    else:
        header = ["agent", "host", "CPUs", "clock", "Stithy", "hammer"]
        rows = [
            [of.name, of.facts.host, str(of.facts.cpus), of.facts.clock or UNKNOWN,
             of.facts.version, of.facts.hammer or "not there"]
            for of in members
        ]  # fmt: skip
        show(make_table(header, rows, "<<><<<"))


COMMAND = list_agents
