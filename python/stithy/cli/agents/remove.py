"""`stithy agents remove`: let agents end."""

from stithy.cli.talk.options import Scheduler, Tls
from stithy.cli.talk.render import say
from stithy.errors import UserError


def remove(*names: str, scheduler: Scheduler = None, tls: Tls = None) -> None:
    """End agents, on whatever host they are, and the load that they drive.

    For example:

        stithy agents remove host-a

    Parameters
    ----------
    names
        The agents.
    """
    from stithy.agents.coordinator import Agents
    from stithy.agents.site import find_site

    if not names:
        raise UserError("no agent is named", where="arguments", remedy="name agents")
    Agents(find_site(scheduler, tls), names).remove()
    for name in names:
        say(f"agent {name} ends")


COMMAND = remove
