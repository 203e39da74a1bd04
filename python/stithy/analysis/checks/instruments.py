"""Were the emulated drives those of their profiles, for those who waited for them?"""

from collections.abc import Iterator, Sequence

from stithy.analysis.gathering import WindowChecks, WindowRecord
from stithy.analysis.instruments import (
    NOTED_SHARE,
    find_allowed_share,
    find_asked_s,
    find_delayed_path,
    is_beyond,
    is_scattered,
    list_judged,
)
from stithy.analysis.surroundings import (
    OTHERS_CPU_SHARE,
    STEAL_SHARE,
    Baseline,
    WatchedWindow,
    is_disk_shared,
)
from stithy.metrics import ALL
from stithy.results.drives import PLURALS
from stithy.statements import Statement, join_parts
from stithy.validity import Check, Flag, Reason, Row, make_clause

DRIVER_LATE = Flag(
    "driver late",
    "The driver was late by {mean:duration} in the mean (99th percentile {lateness:duration}), "
    "{delay:.0f %} of the mean response time.",
    "Give the driver more CPU or its own host. The response times include its lateness.",
    invalidates=True,
)

DRIVE_SLOWED = Flag(
    "emulated drive too slow",
    "The instrument failed: on emulated drives {path} took {delay:.0f %} {how} (allowed: "
    "{allowed:.0f %}): {times}.",
    "It is not the drive that the profile describes. Leave a CPU free for it: let nothing else "
    "run on this machine, use fewer users, or emulate a slower drive.",
    invalidates=True,
)

DRIVE_OFF = Flag(
    "emulated drive not as described",
    "On emulated drives {path} took {delay:.0f %} {how} (allowed: {allowed:.0f %}): {times}.",
    "The candidate had these times, not those of its profile. With a spare CPU the drive comes "
    "closer to its profile.",
)

NAMED_MOST = 3
"""Own: of an array's times and drives; the table of the drives has all."""


CAPPED = "; a commit counts less of that"
_NAMES = {**PLURALS, "commit": "commits", ALL: "answers"}


Weight = tuple[bool, float]
"""Whether it is of the path that decided, and the time that it added."""


def _name_greatest(weighed: Sequence[tuple[Weight, Statement]], what: str) -> list[Statement]:
    """Give those of the greatest weight, and count the others."""
    greatest = sorted(weighed, key=lambda one: one[0], reverse=True)
    named = [statement for _, statement in greatest[:NAMED_MOST]]
    more = len(weighed) - len(named)
    return [*named, Statement(f"{{more:+{what}}} more", more=more)] if more else named


def find_off_profile(of: WindowRecord) -> Reason | None:
    """Drives let wait for longer, or shorter, than profiles and machine say.

    The path that decided is named first, and its times before those of others.
    Source: docs/explanation/method.md, "Emulated drives".
    """
    rows, floors = of.drives, of.floors
    path = find_delayed_path(rows, floors, every_write="io_seconds" in of.tables)
    if path is None or abs(path.share) <= NOTED_SHARE:
        return None
    flag = DRIVE_SLOWED if is_beyond(path.share, of.window) else DRIVE_OFF
    commits = {role for role, operation in path.parts if operation == "flush"}
    capped = {(role, "write") for role in commits if path.operation != "flush"} - {*path.parts}
    times = [
        ((part in path.parts, abs(added) * row["answered"]), Statement(
            "{took:duration} for {operations} of {drive:drive} (asked: {asked:duration}{but})",
            took=row["device_mean_s"], operations=PLURALS[row["operation"]], drive=row["role"],
            asked=asked, but=CAPPED if part in capped else "",
        ))
        for row in list_judged(rows) for part in [(row["role"], row["operation"])]
        if abs(added := row["device_mean_s"] - (asked := find_asked_s(row, floors)))
        > NOTED_SHARE * asked
    ]  # fmt: skip
    late = [
        (((row["role"], ALL) in path.parts, row["late_answers"] * row["late_mean_s"]), Statement(
            "{late:,} of {answers:,} answers of {drive:drive} late, all by {by:duration} in the "
            "mean",
            late=row["late_answers"], answers=row["answered"], drive=row["role"],
            by=row["late_mean_s"],
        ))
        for row in filter(is_scattered, rows)
    ]  # fmt: skip
    named = _name_greatest(times, "time"), _name_greatest(late, "drive")
    first, then = reversed(named) if (path.role, ALL) in path.parts else named
    whose = {"what": _NAMES[path.operation], "drive": path.role}
    data = {
        "path": Statement("{what} of {drive:drive}", **whose) if path.role
        else Statement("all that was waited for"),
        "delay": abs(path.share),
        "how": "longer" if path.share > 0 else "less time",
        "allowed": find_allowed_share(of.window), "times": join_parts([*first, *then]),
    }  # fmt: skip
    return Reason(flag, data, path.share)


