"""Did the memory limit hold, and were the restored files out of the caches?"""

from stithy.analysis.validity.record import WindowRecord
from stithy.units import format_size
from stithy.validity import Check, Flag, Reason, Row, clause

NAME = "memory"
ORDER = 50

MEMORY_LIMIT = Flag(
    "memory limit not enforced",
    "The memory limit was not enforced: {because}.",
    "Run where control groups can be created. Without a limit the cache may hide the storage.",
)

NOT_JUDGED = Flag(
    "server not seen",
    "The server's memory, devices and log could not be judged: {because}.",
    "Read what the server's operator records of them in this time.",
)

MEMORY_LIMIT_LOST = Flag(
    "memory limit lost",
    "The instrument failed: the memory limit did not hold to the end, {because}.",
    "Find the program that moves processes or changes control groups. Caches may have hidden "
    "the storage.",
    invalidates=True,
)

MEMORY_LIMIT_WIDENED = Flag(
    "memory limit widened",
    "About the memory limit: {because}.",
    "Consider this when you compare with other runs.",
)

STILL_CACHED = Flag(
    "restored files still cached",
    "{size} of the restored {whole} were still in the page cache at the start, outside the "
    "memory limit.",
    "End other programs that have these files open. Reads of these pages may not have reached "
    "the storage.",
)


STILL_CACHED_SHARE = 0.01
"""Own: of the restored bytes; less cannot be distinguished from the noise of a cache."""


def memory_limit(window: Row, around: Row | None = None) -> Reason | None:
    """The limit on server and page cache was not held, was lost, or was widened.

    Of a server that is not Stithy's it is not known, nor is what else its host would tell.
    One that could not be put is known and the same for all; one that was lost is a failure.
    Source: docs/explanation/method.md, "The same state".
    """
    note = window["memory_limit_note"]
    if around is not None and around["memory_limit_lost"]:
        return Reason(MEMORY_LIMIT_LOST, {"because": clause(around["memory_limit_lost"])})
    if window["memory_limit_enforced"] is None:
        return Reason(NOT_JUDGED, {"because": clause(note or "the reason is not known")})
    if not window["memory_limit_enforced"]:
        return Reason(MEMORY_LIMIT, {"because": clause(note or "the reason is not known")})
    if note:
        return Reason(MEMORY_LIMIT_WIDENED, {"because": clause(note)})
    return None


def still_cached(row: Row | None) -> Reason | None:
    """Pages of the restored files that could not be evicted.

    Edge case: on a file system in memory that is known beforehand.
    """
    if row is None or row.get("resident_bytes") is None:
        return None
    cached, whole = row["resident_bytes"], row["size_bytes"]
    if cached <= STILL_CACHED_SHARE * whole:
        return None
    texts = {"size": format_size(cached), "whole": format_size(whole)}
    return Reason(STILL_CACHED, texts)


CHECKS: tuple[Check[WindowRecord], ...] = (
    Check(("load",), lambda of: memory_limit(of.window, of.around)),
    Check(("restores",), lambda of: still_cached(of.restore)),
)
