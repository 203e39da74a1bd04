"""From the tables of a run to a `Observation` of each window.

Everything is a mean over the measurement. Sessions are counted once a second, so a short wait is
seen as often as it lasts.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product

import polars as pl

from stithy.activity import count_users, split_names
from stithy.analysis.bottlenecks.observation import (
    GROUPS,
    LOCKS,
    Cpus,
    DeviceUse,
    LevelGrowth,
    LinkUse,
    Observation,
    Reached,
    Sessions,
)
from stithy.analysis.bottlenecks.stalls import estimate_stalled_shares
from stithy.analysis.checks.instruments import DRIVE_SLOWED, DRIVER_LATE
from stithy.analysis.evidence import Evidence, Window
from stithy.analysis.exporters import find_well_read
from stithy.analysis.instruments import measure_headroom
from stithy.analysis.series import EACH_ITS_OWN, OF_ALL, Sampled
from stithy.engines.declaration import UNKNOWN, Declaration
from stithy.exporters.metrics import EXPORTERS
from stithy.metrics import ALL
from stithy.point import Point
from stithy.results.manifest import ExporterFacts
from stithy.statements import Statement
from stithy.validity import Flag

RATES = {
    "read_iops": ("read IOPS", "answers_per_s", ("read",)),
    "write_iops": ("write IOPS", "answers_per_s", ("write",)),
    "total_iops": ("IOPS", "answers_per_s", ("read", "write")),
    "read_bytes_per_s": ("read bandwidth", "moved_bytes_per_s", ("read",)),
    "write_bytes_per_s": ("write bandwidth", "moved_bytes_per_s", ("write",)),
    "total_bytes_per_s": ("bandwidth", "moved_bytes_per_s", ("read", "write")),
}
"""Each cap of a profile: what it is called, the collector's metric, and of which operations."""


@dataclass(frozen=True)
class Ability:
    """Caps by their keys in a profile, and how many requests are served at once; None: no such."""

    caps: dict[str, float]
    channels: int | None


def read_ability(profile: str, scale: float) -> Ability | None:
    """What the text of a drive profile allows at a scale; None where it cannot be read.

    A disk that spins serves one request at once.
    Source: docs/reference/drive-profiles.md.
    """
    try:
        shown = tomllib.loads(profile)
    except tomllib.TOMLDecodeError:
        return None
    caps = shown.get("cap")
    known = {
        name: float(value)
        for name, value in (caps.items() if isinstance(caps, dict) else ())
        if name in RATES and isinstance(value, int | float) and value > 0
    }
    channels = 1 if "disk" in shown else shown.get("channels")
    return Ability(
        {name: value / scale for name, value in known.items()},
        channels if isinstance(channels, int) and channels > 0 else None,
    )


COLLECTORS = ("cpu", "block", "database", "drive")
EVENTS = "waiting_sessions_by_event"

Abilities = Mapping[tuple[str, str], Ability]
"""What an emulated drive allows, by candidate and by the drive's role, its name in the series."""

Values = dict[tuple[str, str, str], float]
"""Means of one window by collector, subject and metric."""

Server = tuple[str, str]
"""A window and an instance, whose name is empty for what is of no tenant alone."""


@dataclass(frozen=True)
class ObservedTables:
    """What of a run is looked at: what is kept of the samples, and the table `seconds`.

    `cpus`: how many the host has, None: not known. `emulated`: the candidates whose drives
    are. `surroundings`: the table of that name. `exporters`: of other hosts. `find_engine`:
    what the engine of the servers at a point declares.
    """

    sampled: Sampled
    seconds: pl.DataFrame
    surroundings: pl.DataFrame
    cpus: int | None
    emulated: frozenset[str]
    abilities: Abilities
    exporters: Mapping[str, ExporterFacts] = field(default_factory=dict)
    find_engine: Callable[[Point], Declaration] = lambda point: UNKNOWN


