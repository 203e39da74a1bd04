"""What InnoDB's own work means for a window: whether pages had to be written back in it."""

from stithy.validity import Check, Flag, Reason, Recorded, Row

NO_WRITE_BACK = Flag(
    "pages not written back",
    "The window wrote {wrote:size} of log, less than the {age:size} after which InnoDB must write "
    "changed pages, so write-back was hardly measured.",
    "Make the window longer, or lower innodb_log_file_size.",
)


def find_missing_write_back(around: Row | None) -> Reason | None:
    """Find a window whose log had room for all of its changes.

    Until its log is nearly full InnoDB writes no page, unless the buffer pool is full of changes.
    Edge case: the server's rule or the log's position may be unknown; then nothing is said.
    """
    if around is None or around["log_bytes"] is None or around["checkpoint_after_bytes"] is None:
        return None
    if around["log_bytes"] >= around["checkpoint_after_bytes"]:
        return None
    values = {"wrote": around["log_bytes"], "age": around["checkpoint_after_bytes"]}
    return Reason(NO_WRITE_BACK, values)


CHECKS: tuple[Check[Recorded], ...] = (
    Check(("surroundings",), lambda of: find_missing_write_back(of.around)),
)
