"""What can be wrong with a window, or must be known of it: one table of reasons.

Each has its flag, the sentence of what was seen, and an advice.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Flag(Enum):
    """What can be wrong with a window, or must be known of it."""

    NO_NUMBERS = "no numbers"
    INCOMPLETE = "incomplete"
    DAMAGED = "results damaged"
    ERRORS = "errors"
    DRIVER_LATE = "driver late"
    DRIVE_LATE = "emulated drive late"
    DRIVE_SLOWED = "emulated drive too slow"
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
    LITTLE_HEADROOM = "little driver headroom"
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


TEXTS: dict[Flag, tuple[str, str]] = {
    Flag.NO_NUMBERS: (
        "The window has no numbers: {because}.",
        "Read server.log and hammer.jsonl of this window, then repeat it.",
    ),
    Flag.INCOMPLETE: (
        "The window did not run to its planned end.",
        "Repeat the window; its numbers cover less time than planned.",
    ),
    Flag.DAMAGED: (
        "It is not known whether the window is valid: {files} of it cannot be read.",
        "Restore the results from a copy. The table of missing things names each damaged file.",
    ),
    Flag.ERRORS: (
        "Unexpected errors: {errors}; the most frequent: {text}.",
        "Fix the cause in the database or its settings. Transactions that fail early make the "
        "numbers look better.",
    ),
    Flag.DRIVER_LATE: (
        "The driver was late: 99th percentile {lateness}, allowed {allowed}.",
        "Give the driver more CPU or its own host. The response times include its lateness.",
    ),
    Flag.DRIVE_LATE: (
        "The instrument failed: the emulated drive of the {role} was late with {share} of its "
        "answers. The mean lateness of all answers was {mean}.",
        "Let nothing else run on this machine, use fewer users, or emulate slower drives.",
    ),
    Flag.DRIVE_AT_TIMES_LATE: (
        "The emulated drive of the {role} was late with {share} of its answers. The mean lateness "
        "of all answers was {mean}.",
        "The slowest answers show a lack of CPU on this machine, not the drive. The median is the "
        "drive's.",
    ),
    Flag.DRIVE_SLOWED: (
        "The instrument failed: the emulated drive of the {role} took {times} on average.",
        "It is not the drive that the profile describes. Leave a CPU free for it: let nothing else "
        "run on this machine, use fewer users, or emulate a slower drive.",
    ),
    Flag.DRIVE_OFF: (
        "The emulated drive of the {role} took {times} on average.",
        "The candidate had these times, not those of its profile. With a spare CPU the drive comes "
        "closer to its profile.",
    ),
    Flag.CONTRADICTION: (
        "The measurement contradicts itself: {law}, but {left} is not {right} within {allowed}.",
        "Do not use its numbers. Check whether the driver stalled or lost users.",
    ),
    Flag.RATE_NOT_KEPT: (
        "The rate was not kept: {backlog} of {due} transactions that were due, {share}, had not "
        "begun at the end.",
        "At this rate response times grow without end. Use a lower rate for a steady state.",
    ),
    Flag.NOT_STEADY: (
        "The window did not reach steady state: {seen}.",
        "The window still counts, because the storage may cause stalls. If it only settled late, "
        "use a longer ramp-up.",
    ),
    Flag.ORDER_NUMBERS: (
        "The order numbers grew by {grown}, but {expected} new orders were acknowledged or found.",
        "Do not trust this storage or this server: acknowledged work is missing, or was done "
        "twice.",
    ),
    Flag.ORDER_NUMBERS_UNKNOWN: (
        "The growth of the order numbers is not known, so the acknowledged orders are not proven.",
        "Find out why the driver could not read them before or after the window.",
    ),
    Flag.COMMITS: (
        "The server counted {server} commits and the driver {client}; "
        "allowed are {least} to {most}.",
        "Look for other clients of this server, and for lost transactions.",
    ),
    Flag.CONDITIONS: (
        "Broken consistency conditions: {numbers}.",
        "Do not trust this storage or this server: the data contradict themselves.",
    ),
    Flag.RESTORE: (
        "The restored files were not identical to the master copy.",
        "Check the volume for errors. The window did not start from the common state.",
    ),
    Flag.LEDGER: (
        "The ledger shows that acknowledged work is gone: {gone}. Example: {example}.",
        "Do not trust this storage or this server: it lost what it had acknowledged.",
    ),
    Flag.LEDGER_UNVERIFIED: (
        "The ledger was not compared with the database: {because}.",
        "The order numbers prove the number of orders in the window. Payments are not proven.",
    ),
    Flag.LEDGER_CUT: (
        "The ledger ended early: {because}.",
        "Free space where the results are, or use a faster device. The rest is not proven.",
    ),
    Flag.LEDGER_UNKNOWN: (
        "The database holds {unknown} that the ledger does not know.",
        "Look for other clients of this server. After a killed driver these are the work of the "
        "ledger's torn end.",
    ),
    Flag.LEDGER_SHARES: (
        "The ledger was on the storage under test: both are on {what}.",
        "Name a directory on another device with --out. The ledger's syncs load this device.",
    ),
    Flag.LITTLE_HEADROOM: (
        "The window needed {asked}.",
        "Give the driver more CPU or its own host. Otherwise it may limit the throughput.",
    ),
    Flag.COMMITS_UNKNOWN: (
        "The server's commit counter could not be read, so it was not compared.",
        "The order numbers still prove the acknowledged orders.",
    ),
    Flag.CONDITIONS_UNKNOWN: (
        "No consistency condition was verified after the window.",
        "Run `stithy hammer check` while the database is there.",
    ),
    Flag.MEMORY_LIMIT: (
        "The memory limit was not enforced: {because}.",
        "Run where control groups can be created. Without a limit the cache may hide the storage.",
    ),
    Flag.MEMORY_LIMIT_LOST: (
        "The instrument failed: the memory limit did not hold to the end, {because}.",
        "Find the program that moves processes or changes control groups. Caches may have hidden "
        "the storage.",
    ),
    Flag.MEMORY_LIMIT_WIDENED: (
        "About the memory limit: {because}.",
        "Consider this when you compare with other runs.",
    ),
    Flag.STILL_CACHED: (
        "{size} of the restored {whole} were still in the page cache at the start, outside the "
        "memory limit.",
        "End other programs that have these files open. Reads of these pages may not have reached "
        "the storage.",
    ),
    Flag.NO_CHECKPOINT: (
        "No complete checkpoint fell into the measurement, so write-back was not measured{due}.",
        "Make the window longer than a checkpoint cycle, or lower checkpoint_timeout.",
    ),
    Flag.SHORT_OF_CHECKPOINT: (
        "The window was too short for a checkpoint, so write-back was not measured: {rule}.",
        "To measure write-back, make it longer than a checkpoint cycle, or lower "
        "checkpoint_timeout.",
    ),
    Flag.INTERFERENCE: (
        "There was interference: {seen}.",
        "Let nothing else run on this machine. Interference may affect the candidates of a block "
        "differently.",
    ),
    Flag.NOT_QUIET: (
        "Storage that was not measured was not quiet: {size} were read or written on that of "
        "{names}.",
        "Find the program that uses it. It may take CPU or bandwidth from the measured candidate.",
    ),
    Flag.COLLECTOR: (
        "The instrument failed: samples are missing from {collectors}, which stopped.",
        "The table `series` gives the reason. What happened meanwhile is not known.",
    ),
    Flag.UNANSWERED: (
        "The server did not answer {collectors} to the end.",
        "Throughput and response times are not affected. Figures of these series have gaps.",
    ),
    Flag.COLLECTORS_SILENT: (
        "The instrument failed: the collectors gave samples of {seconds} of {length} s.",
        "Leave CPU time for Stithy. What happened in the other seconds is not known.",
    ),
    Flag.MACHINE_CHANGED: (
        "The machine had changed: in the baseline check before this block {off}.",
        "Find out whether other programs ran, or CPUs were throttled. All candidates of the block "
        "met the same conditions, but its values may not be typical of this machine.",
    ),
    Flag.MEASURED_AGAIN: (
        "Its block was measured a second time, because one of its windows was invalid.",
        "The second attempt counts. This one is shown, and supports no claim.",
    ),
    Flag.LOG_FILES_MADE: (
        "The server created {files} for its write-ahead log instead of recycling old ones, and "
        "commits waited for that.",
        "Raise max_wal_size, or shorten the window. A server that has run for long recycles its "
        "files.",
    ),
    Flag.AUTOVACUUM: (
        "Autovacuum ran {runs} during the window.",
        "It competes for the storage. Compare windows with equal numbers of runs.",
    ),
}


@dataclass(frozen=True)
class Reason:
    """One flag with the numbers that raised it, already as text for its sentence."""

    flag: Flag
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def invalidates(self) -> bool:
        """Whether this reason alone makes the window invalid."""
        return self.flag.invalidates

    @property
    def sentence(self) -> str:
        """What was seen, in one sentence."""
        return TEXTS[self.flag][0].format(**self.data)

    @property
    def advice(self) -> str:
        """What a person can do about it, in one sentence."""
        return TEXTS[self.flag][1]


def clause(text: str) -> str:
    """A text of elsewhere as the end of a sentence: one line, no full stop of its own.

    Own: what is said here ends with the one full stop of its sentence.
    """
    return " ".join(str(text).split()).rstrip(".")
