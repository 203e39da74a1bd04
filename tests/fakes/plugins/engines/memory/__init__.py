"""A second engine: its rows are in memory, and in one file of its data directory while it rests."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from stithy.engines.declaration import CommitAllowance, Declaration
from stithy.engines.engine import Engine
from stithy.secrets import Secret

from .backups import BACKUPS

if TYPE_CHECKING:
    from stithy.engines.instance import NativeRestore, Request

    from .endpoint import Endpoint
    from .engine import MemoryEngine
    from .remote import MemoryRemote


class Memory(Engine):
    """Nobody but its users commits; it has no log."""

    name = "memory"
    url_schemes = ("memory",)
    url_examples = ("memory://a", "memory://b")
    variables = ("MEMORYDB_",)
    setting_examples = ({"keep": "on"}, {"keep": "off"})
    owned_settings = {"place": "Stithy puts the files of each instance on its candidate's volume"}
    backups = BACKUPS
    has_remote = True
    native_restore = "copies the file in which it keeps rows"
    declaration = Declaration(
        commits=CommitAllowance(fewer=0, more=0, per_connection=0, per_s=0.0),
        buffers="rows in memory",
        maintenance="nothing",
    )

    def list_given_up(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Without `keep`, nothing is written before the server stops."""
        given = settings.get("keep", "on")
        return {"keep": "a crash loses everything since the start"} if given == "off" else {}

    def configure(self, request: "Request") -> "MemoryEngine":
        """The engine as a study asks for it."""
        from .engine import MemoryEngine

        return MemoryEngine(request)

    def connect(self, url: Secret, password: Secret | None = None) -> "Endpoint":
        """Of a URL; it has no password."""
        from .endpoint import Endpoint

        return Endpoint(url)

    def connect_remote(self, url: Secret, password: Secret | None = None) -> "MemoryRemote":
        """The database of a URL, in which a password becomes part of its name."""
        from .remote import MemoryRemote

        word = f":{password.reveal()}@" if password else "@"
        return MemoryRemote(Secret(url.reveal().replace("@", word)))

    def locate(self, url: Secret) -> str:
        """The URL itself."""
        return url.reveal()

    def get_native_restore(self) -> "NativeRestore":
        """It keeps rows in a file beside their own."""
        from . import native

        return native


PLUGINS = (Memory(),)
