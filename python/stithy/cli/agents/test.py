"""`stithy agents test`: may these agents drive a study?"""

from stithy.cli.talk.options import Json, Scheduler, Tls
from stithy.cli.talk.render import make_table, show, show_json


def probe_agents(
    *names: str, scheduler: Scheduler = None, tls: Tls = None, json: Json = False
) -> None:
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
    from stithy.agents.link import refuse_far_clocks
    from stithy.agents.site import find_site

    site = find_site(scheduler, tls)
    agents = Agents(site, names or [of.name for of in Agents(site, ()).list_all()])
    offsets = agents.measure_clocks(agents.find())
    if json:
        show_json({name: vars(of) for name, of in offsets.items()})
    else:
        rows = [
            [name, f"{1000 * of.offset_s:+.2f} ms", f"±{1000 * of.uncertainty_s:.2f} ms"]
            for name, of in offsets.items()
        ]
        show(make_table(["agent", "clock ahead by", "within"], rows, "<>>"))
    refuse_far_clocks(offsets)


COMMAND = probe_agents
