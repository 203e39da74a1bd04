"""A second engine: its rows are in memory, and in one file of its data directory while it rests."""

from collections.abc import Mapping

NAME = "memory"
URL_SCHEMES = ("memory",)
VARIABLES = ("MEMORYDB_",)
ACCOUNTS = ()
OWNED_SETTINGS = {"place": "Stithy puts the files of each instance on its candidate's volume"}
BACKUPS = {"copy": "copies its file", "careless": "copies its file, and restores another"}
BY_URL = True
NATIVE_RESTORE = "copies the file in which it keeps rows"
EXAMPLES = ({"keep": "on"}, {"keep": "off"})


def durability_given_up(settings: Mapping[str, str]) -> dict[str, str]:
    """Without `keep`, nothing is written before the server stops."""
    given = settings.get("keep", "on")
    return {"keep": "a crash loses everything since the start"} if given == "off" else {}


def log_bytes(settings: Mapping[str, str]) -> int:
    """It has no log."""
    del settings  # none changes that
    return 0
