"""`stithy agents serve`: where agents and runs meet."""

from stithy.agents.site import DEFAULT
from stithy.cli.talk.options import Tls
from stithy.cli.talk.render import say


def serve(address: str = DEFAULT, /, *, tls: Tls = None) -> None:
    """Serve as the scheduler, at which agents and runs meet, until Ctrl-C.

    It is a scheduler of Dask, and a cluster of Dask that is there already does as well. It carries
    orders and answers, never load. Put it on a host that no study breaks on purpose.

    Whoever reaches a scheduler may start programs on its agents as their user. So by default it
    listens on this machine alone, for any of its users. Beyond this machine it needs a certificate,
    and lets in nobody who has none.

    For example:

        stithy agents serve
        stithy agents serve 10.0.0.1:8786 --tls agents.pem

    Parameters
    ----------
    address
        Address and port to listen at.
    """
    from stithy.agents.service import serve_scheduler
    from stithy.agents.site import find_site

    serve_scheduler(find_site(address, tls), say)


COMMAND = serve