def observe_windows(evidence: Evidence, tables: ObservedTables) -> tuple[Observation, ...]:
    """A sight of each window with users that has numbers, in the order of the evidence."""
    sampled = tables.sampled
    wanted = OF_ALL & pl.col("collector").is_in((*COLLECTORS, EXPORTERS))
    values, looks = group_by_server(sampled.every_mean.filter(wanted))
    # The mean over all reads, by window and device.
    of_devices = pl.col("collector").is_in(("block", EXPORTERS))
    chosen = sampled.weighted.filter(of_devices, metric="read_latency_s").select(
        "window_id", "subject", "mean"
    )
    latencies = {(name, device): mean for name, device, mean in chosen.iter_rows()}
    stalled = estimate_stalled_shares(sampled.checkpoints, tables.seconds)
    # Why a collector gives nothing of a whole window, by window and collector. What limited several
    # tenants together their servers do not say: each has sessions of its own.
    apart = sampled.of_instances.select("window_id", "collector").unique().iter_rows()
    ended = sampled.ended.filter(OF_ALL).select("window_id", "collector", "missing_because")
    ends = dict.fromkeys(apart, EACH_ITS_OWN) | {
        (name, collector): why for name, collector, why in ended.iter_rows()
    }
    growth = _measure_growth(evidence)
    well_read = find_well_read(sampled.means, evidence.windows, tables.exporters)
    # How many CPUs programs used that are not of the run, by window.
    rows = tables.surroundings.select("window_id", "others_cpu_s", "span_s").iter_rows()
    others = {name: cpu_s / span_s for name, cpu_s, span_s in rows if span_s}

    def observed(window: Window) -> Observation:
        server, far = (window.id, ""), window.row.get("round_trip_s") is not None
        mine = {key: each for key, each in values.get(server, {}).items()
                if not (far and key[0] == "cpu")}  # fmt: skip
        there = {collector for collector, _, _ in mine}
        exporters = {name: facts for name, facts in tables.exporters.items()
                     if (window.id, name) in well_read}  # fmt: skip
        hosts = list(_list_far_hosts(mine, exporters, "database"))
        host = max(hosts, key=lambda cpus: cpus.used_share, default=None)
        is_open, opened = window.row["pace"] == "rate", window.row["connections_opened"]
        # In an open loop the time that they were served: who waits for a connection is nowhere yet.
        mean_s = window.value("service_mean_s" if is_open else "response_mean_s")
        rate_per_s = _find_rate_per_s(window)
        return Observation(
            window_id=window.id, is_open=is_open,
            # Of all tenants together: a point has the users of each, the row those of all.
            places=int(opened) if is_open and opened else count_users(window.row),
            paced=window.row["pace"] in ("keyed", "think"),
            under_way=None if rate_per_s is None or mean_s is None else rate_per_s * mean_s,
            headroom=measure_headroom(window.row), pool_waiting=_count_pool_waiting(window),
            backlog_share=_find_backlog_share(window),
            sessions=group_sessions(
                mine, looks.get(server, 0), tables.find_engine(window.point)
            ),
            host=host if far else _read_cpus(mine, "", tables.cpus),
            storage_hosts=tuple(_list_far_hosts(mine, exporters, "storage")),
            server=_read_cpus(mine, "server", window.row["server_cpus"]),
            devices=tuple(_read_devices(window, mine, latencies, exporters)),
            drives=tuple(_find_reached(window, mine, tables.abilities)),
            emulated=window.candidate in tables.emulated,
            late=_find_flagged(window, DRIVER_LATE), slowed=_find_flagged(window, DRIVE_SLOWED),
            stalled_share=stalled.get(window.id),
            others_cpus=None if far else others.get(window.id),
            growth=growth.get((window.candidate, window.point)), link=_read_link(window),
            unseen=_explain_unseen(window, there, tables, ends, is_seen=host is not None),
        )  # fmt: skip

    # Of a window without users nothing limited what they did.
    driven = (each for each in evidence.windows if "load" in each.tables)
    return tuple(observed(window) for window in driven if window.measured)


def _read_link(window: Window) -> LinkUse | None:
    """The busier direction of the load driver's link."""
    if (most := window.row.get("link_bytes_per_s_max")) is None:
        return None
    ways = [window.row[f"link_{way}_bytes_per_s"] for way in ("sent", "received")]
    known = [way for way in ways if way is not None]
    return LinkUse(most, max(known) / most if known else None)


