"""`stithy agent`: make this host one that load comes from."""

from stithy.agents.site import DEFAULT
from stithy.cli.talk.options import Tls
from stithy.cli.talk.render import say
from stithy.needs import OwnProgram, PythonPackage


def agent(address: str = DEFAULT, /, *, name: str, port: int = 0, tls: Tls = None) -> None:
    """Join a scheduler as an agent, and let users of studies work from this host, until Ctrl-C.

    The load itself is the native hammer, which the agent starts for each window. A hammer ends by
    itself within 5 seconds once its agent or its run is gone. An agent whose scheduler is gone
    waits for it.

    Every host needs the same versions of Stithy and of Dask's `distributed`, and a clock that NTP
    or PTP keeps in step.

    Examples:

        stithy agent --name host-a
        stithy agent 10.0.0.1:8786 --name host-a --tls agents.pem

    Parameters
    ----------
    address
        Where the scheduler listens.
    name
        What studies call this agent (`agents`).
    port
        Port at which the scheduler reaches this agent, for a firewall to let through; 0 is any that
        is free.
    """
    from stithy.agents.service import serve_agent
    from stithy.agents.site import find_site

    serve_agent(find_site(address, tls), name, port, say)


COMMAND = agent

NEEDS = (
    PythonPackage(name="distributed", extra="agents", why="it carries orders to agents"),
    OwnProgram(name="stithy-hammer", why="it is the users"),
)
