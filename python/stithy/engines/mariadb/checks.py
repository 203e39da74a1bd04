"""What InnoDB's own work means for a window: whether pages were written back in it."""

from stithy.validity import Check, Flag, Reason, Recorded, Row

NO_WRITE_BACK = Flag(
    "pages not written back",
    "The server wrote none of its changed pages back while users worked, so write-back was not "
    "measured. Its log grew by {wrote:size}.",
    "Make the window longer, or lower innodb_log_file_size or innodb_max_dirty_pages_pct_lwm.",
)


def find_missing_write_back(around: Row | None) -> Reason | None:
    """Find a window whose changes all stayed in the buffer pool.

    Edge case: the server may not count its pages or its log; then nothing is said.
    """
    if around is None or around["log_bytes"] is None or around["pages_written"] != 0:
        return None
    return Reason(NO_WRITE_BACK, {"wrote": around["log_bytes"]})


CHECKS: tuple[Check[Recorded], ...] = (
    Check(("surroundings",), lambda of: find_missing_write_back(of.around)),
)