def _has_shared_connections(window: Window) -> bool:
    opened = window.row["connections_opened"]
    return opened is not None and opened < count_users(window.row)


def count_pool_users(evidence: Evidence) -> dict[str, int]:
    """How many users share connections, by the windows of a closed loop in which they do."""
    closed = (
        window for window in evidence.windows if window.measured and window.row["pace"] != "rate"
    )
    return {each.id: count_users(each.row) for each in closed if _has_shared_connections(each)}


def _find_rate_per_s(window: Window) -> float | None:
    done, length_s = window.row["transactions"], window.measured_s
    return done / length_s if done and length_s else None


def _count_pool_waiting(window: Window) -> float | None:
    """Users who wait for a connection, by Little's law.

    Whoever has handed in a transaction to be done later does not wait for it: its line is none of
    users. That wait is longer than the response time, of which every other one is a part.
    """
    rate_per_s, wait_s = _find_rate_per_s(window), window.value("pool_wait_mean_s")
    if not _has_shared_connections(window) or rate_per_s is None or wait_s is None:
        return None
    deferred = (
        window.completed(name) * max(0.0, row["pool_wait_mean_s"] - row["response_mean_s"])
        for name, row in window.transactions.items()
        if name != ALL and None not in (row["pool_wait_mean_s"], row["response_mean_s"])
    )
    return float(rate_per_s * wait_s - sum(deferred) / (window.measured_s or math.inf))


def _find_backlog_share(window: Window) -> float | None:
    if window.row["pace"] != "rate" or window.row["transactions"] is None:
        return None
    backlog = window.row["backlog"] or 0
    due = backlog + window.row["transactions"] + (window.row["errors"] or 0)
    return backlog / due if due else None


def _measure_growth(evidence: Evidence) -> dict[tuple[str, Point], LevelGrowth]:
    found = {}
    ladders = dict.fromkeys(point.others for point in evidence.points)
    for name, others in product(evidence.candidates, ladders):
        known = [
            (point, tpm)
            for point in evidence.points
            if point.others == others
            and (tpm := evidence.level_value(name, point, "tpm")) is not None
            and tpm > 0
        ]
        for (point, tpm), (more, most) in zip(known, known[1:], strict=False):
            share = (most / tpm - 1) / (more.level / point.level - 1)
            users = count_users(evidence.valid_at(name, more)[0].row)
            found[name, point] = LevelGrowth(users, most / tpm, share)
    return found


def _find_flagged(window: Window, flag: Flag) -> str | None:
    data = next((reason.data for reason in window.reasons if reason.flag is flag), None)
    if data is None:
        return None
    template = flag.sentence.removeprefix("The instrument failed: ").rstrip(".")
    return Statement(f"{template[0].lower()}{template[1:]}", **data)


def group_by_server(means: pl.DataFrame) -> tuple[dict[Server, Values], dict[Server, int]]:
    """The means of each server's samples, and how often its sessions were looked at.

    Means of events are sums over all looks: only events that occur have samples.
    """
    found: dict[Server, Values] = {}
    looks: dict[Server, int] = {}
    columns = ("window_id", "instance", "collector", "subject", "metric", "mean", "samples")
    for name, of, collector, subject, metric, mean, samples in means.select(columns).iter_rows():
        value = mean * samples if metric == EVENTS else mean
        found.setdefault((name, of), {})[collector, subject, metric] = value
        if (collector, metric) == ("database", "active_sessions"):
            looks[name, of] = samples
    return found, looks


def group_sessions(
    values: Mapping[tuple[str, str, str], float], looks: int, engine: Declaration
) -> Sessions | None:
    """Sessions of a server by what they waited for; None where nobody looked.

    `values`: means by collector, subject and metric, of events sums over all `looks`.
    Own: an event that does not occur has no sample.
    """
    active = values.get(("database", "", "active_sessions"))
    if active is None or not looks:
        return None
    events = {
        subject: seen / looks for (_, subject, metric), seen in values.items() if metric == EVENTS
    }
    groups = dict.fromkeys(GROUPS, 0.0)
    for event, mean in events.items():
        groups[engine.wait_group(event)] += mean
    locks = {each: mean for each, mean in events.items() if engine.wait_group(each) == LOCKS}
    return Sessions(looks, active, groups, locks)


