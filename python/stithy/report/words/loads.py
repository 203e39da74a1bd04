"""How the database was driven, on which drives and by which program, as the page says it."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stithy.activity import count_users
from stithy.analysis.analyze import list_isolations
from stithy.metrics import count_values_needed
from stithy.plan.cost import explain_short_windows
from stithy.registry import plugins
from stithy.report.tables import PageTable, Show
from stithy.report.words.wording import begin_sentence
from stithy.restores.method import RestoreMethod
from stithy.results.comparability import SUBMISSION
from stithy.results.drives import PLURALS
from stithy.results.manifest import CandidateFacts, DriveFacts, LoadFacts, Manifest, WorkloadFacts
from stithy.statements import Statement, join_list
from stithy.units import format_list, format_scale, format_size
from stithy.workloads import words
from stithy.workloads.workload import Workload

Row = Mapping[str, Any]

CLOSED = (
    "The load is a closed loop: each user waits for its answer before it acts again. A stall of "
    "the storage therefore also stops the load, and at most one transaction per user shows it. "
    "Suppressed arrivals are the transactions that users would have begun at their usual pace "
    "during answers of over ten times the median of their type."
)
OPEN = (
    "The load is an open loop: transactions are due at a rate, whether or not earlier ones were "
    "answered. The response time of a transaction that was due during a stall of the storage "
    "therefore includes the wait. A level is a number of connections. The backlog at end is the "
    "transactions that were due before the end of the measurement and had not begun at it."
)

IDLE = (
    "Nobody works on the database. Each window holds what is done to it, and lasts as long as that "
    "takes."
)


def describe_short_windows(load: LoadFacts | None) -> tuple[str, ...]:
    """What windows shorter than usual cost, a sentence each."""
    if load is None or load.is_idle:
        return ()
    return explain_short_windows(load.ramp_up_s, load.duration_s)


def describe_load(
    load: LoadFacts | None, workload: WorkloadFacts | None, engines: Iterable[str] = ()
) -> str:
    """Loop and pace, connections, what users do, isolation, in one clause for every footer."""
    if load is None:
        return "Load not recorded"
    if load.is_idle:
        return words.IDLE
    is_open = load.is_open
    loop = words.describe_loop(
        load.pace, load.think_s, load.rate_per_s, load.arrivals,
        varied=load.varied,
    )  # fmt: skip
    pool = words.describe_pool(load.connections, is_open=is_open)
    isolations = list_isolations(load, engines)
    is_varied = "isolation" in load.varied or len(isolations) > 1
    parts = [
        begin_sentence(loop),
        words.SEVERAL_POOLS if "connections" in load.varied else pool,
        *_describe_keys(workload),
        "several isolation levels" if is_varied else isolations[0],
    ]
    if "touch_percent" in load.varied:
        parts.insert(2, "several shares of the data touched")
    elif load.touch_percent < 100:
        parts.insert(2, f"{load.touch_percent} % of the data touched")
    if load.precondition is not None:
        parts.append(f"pre-conditioned by {load.precondition}")
    if load.agents:
        parts.append(f"from {len(load.agents)} agents")
    parts += words.describe_network(load.network, varied="network" in load.varied)
    return ", ".join(parts)


def _describe_keys(workload: WorkloadFacts | None) -> Iterator[str]:
    known = find_workload(workload)
    if workload is None or known is None:
        return
    varied = [name for name in workload.options if name in workload.varied]
    same = {name: each for name, each in workload.options.items() if name not in varied}
    yield from known.in_words(same)
    yield from (f"several values of workload.{name}" for name in varied)


def label(workload: WorkloadFacts | None) -> str | None:
    """What must stand beside every number; None where nothing must."""
    if workload is None or (known := find_workload(workload)) is None:
        return None
    return known.find_label(workload.options, workload.every_size, workload.varied)


def find_workload(workload: WorkloadFacts | None) -> Workload | None:
    """The workload of a run; None where nobody knows it."""
    return plugins(Workload).get(workload.name) if workload else None


def describe_loop(load: LoadFacts | None) -> str:
    """What kind of loop it was, and what that means for the numbers."""
    if load is not None and load.is_idle:
        return IDLE
    return OPEN if load is not None and load.is_open else CLOSED


def describe_reach(rows: Sequence[Row], workload: WorkloadFacts | None, buffers: str) -> str | None:
    """Touched data against memory, where users reach most; None where no window knows it.

    `buffers`: what the engine calls its buffer pool.
    A memory limit that differs between windows is not in it: no single one would be true.
    """
    known = [each for each in rows if each["units_touched"] is not None]
    if not known:
        return None
    row = max(known, key=lambda each: int(each["units_touched"]))
    limits = {each["memory_limit_bytes"] for each in known if each["memory_limit_enforced"]}
    all_limited = all(each["memory_limit_enforced"] for each in known)
    limit_bytes = limits.pop() if all_limited and len(limits) == 1 else None
    sizes = (row["database_bytes"], row["buffer_pool_bytes"], limit_bytes)
    units = (row["units_touched"], row["units_total"], f"{name_unit(workload)}s")
    shown = words.describe_reach(*units, *sizes, buffers=buffers)
    differing = len({each["units_touched"] for each in known}) > 1
    where = f"At {count_users(row):,} users, " if differing else ""
    return f"{where}{shown}." if where else f"{begin_sentence(shown)}."


@dataclass(frozen=True)
class Profile:
    """A drive profile of the run: its name, its text, and what must be said of it."""

    name: str
    text: str
    words: str


def write_footer(manifest: Manifest | None) -> str:
    """Emulated candidates and how I/O was submitted, for the last line of every figure."""
    drives = ", ".join(f"{each.name} = {_name_profiles(each)}" for each in list_emulated(manifest))
    found = list_submissions(manifest)
    alike = len(set(found.values())) == 1
    io = next(iter(found.values())) if alike else ", ".join(map(" ".join, found.items()))
    parts = {"EMULATED drives": drives, "fio": io}
    return " · ".join(f"{name}: {text}" for name, text in parts.items() if text)


def list_submissions(manifest: Manifest | None) -> dict[str, str]:
    """How the requests of each I/O profile were submitted, and by which engine of fio."""
    facts = manifest.comparability.items() if manifest else ()
    return {
        name.removeprefix(SUBMISSION): str(text)
        for name, text in facts
        if name.startswith(SUBMISSION)
    }


def describe_drives(
    manifest: Manifest | None, floors: Mapping[str, float], *, off: bool = False
) -> str | None:
    """The same for the top of the page; None where nothing is emulated.

    `off`: there are windows in which a drive was not as described. `floors`: the times that the
    machine delivered instead of shorter ones, by operation.
    """
    shown = [f"{each.name} ({_name_profiles(each)})" for each in list_emulated(manifest)]
    if not shown:
        return None
    text = "are emulated drives: they take the times that their profiles describe."
    if len(shown) == 1:
        text = "is an emulated drive: it takes the times that its profile describes."
    but = " Some windows had other times (details: How sure this is)." if off else ""
    if least := [
        Statement("{operations} {floor:duration}", operations=PLURALS[name], floor=floor_s)
        for name, floor_s in floors.items()
    ]:
        return Statement(
            "{shown} {text} Shorter times are those of this machine, on all alike: {least}.{but}",
            shown=format_list(shown), text=text, least=join_list(least), but=but,
        )  # fmt: skip
    return f"{format_list(shown)} {text}{but}"


def describe_assumptions(manifest: Manifest | None) -> str | None:
    """How many of the numbers that decide are assumed, by profile; None where none is."""
    shown = []
    for name, drive in {drive.profile_name: drive for drive in _list_drives(manifest)}.items():
        numbers = _list_deciding(drive.profile)
        # A whole group of numbers may be assumed, by its name.
        assumed = sum(not {*drive.assumed}.isdisjoint((n, n.partition(".")[0])) for n in numbers)
        if assumed:
            shown.append(Statement("{assumed} of {deciding} of {profile}", assumed=assumed,
                                   deciding=len(numbers), profile=name))  # fmt: skip
    if not shown:
        return None
    return Statement(
        "Of the times and rates in the drive profiles, {profiles} are assumed: they were neither "
        "published nor measured.", profiles=join_list(shown),
    )  # fmt: skip


def _list_drives(manifest: Manifest | None) -> Iterator[DriveFacts]:
    return (drive for candidate in list_emulated(manifest) for drive in candidate.drives)


def read_numbers(profile: str) -> dict[str, Any]:
    """What of a drive profile is no text by its way, `read.p50_us`; without its provenance."""
    return {
        f"{name}.{key}" if key else name: value
        for name, table in tomllib.loads(profile).items()
        if name != "provenance"
        for key, value in (table.items() if isinstance(table, dict) else [("", table)])
        if not isinstance(value, str)
    }


def _list_deciding(profile: str) -> list[str]:
    try:
        facts = read_numbers(profile)
    except tomllib.TOMLDecodeError:
        return []
    others = ("version", "capacity_bytes")
    return [fact for fact in facts if fact not in others and not isinstance(facts[fact], bool)]


def list_profiles(manifest: Manifest | None) -> tuple[Profile, ...]:
    """Each profile once, in the order of the candidates."""
    found: dict[str, Profile] = {}
    for drive in _list_drives(manifest):
        found.setdefault(
            drive.profile, Profile(drive.profile_name, drive.profile, _describe(drive))
        )
    return tuple(found.values())


def make_drives_table(frame: pl.DataFrame, windows: Sequence[str]) -> PageTable:
    """What each emulated drive did in each window, by operation.

    `frame` is the table `drives`, `windows` are the ids of the windows in their order.
    """
    order = pl.DataFrame({"window_id": list(windows)}, schema={"window_id": pl.String})
    rows = order.join(
        frame.filter(pl.col("answered") > 0), on="window_id", maintain_order="left_right"
    ).select(
        "window_id", "role", "operation", "answered", "moved_bytes", "errors",
        *(
            pl.when(pl.col("logged") >= count_values_needed(percent)).then(f"latency_p{percent}_s")
            for percent in (50, 99)
        ),
        "latency_max_s", "late_answers",
        (pl.col("late_answers") / pl.col("answered")).alias("late_share"),
        "late_mean_s", "device_mean_s", "added_mean_s", "cpu_s", "cpu_wait_s",
    )  # fmt: skip
    failed = (Show("errors", "Errors", "count"),) if (rows["errors"] > 0).any() else ()
    return PageTable(
        "drives",
        "What the emulated drives did, by operation",
        (
            Show("window_id", "Window", "id"), Show("role", "Drive"),
            Show("operation", "Operation"), Show("answered", "Answered", "count"),
            Show("moved_bytes", "Moved", "size"), *failed,
            Show("latency_p50_s", "Drive latency, p50", "duration"),
            Show("latency_p99_s", "p99", "duration"),
            Show("late_share", "Late answers", "share"),
            Show("late_mean_s", "Lateness, mean", "duration"),
            Show("device_mean_s", "Block device, mean", "duration"),
            Show("added_mean_s", "Longer than the profile", "duration"),
        ),
        rows,
    )  # fmt: skip


def list_emulated(manifest: Manifest | None) -> Iterator[CandidateFacts]:
    """The candidates with emulated drives."""
    return (
        candidate for candidate in (manifest.candidates if manifest else ()) if candidate.drives
    )


def _name_profiles(candidate: CandidateFacts) -> str:
    by_role: dict[str, str] = {}
    for drive in candidate.drives:  # of a role the first: what follows lies beside it
        by_role.setdefault(drive.role, name_drive(drive))
    for array in candidate.arrays:
        number = f"{len(array.members)} × " if len(array.members) > 1 else ""
        by_role[array.role] = f"{number}{by_role[array.role]} as {array.kind}"
    return ", ".join(
        text if list(by_role) == ["data"] else f"{role} {text}" for role, text in by_role.items()
    )


def name_drive(drive: DriveFacts) -> str:
    """A drive by its profile: `generic-nvme`, `generic-sata at scale 1/8`."""
    scale = f" at scale {format_scale(drive.scale)}" if drive.scale != 1 else ""
    return f"{drive.profile_name}{scale}"


def _describe(drive: DriveFacts) -> str:
    model = ""
    if drive.scale != 1:
        model = (
            f" It is a scale model of {format_scale(drive.scale)}: capacity, IOPS, bandwidth and "
            "watts are divided, and latencies are kept."
        )
    assumed = "None of its numbers is assumed."
    if drive.assumed:
        verb = "is" if len(drive.assumed) == 1 else "are"
        assumed = (
            f"Assumed {verb} {format_list(list(drive.assumed))}; its other numbers name their "
            "source."
        )
    return f"{drive.profile_name} describes {drive.title}. {assumed}{model}"


def format_workload_size(workload: WorkloadFacts) -> str:
    """`6 rows`, of tenants each; by its keys where nobody knows the workload."""
    if known := find_workload(workload):
        return ", ".join(known.format_size(each) for each in workload.every_size)
    return " × ".join(f"{value:,} {key}" for key, value in workload.size.items())


def name_unit(workload: WorkloadFacts | None) -> str:
    """One of what the size of a workload counts, such as a row; `unit` where nobody knows it."""
    known = find_workload(workload)
    return known.unit if known else "unit"


def describe_provenance(manifest: Manifest | None) -> str:
    """The provenance of the run's workload; of all known ones where the run's is not known."""
    known = plugins(Workload)
    if manifest and manifest.given_workload and manifest.workload.name in known:
        return known[manifest.workload.name].provenance
    return " ".join(workload.provenance for workload in known.values())


def is_by_url(manifest: Manifest | None) -> bool:
    """Whether Stithy started none of the servers, but was given URLs."""
    database = manifest.given_database if manifest else None
    return database is not None and database.by_url


def find_version(manifest: Manifest, candidate: CandidateFacts) -> str | None:
    """The version of a candidate's server; None if no candidate has a version of its own."""
    if all(each.server_version is None for each in manifest.candidates):
        return None
    return manifest.server_version_of(candidate)