DRIVES_CHECKS = WindowChecks("drives", 20, (Check(("drives",), find_off_profile),))

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
    "{size:size} of the restored {whole:size} were still in the page cache at the start, outside "
    "the memory limit.",
    "End other programs that have these files open. Reads of these pages may not have reached "
    "the storage.",
)

STILL_CACHED_SHARE = 0.01
"""Own: of the restored bytes; less cannot be distinguished from the noise of a cache."""


def find_memory_limit(window: Row, around: Row | None = None) -> Reason | None:
    """The limit on server and page cache was not held, was lost, or was widened.

    Of a server that is not Stithy's it is not known, nor is what else its host would tell.
    One that could not be put is known and the same for all; one that was lost is a failure.
    Source: docs/explanation/method.md, "The same state".
    """
    note = window["memory_limit_note"]
    if around is not None and around["memory_limit_lost"]:
        return Reason(MEMORY_LIMIT_LOST, {"because": make_clause(around["memory_limit_lost"])})
    if window["memory_limit_enforced"] is None:
        return Reason(NOT_JUDGED, {"because": make_clause(note or "the reason is not known")})
    if not window["memory_limit_enforced"]:
        return Reason(MEMORY_LIMIT, {"because": make_clause(note or "the reason is not known")})
    if note:
        return Reason(MEMORY_LIMIT_WIDENED, {"because": make_clause(note)})
    return None


def find_still_cached(row: Row | None) -> Reason | None:
    """Pages of the restored files that could not be evicted.

    Edge case: on a file system in memory that is known beforehand.
    """
    if row is None or row.get("resident_bytes") is None:
        return None
    cached, whole = row["resident_bytes"], row["size_bytes"]
    if cached <= STILL_CACHED_SHARE * whole:
        return None
    return Reason(STILL_CACHED, {"size": cached, "whole": whole})


MEMORY_CHECKS = WindowChecks(
    "memory",
    50,
    (
        Check(("load",), lambda of: find_memory_limit(of.window, of.around)),
        Check(("restores",), lambda of: find_still_cached(of.restore)),
    ),
)

COLLECTOR = Flag(
    "collector stopped",
    "Samples are missing from {collectors}, which stopped.",
    "The table `series` gives the reason. Throughput and response times are not affected.",
    unsampled=True,
)

UNANSWERED = Flag(
    "collector not answered",
    "The server did not answer {collectors} to the end.",
    "Throughput and response times are not affected. Figures of these series have gaps.",
)

COLLECTORS_SILENT = Flag(
    "no samples",
    "The collectors gave samples of {seconds} of {length:.0f} s.",
    "Leave CPU time for Stithy. Throughput and response times are not affected.",
    unsampled=True,
)

SAMPLED_SHARE = 0.8
SECONDS_SHARED = 2
"""Own: a sampler that loses more than a fifth of the seconds was starved, or died. At its ends a
window shares a second with what is before and after it."""


def find_stopped(seen: WatchedWindow) -> Reason | None:
    """Collectors that stopped by a fault.

    Own: what users did is counted elsewhere. Its own metrics of the window are missing.
    """
    return Reason(COLLECTOR, {"collectors": ", ".join(seen.stopped)}) if seen.stopped else None


def find_unanswered(seen: WatchedWindow) -> Reason | None:
    """What is measured did not answer a collector.

    Own: a stall is its doing, so nothing becomes invalid by it.
    """
    names = ", ".join(seen.unanswered)
    return Reason(UNANSWERED, {"collectors": names}) if names else None


