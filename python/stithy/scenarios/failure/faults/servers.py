"""Faults of the database server: killed and started again, or held for a while."""

from typing import TYPE_CHECKING, Any

from stithy.scenarios.failure.fault import FaultKind, Target, is_durable

if TYPE_CHECKING:
    from stithy.engines.served import ServerProcess
    from stithy.study.model import Study


class ServerFault(FaultKind):
    """A fault of the only server of a candidate."""

    rank = 2

    def explain_refusal(self, study: "Study", candidate: str, keys: Any) -> str | None:
        """Refuse a database by URL, and one without a server."""
        del keys
        if study.by_url:
            return "its server is not one that Stithy started"
        from stithy.engines.engine import get_engine

        engine = study.database.engine
        if get_engine(engine).declaration.is_embedded:
            return f"{engine} has no server"
        return None


def _find_server(target: Target) -> "ServerProcess":
    from stithy.scenarios.failure.service import find_server

    server = find_server(target)
    assert server is not None  # the plan refuses others
    return server


class KilledServer(ServerFault):
    """All processes of the server are killed; at the end of the fault it is started again."""

    name = "server-killed"
    text = "a killed server"
    expects = frozenset({"lost"})
    explains = frozenset({"commit counters disagree", "commit counters not verified"})

    def is_promised(self, study: "Study", candidate: str, keys: Any) -> bool:
        """Whether a commit is answered only when it can be recovered."""
        return is_durable(study, candidate)

    def inject(self, target: Target, keys: Any) -> None:
        """Kill it."""
        _find_server(target).kill()

    def heal(self, target: Target, keys: Any) -> None:
        """Start it again, unless it runs."""
        from stithy.scenarios.failure.service import restart_server

        restart_server(target)


class HungServer(ServerFault):
    """All processes of the server are held, as if its host were frozen."""

    name = "server-hung"
    rank = 0
    text = "a server that hangs"

    def inject(self, target: Target, keys: Any) -> None:
        """Hold it."""
        _find_server(target).suspend()

    def heal(self, target: Target, keys: Any) -> None:
        """Let it go on."""
        _find_server(target).resume()


PLUGINS = (KilledServer(), HungServer())