def join_engines(manifest: Manifest, write: Callable[[Manifest], str | None]) -> str | None:
    """Write something of each engine of a run, with its name where there are several."""
    texts = {engine: write(of) for engine, of in manifest.by_engine.items()}
    if len(texts) < 2:
        return next(iter(texts.values()), None)
    return "; ".join(f"{engine}: {text}" for engine, text in texts.items() if text) or None


def list_engines(manifest: Manifest) -> str:
    """`postgresql 15.18`, of several engines joined; each with its versions."""
    return format_list(
        [
            f"{engine} {list_versions(of) or '(version not known)'}"
            for engine, of in manifest.by_engine.items()
        ]
    )


def list_versions(manifest: Manifest) -> str | None:
    """`15.18`, or `15.18 on gp3, 16.2 on io2`; None where none is known."""
    if len(manifest.by_engine) > 1:
        return join_engines(manifest, list_versions)
    own = [(candidate.name, find_version(manifest, candidate)) for candidate in manifest.candidates]
    found = ", ".join(f"{text} on {name}" for name, text in own if text)
    return found or manifest.database.server_version


def format_memory(manifest: Manifest, candidate: CandidateFacts) -> str | None:
    """The memory limit of a candidate; None if no candidate has a limit of its own."""
    limit_bytes = manifest.memory_limit_of(candidate)
    if limit_bytes is None or all(each.memory_limit_bytes is None for each in manifest.candidates):
        return None
    return format_size(limit_bytes)


