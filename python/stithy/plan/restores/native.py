"""Native: the engine keeps the loaded database in its server, and restores it by its own means."""

from stithy.registry import plugins

NAME = "native"
WHAT = (
    "loads each candidate once, keeps the loaded database inside its server, and restores it from "
    "there by the engine's own means; the candidate holds the data twice. "
    + "; ".join(
        f"`{name}` {package.NATIVE_RESTORE}"
        for name, package in plugins("engine").items()
        if hasattr(package, "NATIVE_RESTORE")
    )
)
KEEP, RESTORE = "keep checksums of the rows", "restore inside the server"
STATE = (
    "Each candidate was loaded once, from the same seed, and its server restored each window's "
    "database from what it had kept. Checksums of all rows were compared; the planner's statistics "
    "were sampled once for each candidate. The kept database lies on the candidate's storage, too."
)
PROVEN = "gave the rows that were loaded first, by their checksums"
NOTED = "the checksums of the rows{of} are unchanged: restores are compared with them"
RESUMED = "loaded again from the same seed, with the same rows by their checksums"
KEEPS_FILES, KEEPS_INSIDE = False, True
KEPT_BY, RESTORED_BY = ("read",), ("copy", "read")
FIRST_BY = ("load", "copy", "read")


def problem(engine: str) -> str | None:
    """An engine says in its `NATIVE_RESTORE` how it restores."""
    if hasattr(plugins("engine")[engine], "NATIVE_RESTORE"):
        return None
    return f"the engine {engine} has no restore of its own"
