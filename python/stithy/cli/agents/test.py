"""`stithy agents test`: may these agents drive a study?"""

from typing import TYPE_CHECKING

from stithy.cli.talk.options import Json, Scheduler, Tls
from stithy.cli.talk.render import UNKNOWN, make_table, show, show_json
from stithy.errors import Exit, PreconditionError, Problems

if TYPE_CHECKING:
    from stithy.agents.link import ClockOffset


def probe_agents(
    *names: str, scheduler: Scheduler = None, tls: Tls = None, json: Json = False
) -> Exit:
    """Test agents as a run does: that they are there, fit to this version, and have the time.

    The clock of each is compared with this machine's by four time stamps. A run refuses clocks that
    differ by more than 2 ms, and corrects smaller differences.

    For example:

        stithy agents test
        stithy agents test host-a host-b --scheduler 10.0.0.1:8786 --tls agents.pem

    Parameters
    ----------
    names
        The agents; default: all that have joined.
    """
    from stithy.agents.coordinator import Agents
    from stithy.agents.site import find_site

    site = find_site(scheduler, tls)
    tests = Agents(site, names).test()
    if not tests:
        remedy = f"start one on each host: stithy agent {site.address} --name NAME"
        raise PreconditionError("no agent has joined", where=site.address, remedy=remedy)
    if json:
        show_json({of.name: of.describe() for of in tests})
        return Exit.PRECONDITION if any(of.error for of in tests) else Exit.OK
    rows = [[of.name, *_show_clock(of.clock), "no" if of.error else "yes"] for of in tests]
    show(make_table(["agent", "clock ahead by", "within", "fit"], rows, "<>><"))
    problems = Problems()
    problems.found += [of.error for of in tests if of.error]
    problems.refuse("agents")
    return Exit.OK


def _show_clock(clock: "ClockOffset | None") -> list[str]:
    if clock is None:
        return [UNKNOWN, UNKNOWN]
    return [f"{1000 * clock.offset_s:+.2f} ms", f"±{1000 * clock.uncertainty_s:.2f} ms"]


COMMAND = probe_agents