def _read_cpus(values: Values, subject: str, count: int | None) -> Cpus | None:
    idle = values.get(("cpu", subject, "idle_share"))
    if idle is None or not count:
        return None
    used = 1 - idle - values.get(("cpu", subject, "iowait_share"), 0.0)
    return Cpus(count, max(0.0, used))


def _list_far_hosts(
    values: Values, exporters: Mapping[str, ExporterFacts], role: str
) -> Iterable[Cpus]:
    for name in (name for name, facts in exporters.items() if facts.role == role):
        idle, count = (values.get((EXPORTERS, name, each)) for each in ("idle_share", "cpus"))
        if idle is not None and count:
            waited = values.get((EXPORTERS, name, "iowait_share"), 0.0)
            yield Cpus(round(count), max(0.0, 1 - idle - waited), name)


def _read_devices(
    window: Window,
    values: Values,
    latencies: Mapping[tuple[str, str], float],
    exporters: Mapping[str, ExporterFacts],
) -> Iterable[DeviceUse]:
    """Reads under way: time of all reads over all time; unknown where others work beside the users.

    Own: what works beside the users, such as a neighbour or a backup, may read the same device.
    """
    is_shared = len(split_names(window.row["activity"])) > 1
    names = dict.fromkeys((subject for of, subject, _ in values if of == "block"), "block")
    # Of other hosts those that a study says to be all under the database.
    names |= {f"{name}:{device}": EXPORTERS for name, facts in exporters.items()
              for device in facts.devices}  # fmt: skip
    for name, collector in names.items():
        used, under_way, rate = (
            values.get((collector, name, metric))
            for metric in ("utilisation_share", "queue_length", "reads_per_s")
        )
        # Without a read there is no latency, and none was under way.
        reads = None if rate is None or is_shared else rate * latencies.get((window.id, name), 0.0)
        yield DeviceUse(name, used, under_way, reads)


def _find_reached(window: Window, values: Values, abilities: Abilities) -> Iterable[Reached]:
    used = [
        value
        for (collector, _, metric), value in values.items()
        if collector == "block" and metric == "utilisation_share"
    ]
    for (candidate, drive), able in abilities.items():
        if candidate != window.candidate:
            continue
        for cap, limit in able.caps.items():
            what, metric, operations = RATES[cap]
            parts = [
                values.get(("drive", f"{drive}:{operation}", metric)) for operation in operations
            ]
            known = [part for part in parts if part is not None]
            if known:
                yield Reached(drive, what, sum(known) / limit)
        queue = values.get(("drive", drive, "queue_length"))
        if able.channels is not None and queue is not None and used:
            # A burst that waits fills the queue for a moment only: no longer than a device is used.
            yield Reached(drive, "channels", min(max(used), queue / able.channels))


def _explain_unseen(
    window: Window, there: set[str], tables: ObservedTables, ends: Mapping[tuple[str, str], str],
    *, is_seen: bool,
) -> dict[str, str]:  # fmt: skip
    """Why a collector tells nothing of a window; one that has nothing to look at is not missed.

    The CPUs beside a server that is elsewhere are not those of its host, which `is_seen` by its
    exporter.
    """
    far = window.row.get("round_trip_s") is not None
    asked = any(of.role == "database" and of.applies_to(window.candidate)
                for of in tables.exporters.values())  # fmt: skip
    lack = "its exporter has too few readings of CPUs" if asked else "no exporter of it is named"
    found = {"cpu": f"the host of the server was not seen ({lack})"} if far and not is_seen else {}
    for name in COLLECTORS[1:] if far else COLLECTORS:
        why = ends.get((window.id, name))
        nothing_there = name == "block" and why is None
        expected = name != "drive" or window.candidate in tables.emulated
        if name not in {*there, *found} and expected and not nothing_there:
            shown = f" ({why})" if why else ""
            found[name] = f"the collector `{name}` has no samples in the measurement{shown}"
    return found
