"""The processes of the control plane: a scheduler, and an agent on each host."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress

from stithy.agents.link import connect
from stithy.agents.serving import LEAVING, describe, make_folder, remove_abandoned
from stithy.agents.site import SchedulerSite, use_settings
from stithy.clock import SystemClock
from stithy.errors import InfrastructureError, PreconditionError, give_reason

RETRY_S = 2.0
"""How often an agent looks for a scheduler that is not there."""

Tell = Callable[[str], None]

LOOPBACK = "127.0.0.1:0"
"""Where Dask's pages for people would be; they are stopped at once."""


def serve_scheduler(site: SchedulerSite, tell: Tell) -> None:
    """Serve until a signal comes. Raises InfrastructureError where it cannot listen."""

    async def serve() -> None:
        from distributed import Scheduler

        scheduler = Scheduler(
            host=site.host, port=site.port, protocol=site.address.partition("://")[0],
            security=site.security, dashboard=False, dashboard_address=LOOPBACK,
        )  # fmt: skip
        async with scheduler:
            scheduler.http_server.stop()
            tell(f"the scheduler listens at {scheduler.address}")
            await scheduler.finished()

    try:
        _run_until_signal(serve)
    except (OSError, RuntimeError, ValueError) as error:
        problem = f"the scheduler cannot listen there: {give_reason(error.__cause__ or error)}"
        remedy = "name an address of this host with a free port"
        raise InfrastructureError(problem, where=site.address, remedy=remedy) from error


def serve_agent(site: SchedulerSite, name: str, port: int, tell: Tell) -> None:
    """Join the scheduler, again and again, until a signal comes or the agent is removed.

    Raises PreconditionError where there is no hammer here.
    """
    facts = describe()
    if facts.missing is not None:
        remedy = "install Stithy with its native program"
        raise PreconditionError(facts.missing, where=f"agent {name}", remedy=remedy)
    clock = f"clock {facts.clock}, " if facts.clock else ""
    tell(f"agent {name}: {facts.cpus} CPUs, {clock}Stithy {facts.version}, {facts.hammer}")

    async def serve() -> None:
        remove_abandoned()
        told = None
        while True:
            if told is None:
                tell(f"agent {name} looks for the scheduler at {site.address}")
            if (because := await join(site, name, tell, port)) not in (None, told):
                tell(f"agent {name} waits, and tries again: {because}")
            told = because
            if LEAVING.is_set():
                return tell(f"agent {name} was removed")
            await asyncio.sleep(RETRY_S)

    _run_until_signal(serve)


async def join(site: SchedulerSite, name: str, tell: Tell, port: int = 0) -> str | None:
    """Work for a scheduler until it is gone, or the agent is to leave; says why it is kept out.

    `port` 0: the scheduler reaches it at any that is free.
    """
    try:
        async with connect(site, SystemClock()):  # Dask does not say why a worker is kept out
            pass
        await _work(site, name, tell, port)
    except PreconditionError as error:
        return error.text
    except (OSError, RuntimeError) as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno:
            return f"it cannot listen at port {port}: {give_reason(error.__cause__)}"
        has_other = isinstance(error.__cause__, ValueError)  # what Dask raises for a name
        return f"the scheduler has {'another' if has_other else 'not taken in'} agent {name}"
    return None


async def _work(site: SchedulerSite, name: str, tell: Tell, port: int) -> None:
    from distributed import Worker
    from distributed.utils import get_ip

    with make_folder() as folder:
        worker = Worker(
            site.address, name=name, nthreads=1, memory_limit=0, host=get_ip(site.host, site.port),
            port=port, security=site.security, local_directory=folder, dashboard_address=LOOPBACK,
            death_timeout=10,
        )  # fmt: skip
        async with worker:
            worker.http_server.stop()
            tell(f"agent {name} has joined the scheduler at {site.address}")
            await worker.finished()


def _run_until_signal(serve: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        task = asyncio.ensure_future(serve())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        with suppress(asyncio.CancelledError):
            await task

    with use_settings():
        asyncio.run(run())
