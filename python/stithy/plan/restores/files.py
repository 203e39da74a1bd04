"""Files: a master copy of all files, put back before each window."""

NAME = "files"
WHAT = (
    "copies the loaded database's files to the results once, and from there to the candidate; each "
    "window starts from the same bytes"
)
KEEP, RESTORE = "keep a master copy", "restore the master copy"
STATE = "Each window starts from a copy of the same files, whose hashes were compared."
PROVEN = "gave files identical to the master copy"
NOTED = "the master copy{of} is unchanged: the database is not loaded again"
RESUMED = "that of the session before, identical byte by byte"
KEEPS_FILES, KEEPS_INSIDE = True, False
KEPT_BY, RESTORED_BY, FIRST_BY = ("copy",), ("copy",), ("copy",)


def problem(engine: str) -> str | None:
    """Every engine under test has files."""
    del engine  # none is asked
    return None