def count_cpus(manifest: Manifest, candidate: CandidateFacts) -> int | None:
    """How many CPUs the server of a candidate has; None if no candidate has its own number."""
    if all(each.cpus is None for each in manifest.candidates):
        return None
    bound = manifest.cpus_of(candidate)
    return None if bound is None else len(bound)


def format_settings(manifest: Manifest, candidate: CandidateFacts) -> str | None:
    """`work_mem = 8MB`: the settings that any candidate has of its own, as this one has
    them; None if no candidate has any.
    """
    if len(manifest.by_engine) > 1:
        return join_engines(manifest, lambda of: format_settings(of, of.find(candidate.name)))
    names = dict.fromkeys(name.lower() for each in manifest.candidates for name in each.settings)
    effective = manifest.effective_settings_of(candidate) or {}
    known = {name.lower(): value for name, value in effective.items()}
    values = {**known, **manifest.settings_of(candidate)}
    given = [f"{name} = {values.get(name, 'server default')}" for name in names]
    return ", ".join(given) or None


def restore_method(manifest: Manifest | None) -> RestoreMethod | None:
    """That of the run's database; None without one, and where nothing is known of it."""
    if manifest is None or manifest.given_database is None:
        return None
    return plugins(RestoreMethod).get(manifest.given_database.restore or "")
