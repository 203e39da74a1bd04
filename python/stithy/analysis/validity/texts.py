"""What is said of each flag: what was seen, with the numbers of its reason, and an advice."""

from stithy.analysis.validity.flags import Flag

TEXTS: dict[Flag, tuple[str, str]] = {
    Flag.NO_NUMBERS: (
        "The window has no numbers: {because}.",
        "Read server.log and hammer.jsonl of this window, then repeat it.",
    ),
    Flag.INCOMPLETE: (
        "The window did not run to its planned end.",
        "Repeat the window; its numbers cover less time than planned.",
    ),
    Flag.ERRORS: (
        "Unexpected errors: {errors}; the most frequent: {text}.",
        "Mend the cause in the database or its settings; a failing transaction is a fast one.",
    ),
    Flag.DRIVER_LATE: (
        "The driver was late: 99th percentile {lateness}, allowed {allowed}.",
        "Give the driver more CPU or another host; its delay is in the response times.",
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
        "No whole checkpoint fell into the measurement, so write-back was not measured.",
        "Make the window longer than a checkpoint cycle, or lower checkpoint_timeout.",
    ),
    Flag.COLLECTOR: (
        "Samples are missing from {collectors}.",
        "The throughput and response times are not touched; figures of these series have gaps.",
    ),
    Flag.AUTOVACUUM: (
        "Autovacuum ran {runs} during the window.",
        "It competes for the storage; compare windows with equal numbers of runs.",
    ),
}
