"""What PostgreSQL's own work means for a window: checkpoints, log files, autovacuum."""

from stithy.statements import Statement
from stithy.validity import Check, Flag, Reason, Recorded, Row

NO_CHECKPOINT = Flag(
    "no checkpoint inside",
    "No complete checkpoint fell into the measurement, so write-back was not measured{due}.",
    "Make the window longer than a checkpoint cycle, or lower checkpoint_timeout.",
)

SHORT_OF_CHECKPOINT = Flag(
    "too short for a checkpoint",
    "The window was too short for a checkpoint, so write-back was not measured: {rule}.",
    "To measure write-back, make it longer than a checkpoint cycle, or lower checkpoint_timeout.",
)

LOG_FILES_MADE = Flag(
    "log files created",
    "The server created {files:a file|# files} for its write-ahead log instead of recycling old "
    "ones, and commits waited for that.",
    "Raise max_wal_size, or shorten the window. A server that has run for long recycles its files.",
)

AUTOVACUUM = Flag(
    "autovacuum ran",
    "Autovacuum ran {runs:once|# times} during the window.",
    "It competes for the storage. Compare windows with equal numbers of runs.",
)


def checkpoint(window: Row, around: Row | None = None) -> Reason | None:
    """No whole checkpoint fell into the measurement, though one was due, or because none was.

    Edge case: where the server's rule is not known it is reported as if one had been due.
    Source: docs/explanation/method.md, "The same state".
    """
    if window["checkpoints_inside"] != 0:
        return None
    if around is None or around["checkpoint_after_s"] is None or around["log_bytes"] is None:
        return Reason(NO_CHECKPOINT, {"due": ""})
    length_s = window["measure_to_s"] - window["measure_from_s"]
    rule = Statement(
        "the server begins one after {after:duration} or {after_log:size} of log",
        after=around["checkpoint_after_s"], after_log=around["checkpoint_after_bytes"],
    )  # fmt: skip
    due = length_s >= around["checkpoint_after_s"]
    if due or around["log_bytes"] >= around["checkpoint_after_bytes"]:
        # The log was read around the whole load, ramp-up and drain included.
        due_text = Statement(
            ", although one was due: {rule}, and it wrote {wrote:size} in {span:duration}",
            rule=rule, wrote=around["log_bytes"], span=round(around["span_s"]),
        )  # fmt: skip
        return Reason(NO_CHECKPOINT, {"due": due_text})
    # Without the window's own numbers: all of a study are alike in it, and share a row.
    return Reason(SHORT_OF_CHECKPOINT, {"rule": rule})


def log_files_made(around: Row | None) -> Reason | None:
    """The server created log files during the measurement.

    Own: each one stalls all commits while it is filled and synced, as no long-running server would.
    """
    made = around["log_files_made"] if around is not None else None
    return Reason(LOG_FILES_MADE, {"files": made}) if made else None


def autovacuum(window: Row) -> Reason | None:
    """The server tidied up meanwhile.

    Own: it is ordinary work, but not the same in every window.
    """
    runs = window["maintenance_runs"]
    return Reason(AUTOVACUUM, {"runs": runs}) if runs else None


CHECKS: tuple[Check[Recorded], ...] = (
    Check(("load", "surroundings"), lambda of: checkpoint(of.window, of.around)),
    Check(("surroundings",), lambda of: log_files_made(of.around)),
    Check(("load",), lambda of: autovacuum(of.window)),
)
