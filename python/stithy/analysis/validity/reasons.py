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
        "Nobody knows whether it is valid: {files} of it cannot be read.",
        "Put the results back from a copy; what is wrong with each file stands below.",
    ),
    Flag.ERRORS: (
        "Unexpected errors: {errors}; the most frequent: {text}.",
        "Fix the cause in the database or its settings; a failing transaction is a fast one.",
    ),
    Flag.DRIVER_LATE: (
        "The driver was late: 99th percentile {lateness}, allowed {allowed}.",
        "Give the driver more CPU or another host; its delay is in the response times.",
    ),
    Flag.DRIVE_LATE: (
        "The instrument failed: the emulated drive of the {role} was late with {share} of its "
        "answers, all of them by {mean} on average.",
        "Let nothing else run on this machine, ask for fewer users, or emulate slower drives.",
    ),
    Flag.DRIVE_AT_TIMES_LATE: (
        "The emulated drive of the {role} was late with {share} of its answers, all of them by "
        "{mean} on average.",
        "Its slowest answers are those of a machine without a CPU to spare; its median is its own.",
    ),
    Flag.DRIVE_SLOWED: (
        "The instrument failed: the emulated drive of the {role} took {times} on average.",
        "That is another drive than its profile describes. Leave a CPU free for it: let nothing "
        "else run on this machine, ask for fewer users, or emulate a slower drive.",
    ),
    Flag.DRIVE_OFF: (
        "The emulated drive of the {role} took {times} on average.",
        "These are the candidate's times, not those of its profile. With a CPU to spare the drive "
        "comes closer to what was asked.",
    ),
    Flag.CONTRADICTION: (
        "The measurement contradicts itself: {law}, but {left} is not {right} within {allowed}.",
        "Do not use its numbers. Check whether the driver stalled or lost users.",
    ),
    Flag.RATE_NOT_KEPT: (
        "The rate was not kept: {unserved} of {due} transactions that were due, {share}, had not "
        "begun by the end.",
        "Response times grow as long as the rate is asked for; ask for less to see a steady state.",
    ),
    Flag.NOT_STEADY: (
        "The window did not reach steady state: {seen}.",
        "It counts all the same, for a stall is the storage's doing; if it only settled late, give "
        "all windows a longer ramp-up.",
    ),
    Flag.ORDER_NUMBERS: (
        "The order numbers grew by {grown}, but {expected} new orders were acknowledged or found.",
        "Do not trust this storage or this server: acknowledged work is missing or was done twice.",
    ),
    Flag.ORDER_NUMBERS_UNKNOWN: (
        "The growth of the order numbers is not known, so nothing proves the acknowledged orders.",
        "See why the driver could not read them at its quiet start or quiet end.",
    ),
    Flag.COMMITS: (
        "The server counted {server} commits and the driver {client}; "
        "allowed are {least} to {most}.",
        "Look for other clients of this server, or for lost transactions.",
    ),
    Flag.CONDITIONS: (
        "Broken consistency conditions: {numbers}.",
        "Do not trust this storage or this server: the data contradict themselves.",
    ),
    Flag.RESTORE: (
        "The restored files were not identical to the master copy.",
        "Check the volume for errors; the window did not start from the common state.",
    ),
    Flag.LEDGER: (
        "The ledger shows acknowledged work that is gone: {gone}; such as {example}.",
        "Do not trust this storage or this server: what it acknowledged it did not keep.",
    ),
    Flag.LEDGER_UNVERIFIED: (
        "The ledger was not compared with the database: {because}.",
        "The order numbers prove the orders of a whole window; nothing proves its payments.",
    ),
    Flag.LEDGER_CUT: (
        "The ledger ended early: {because}.",
        "Make room where the results are, or name a faster device; the rest is not proven.",
    ),
    Flag.LEDGER_UNKNOWN: (
        "The database holds {unknown} that the ledger does not know.",
        "Look for other clients of this server; after a killed driver it is the ledger's torn end.",
    ),
    Flag.LEDGER_SHARES: (
        "The ledger lay on the storage under test: both on {what}.",
        "Name a directory on another device with --out; the ledger's syncs load this one.",
    ),
    Flag.LITTLE_HEADROOM: (
        "The driver was asked for {asked}.",
        "Give the driver more CPU or another host, or it may be what limits the numbers.",
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
        "Run where cgroups can be made; without a limit the cache may hide the storage.",
    ),
    Flag.MEMORY_LIMIT_LOST: (
        "The instrument failed: the memory limit did not hold to the end, {because}.",
        "See who moves processes or changes groups on this machine; caches may have hidden the "
        "storage.",
    ),
    Flag.MEMORY_LIMIT_WIDENED: (
        "About the memory limit: {because}.",
        "Keep it in mind when comparing with other runs.",
    ),
    Flag.STILL_CACHED: (
        "{size} of the restored {whole} were still in the page cache at the start, outside of the "
        "memory limit.",
        "End what else has these files open; reads of them may not have reached the storage.",
    ),
    Flag.NO_CHECKPOINT: (
        "No whole checkpoint fell into the measurement, so write-back was not measured{due}.",
        "Make the window longer than a checkpoint cycle, or lower checkpoint_timeout.",
    ),
    Flag.SHORT_OF_CHECKPOINT: (
        "The window was too short for a checkpoint, so write-back was not measured: {rule}.",
        "Make it longer than a checkpoint cycle, or lower checkpoint_timeout, to measure that too.",
    ),
    Flag.INTERFERENCE: (
        "Something else ran meanwhile: {seen}.",
        "Let nothing else run on this machine; all candidates of a block suffer, but not alike.",
    ),
    Flag.NOT_QUIET: (
        "Storage that was not measured was not quiet: {size} were read or written on that of "
        "{names}.",
        "See what uses it; it may take CPU, or a path to the devices, from what is measured.",
    ),
    Flag.COLLECTOR: (
        "The instrument failed: samples are missing from {collectors}, which stopped.",
        "Read why in the table `series`; nobody knows what happened unseen.",
    ),
    Flag.UNANSWERED: (
        "The server did not answer {collectors} to the end.",
        "The throughput and response times are not touched; figures of these series have gaps.",
    ),
    Flag.COLLECTORS_SILENT: (
        "The instrument failed: the collectors gave samples of {seconds} of {length} s.",
        "Give Stithy a CPU now and then: nobody knows what happened unseen.",
    ),
    Flag.MACHINE_CHANGED: (
        "The machine was not as it usually was: just before this block {off}.",
        "See what else ran then, or throttled it; within the block all candidates met the same "
        "machine, and what the block shows may be that of another one.",
    ),
    Flag.MEASURED_AGAIN: (
        "Its block was measured once more, because a window of it was invalid.",
        "The block that was measured again stands for it; this one is shown and supports nothing.",
    ),
    Flag.LOG_FILES_MADE: (
        "The server created {files} for its write-ahead log instead of recycling old ones, and "
        "commits waited for that.",
        "Raise max_wal_size, or make the window shorter; a server that has run for long recycles.",
    ),
    Flag.AUTOVACUUM: (
        "Autovacuum ran {runs} during the window.",
        "It competes for the storage; compare windows with equal numbers of runs.",
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
