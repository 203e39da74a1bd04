"""What can be wrong with a window, or must be known of it."""

from enum import Enum


class Flag(Enum):
    """What can be wrong with a window, or must be known of it."""

    NO_NUMBERS = "no numbers"
    INCOMPLETE = "incomplete"
    DAMAGED = "results damaged"
    ERRORS = "errors"
    DRIVER_LATE = "driver late"
    DRIVE_LATE = "emulated drive late"
    DRIVE_SLOWED = "emulated drive is another one than described"
    CONTRADICTION = "contradicts itself"
    RATE_NOT_KEPT = "rate not kept"
    NOT_STEADY = "not steady"
    ORDER_NUMBERS = "order numbers disagree"
    ORDER_NUMBERS_UNKNOWN = "order numbers not verified"
    COMMITS = "commit counters disagree"
    CONDITIONS = "consistency broken"
    DRIVE_AT_TIMES_LATE = "emulated drive late at times"
    DRIVE_OFF = "emulated drive not as described"
    RESTORE = "restore not identical"
    LEDGER = "acknowledged work is gone"
    LEDGER_UNVERIFIED = "ledger not compared"
    LEDGER_CUT = "ledger ended early"
    LEDGER_UNKNOWN = "work that the ledger does not know"
    LEDGER_SHARES = "ledger on the storage under test"
    LITTLE_HEAD_ROOM = "little head-room"
    COMMITS_UNKNOWN = "commit counters not verified"
    CONDITIONS_UNKNOWN = "consistency not verified"
    MEMORY_LIMIT = "memory limit not enforced"
    MEMORY_LIMIT_LOST = "memory limit lost"
    MEMORY_LIMIT_WIDENED = "memory limit widened"
    STILL_CACHED = "restored files still cached"
    NO_CHECKPOINT = "no checkpoint inside"
    SHORT_OF_CHECKPOINT = "too short for a checkpoint"
    INTERFERENCE = "interference"
    NOT_QUIET = "another candidate not quiet"
    COLLECTOR = "collector stopped"
    UNANSWERED = "collector not answered"
    COLLECTORS_SILENT = "no samples"
    LOG_FILES_MADE = "log files created"
    AUTOVACUUM = "autovacuum ran"
    MACHINE_CHANGED = "the machine changed"
    MEASURED_AGAIN = "block measured again"

    @property
    def invalidates(self) -> bool:
        """Whether a window with this flag supports no claim."""
        return self in _INVALIDATING

    @property
    def is_failure(self) -> bool:
        """Whether the window itself failed; one may support no claim for another one's failure."""
        return self.invalidates and self is not Flag.MEASURED_AGAIN


_INVALIDATING = frozenset({
    Flag.NO_NUMBERS, Flag.INCOMPLETE, Flag.DAMAGED, Flag.ERRORS, Flag.DRIVER_LATE,
    Flag.DRIVE_LATE,
    Flag.DRIVE_SLOWED, Flag.CONTRADICTION, Flag.ORDER_NUMBERS, Flag.ORDER_NUMBERS_UNKNOWN,
    Flag.COMMITS, Flag.CONDITIONS, Flag.RESTORE,
    Flag.LEDGER, Flag.MEMORY_LIMIT_LOST, Flag.COLLECTOR, Flag.COLLECTORS_SILENT,
    Flag.MEASURED_AGAIN,
})  # fmt: skip
