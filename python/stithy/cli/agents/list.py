"""`stithy agents list`: who has joined."""

from dataclasses import asdict

from stithy.cli.talk.options import Json, Scheduler, Tls
from stithy.cli.talk.render import UNKNOWN, make_table, show, show_json
from stithy.errors import Exit, PreconditionError, Problems


def list_agents(*, scheduler: Scheduler = None, tls: Tls = None, json: Json = False) -> Exit:
    """List the agents that have joined a scheduler, with their CPUs and versions.

    One that does not describe itself, as one of another version, is listed without them. The reason
    follows, and the exit code is 3.

    For example:

        stithy agents list
    """
    from stithy.agents.coordinator import Agents
    from stithy.agents.site import find_site

    found = Agents(find_site(scheduler, tls), ()).list_all()
    failed = {name: of for name, of in found.items() if isinstance(of, PreconditionError)}
    there = {name: of.facts for name, of in found.items() if not isinstance(of, PreconditionError)}
    if json:
        facts = [
            {"name": name, **asdict(of), "folder": str(of.folder), "problem": None}
            for name, of in there.items()
        ]
        facts += [{"name": name, "problem": error.problem} for name, error in failed.items()]
        show_json(facts)
        return Exit.PRECONDITION if failed else Exit.OK
    if not found:
        show("No agent has joined.")
        return Exit.OK
    header = ["agent", "host", "CPUs", "clock", "Stithy", "hammer"]
    rows = [
        [name, of.host, str(of.cpus), of.clock or UNKNOWN, of.version, of.hammer or "not there"]
        for name, of in there.items()
    ]
    rows += [[name, *[UNKNOWN] * (len(header) - 1)] for name in failed]
    show(make_table(header, rows, "<<><<<"))
    problems = Problems()
    problems.found += failed.values()
    problems.refuse("agents")
    return Exit.OK


COMMAND = list_agents
