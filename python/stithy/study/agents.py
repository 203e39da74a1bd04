"""Which studies agents can drive: hosts that share the load, and know nothing of each other."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stithy.engines.engine import declaration
from stithy.study.problems import Violation
from stithy.study.sections import get_workload

if TYPE_CHECKING:
    from stithy.study.model import Study

PLACE = ("load", "agents")


def list_agents(study: "Study") -> tuple[str, ...]:
    """List the agents that do something in its windows; none where this host does all."""
    load = study.given_load.agents if study.given_load else ()
    own = (name for variant in study.variants for name in variant.scenario.keys.list_agents())
    return tuple(dict.fromkeys((*load, *own)))


def find_agent_problems(study: "Study") -> Iterator[Violation]:
    """Find what users of several hosts cannot do, or too few of them cannot be shared."""
    if study.given_load is None or not study.load.agents:
        return
    agents = list(study.load.agents)

    def refuse(what: str, right: str) -> Violation:
        return Violation(what, right, agents, PLACE)

    if len(set(agents)) < len(agents):
        yield refuse("an agent named twice", "each agent has one part of the users")
    alone = "leave out `agents`: one host drives them all"
    workload = study.workload.name
    if not get_workload(workload).is_divisible:
        yield refuse(f"users of {workload} on several hosts", f"{alone}, as they share an exchange")
    if study.load.calibrate:
        right = "leave out `calibrate`: the report shows the lateness of each agent instead"
        yield refuse("a calibration of this host beside agents", right)
    if study.servers > 1:
        yield refuse("several databases at once beside agents", alone)
    for engine in study.engines:
        if declaration(engine).is_embedded:
            yield refuse(f"{engine}, which works inside the load driver, and agents", alone)
    for variant in study.variants:
        load, search = variant.load, variant.search
        fewest = min((*load.users, *([search.users_least] if search else [])))
        if fewest < len(agents) or (load.connections or fewest) < len(agents):
            right = f"at least {len(agents)} users, and as many connections: each agent has one"
            yield refuse("fewer users or connections than agents", right)
            return