def find_silent(window: Row, seen: WatchedWindow) -> Reason | None:
    """The collectors were silent for too much of the measurement."""
    begin_s, end_s = window["measure_from_s"], window["measure_to_s"]
    if seen.seconds is None or begin_s is None or end_s is None:
        return None
    length_s = end_s - begin_s
    if seen.seconds >= SAMPLED_SHARE * length_s - SECONDS_SHARED:
        return None
    return Reason(COLLECTORS_SILENT, {"seconds": seen.seconds, "length": length_s})


COLLECTORS_CHECKS = WindowChecks(
    "collectors",
    70,
    (
        Check(("series",), lambda of: find_stopped(of.watched)),
        Check(("series",), lambda of: find_unanswered(of.watched)),
        Check(("series",), lambda of: find_silent(of.window, of.watched)),
    ),
)

INTERFERENCE = Flag(
    "interference",
    "There was interference: {seen}.",
    "Let nothing else run on this machine. Interference may affect the candidates of a block "
    "differently.",
)

NOT_QUIET = Flag(
    "another candidate not quiet",
    "Storage that was not measured was not quiet: {size:size} were read or written on that of "
    "{names}.",
    "Find the program that uses it. It may take CPU or bandwidth from the measured candidate.",
)

MACHINE_CHANGED = Flag(
    "the machine changed",
    "The machine had changed: in the baseline check before this block {off}.",
    "Find out whether other programs ran, or CPUs were throttled. All candidates of the block "
    "met the same conditions, but its values may not be typical of this machine.",
)

IDLE_BYTES = 2**20
"""Own: a file system that nobody uses writes some blocks about itself now and then."""


def find_interference(around: Row | None, watched: WatchedWindow) -> Reason | None:
    """Others used CPUs or the disks under the volumes, or the hypervisor gave CPUs to others."""
    seen = [*_describe_others(around)] if around is not None else []
    stolen = watched.steal_share
    if stolen is not None and stolen > STEAL_SHARE:
        seen.append(
            Statement("the hypervisor gave {stolen:.0f %} of the CPUs to others", stolen=stolen)
        )
    return Reason(INTERFERENCE, {"seen": join_parts(seen, "; ")}) if seen else None


def _describe_others(around: Row) -> Iterator[Statement]:
    who = f" ({around['others_names']})" if around["others_names"] else ""
    cpus = around["others_cpu_s"] / around["span_s"] if around["span_s"] else 0.0
    if cpus > OTHERS_CPU_SHARE * around["cpus"]:
        yield Statement(
            "other programs used {others_used:.1f} of {cpus} CPUs{who}",
            others_used=cpus, cpus=around["cpus"], who=who,
        )  # fmt: skip
        who = ""
    if is_disk_shared(around):
        yield Statement(
            "other programs moved up to {moved:size} of {disks:size} on the disks under the "
            "volumes{who}",
            moved=around["others_here_bytes"], disks=around["disks_bytes"], who=who,
        )  # fmt: skip


def find_not_quiet(around: Row | None) -> Reason | None:
    """Devices of other candidates were used while this one was measured."""
    if around is None or (around["idle_bytes"] or 0) <= IDLE_BYTES:
        return None
    names = around["idle_names"] or "others"
    return Reason(NOT_QUIET, {"size": around["idle_bytes"], "names": names})


def find_machine_changed(baseline: Baseline | None) -> Reason | None:
    """The baseline check before its block was far off the others.

    Source: docs/explanation/method.md, "Baseline checks of the machine".
    """
    if baseline is None or not baseline.off:
        return None
    parts = []
    for off in baseline.off:
        verb, how = off.gauge.name_change(grew=off.share > 0)
        said = f"{off.gauge.what} {verb} {{share:.0f %}} {how}"
        parts.append(Statement(said, share=abs(off.share)))
    return Reason(MACHINE_CHANGED, {"off": join_parts(parts)})


NEIGHBOURS_CHECKS = WindowChecks(
    "neighbours",
    80,
    (
        Check(("surroundings",), lambda of: find_interference(of.around, of.watched)),
        Check(("surroundings",), lambda of: find_not_quiet(of.around)),
        Check(("baseline",), lambda of: find_machine_changed(of.baseline)),
    ),
)

PLUGINS = (DRIVES_CHECKS, MEMORY_CHECKS, COLLECTORS_CHECKS, NEIGHBOURS_CHECKS)
