"""Reload: nothing is kept, and the same seed gives the same rows again."""

NAME = "reload"
WHAT = (
    "makes the database anew and loads it from the same seed before each window; it needs nothing "
    "of the engine, and takes longest"
)
KEEP, RESTORE = "keep checksums of the rows", "load the database again"
STATE = (
    "Each window starts from a database that was loaded for it, from the same seed. Checksums of "
    "all rows were compared; the planner's statistics were sampled anew."
)
PROVEN = "gave the rows that were loaded first, by their checksums"
NOTED = "the checksums of the rows{of} are unchanged: restores are compared with them"
RESUMED = "loaded again from the same seed, with the same rows by their checksums"
KEEPS_FILES, KEEPS_INSIDE = False, False
KEPT_BY, RESTORED_BY, FIRST_BY = ("read",), ("load", "read"), ("load", "read")


def problem(engine: str) -> str | None:
    """Every engine can be loaded."""
    del engine  # none is asked
    return None
