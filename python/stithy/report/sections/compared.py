"""What was compared: the facts of the study that a reader needs to judge the answer."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl
from pydantic import BaseModel

from stithy.activity import Factor
from stithy.point import Point, format_value
from stithy.report.blocks import Block, Grid, SectionKind, set_paragraph
from stithy.report.context import Context
from stithy.report.drawing.chart import has_levels
from stithy.report.drawing.compose import estimate_spans
from stithy.report.drawing.points import read_window_rows
from stithy.report.page import Page
from stithy.report.tables import PageTable, Show, make_table
from stithy.report.words import loads
from stithy.report.words.loads import name_drive
from stithy.report.words.wording import DASH, format_moment
from stithy.results.manifest import CandidateFacts, Fact, Manifest, SessionFacts, WorkloadFacts
from stithy.units import format_duration, format_list, format_rate, format_size


def _set_compared(page: Page) -> Iterator[Block]:
    table = page.tables["compared"]
    if not table.frame.is_empty():
        yield Grid(table, "facts")
    elif page.context.manifest is None:
        yield from set_paragraph("The manifest could not be read, so the set-up is not known.")


def make_compared_table(context: Context) -> PageTable:
    """One row a fact; empty without a manifest."""
    facts = _list_facts(context, context.manifest) if context.manifest else ()
    return _make_facts_table("compared", "What was compared", facts)


def _list_facts(context: Context, manifest: Manifest) -> Iterator[tuple[str, str]]:
    yield "candidates", format_list(context.evidence.candidates)
    if manifest.given_database is not None:
        yield from _list_server_facts(context, manifest)
    if manifest.given_load is not None:
        workload = manifest.workload
        size = _format_size_of(context, workload)
        yield "workload", f"{workload.name}, {size}{_describe_reach(manifest)}"
        yield "load", loads.describe_load(manifest.load, workload, manifest.by_engine)
    else:
        yield "scenario", manifest.scenario
    yield "levels" if context.axis.counts else "points", _format_levels(context)
    yield "blocks", _describe_blocks(context)
    yield "windows", _count_windows(context, manifest)
    if context.limit is not None:
        yield "response-time target", context.limit.text


def _list_server_facts(context: Context, manifest: Manifest) -> Iterator[tuple[str, str]]:
    database = manifest.database
    yield "database", loads.list_engines(manifest)
    if database.restore:
        yield "restore before each window", database.restore
    if tools := [
        tool for of in manifest.by_engine.values() for tool in of.database.backups.values()
    ]:
        yield "backups", format_list(list(dict.fromkeys(tools)))
    given = loads.join_engines(
        manifest,
        lambda of: ", ".join(f"{name} = {value}" for name, value in of.database.settings.items()),
    )
    yield "database settings in the study", given or "none"
    if own := [
        f"{candidate.name}: {text}"
        for candidate in manifest.candidates
        if (text := loads.format_settings(manifest, candidate))
    ]:
        yield "database settings of candidates", "; ".join(own)
    yield "database memory", _join_memory(context)
    if not database.by_url:
        yield "database CPUs", context.cpus_note or "any of the machine"


def _join_memory(context: Context) -> str:
    """The memory limit in words, with the note where it was widened or not enforced."""
    # What holds for all comes first, what holds for a single candidate after it.
    rows = sorted(context.measured_rows, key=lambda row: row["memory_limit_note"] is not None)
    texts: dict[str, dict[str, None]] = {}
    for row in rows:
        texts.setdefault(_describe_memory(row), {})[row["candidate"]] = None
    candidates = context.manifest.candidates if context.manifest else ()
    if texts and any(candidate.memory_limit_bytes for candidate in candidates):
        return "; ".join(f"{text} ({format_list(list(of))})" for text, of in texts.items())
    return "; ".join(texts) or "memory limit not recorded"


def _describe_memory(row: Mapping[str, object]) -> str:
    limit, note = row["memory_limit_bytes"], row["memory_limit_note"]
    if row["memory_limit_enforced"] is None:
        return str(note or "whether the memory limit held is recorded only while users work")
    if not row["memory_limit_enforced"]:
        return str(note or "the memory limit was not enforced: the reason is not known")
    size = format_size(limit) if isinstance(limit, int) else "that differs by tenant"
    if note:
        return f"memory limit {size} with {row['candidate']}, its files in memory included"
    return f"memory limit {size}, page cache included"


def _format_size_of(context: Context, workload: WorkloadFacts) -> str:
    """`6 rows`; where that varies each number of them."""
    unit = loads.name_unit(workload)
    if not workload.size.keys() & set(workload.varied):
        return loads.format_workload_size(workload)
    known = {window.row["units_total"] for window in context.evidence.windows} - {None}
    return f"{format_list([f'{each:,}' for each in sorted(known)])} {unit}s"


def _describe_reach(manifest: Manifest) -> str:
    share = manifest.load.touch_percent
    if "touch_percent" in manifest.load.varied:
        return "; users touch several shares of them"
    return f"; users touch {share} % of them" if share < 100 else ""


def _format_levels(context: Context) -> str:
    points = context.evidence.points
    if not points:
        return "none"
    counted, every = points[0].counted, points[0].values
    names = [each for each in every if not counted or each in (counted, *context.factors)]
    known = {
        name: [*dict.fromkeys(format_value(point.values[name]) for point in points)]
        for name in names
    }
    return "; ".join(_format_values(context.factor(name), values) for name, values in known.items())


def _describe_blocks(context: Context) -> str:
    """How often each level was measured: `4 at 4 and 13 users; 1 at 1 user`."""
    most: Counter[Point] = Counter()
    for window in context.evidence.windows:
        most[window.point] = max(most[window.point], window.block + 1)
    several = len(context.factors) > 1 or not context.axis.counts
    if len(set(most.values())) == 1 and several:
        return f"{most.popitem()[1]} at each point"
    levels: dict[int, list[str]] = {}
    for point in sorted(most):
        levels.setdefault(most[point], []).append(format_value(point.values[context.axis.name]))
    parts = [
        f"{blocks} at {_format_values(context.axis, list(dict.fromkeys(values)))}"
        for blocks, values in sorted(levels.items(), reverse=True)
    ]
    return "; ".join(parts) or "none"


def _format_values(factor: Factor, values: list[str]) -> str:
    if not factor.counts:
        return f"{factor.name} {format_list(values)}"
    return f"{format_list(values)} {factor.unit if values == ['1'] else factor.plural}"


def _count_windows(context: Context, manifest: Manifest) -> str:
    windows = context.evidence.windows
    valid = sum(window.valid for window in windows)
    load = manifest.given_load
    found = f"{len(windows)}, of them {valid or 'none'} valid"
    if load is None:
        return found
    if load.is_idle:
        return f"{found}; each lasts as long as its work"
    return (
        f"{found}; each {format_duration(load.ramp_up_s)} ramp-up and "
        f"{format_duration(load.duration_s)} measurement"
    )


Pair = tuple[str, str]


def make_facts_tables(manifest: Manifest | None) -> Iterator[PageTable]:
    """All tables of facts, in the order of the page; none without a manifest."""
    if manifest is None:
        return
    yield _compare_candidates(manifest)
    if any(candidate.drives for candidate in manifest.candidates):
        yield _list_drives(manifest)
    yield _make_facts_table("facts-load", "Workload and load", _load(manifest))
    if facts := _list_database_facts(manifest):
        yield _make_facts_table("facts-database", "Database", facts)
    if words := [(file, line) for file, of in manifest.profile_words.items() for line in of]:
        yield _make_facts_table("facts-words", "What became of the words of I/O profiles", words)
    environment = _flatten("", manifest.environment)
    yield _make_facts_table("facts-environment", "Environment of the host", environment)
    yield _make_facts_table("facts-identity", "Identity of the run", _list_identity(manifest))
    if len(manifest.sessions) > 1:
        sessions = (
            (f"session {number}, from {format_moment(each.started_at_s)}", _describe_end(each))
            for number, each in enumerate(manifest.sessions, start=1)
        )
        yield _make_facts_table("facts-sessions", "Sessions of the run", sessions)


def _make_facts_table(name: str, caption: str, pairs: Iterable[Pair]) -> PageTable:
    rows = ({"fact": fact, "value": value} for fact, value in pairs)
    return make_table(name, caption, (Show("fact", "Fact"), Show("value", "Value")), rows)


def _compare_candidates(manifest: Manifest) -> PageTable:
    by_name = {
        candidate.name: _describe_candidate(manifest, candidate)
        for candidate in manifest.candidates
    }
    facts = list(dict.fromkeys(fact for known in by_name.values() for fact in known))
    rows = [
        {"fact": fact, **{f"value:{name}": known.get(fact) for name, known in by_name.items()}}
        for fact in facts
    ]
    shows = (Show("fact", "Fact"), *(Show(f"value:{name}", name) for name in by_name))
    return make_table("facts-candidates", "Candidates", shows, rows)


def _list_drives(manifest: Manifest) -> PageTable:
    rows = [
        {
            "candidate": candidate.name, "role": drive.known_as, "profile": name_drive(drive),
            **{name: vars(drive)[name] for name in _AS_THEY_ARE}, "seed": str(drive.seed),
            "assumed": ", ".join(drive.assumed) or "nothing",
        }
        for candidate in manifest.candidates
        for drive in candidate.drives
    ]  # fmt: skip
    shows = (
        Show("candidate", "Candidate"), Show("role", "Role"), Show("profile", "Drive profile"),
        Show("size_bytes", "Size", "size"), Show("filesystem", "File system"),
        Show("backing", "Data kept in"), Show("transport", "Transport"),
        Show("transport_s", "Transport latency", "duration"),
    )  # fmt: skip
    return PageTable("facts-drives", "Emulated drives", shows, pl.DataFrame(rows))


_AS_THEY_ARE = (
    "size_bytes", "filesystem", "backing", "device", "transport", "transport_s", "spin_s",
    "sector_bytes",
)  # fmt: skip
"""What of a drive stands in its row as the manifest has it."""


def _describe_end(session: SessionFacts) -> str:
    at = "" if session.ended_at_s is None else f" {format_moment(session.ended_at_s)}"
    because = [session.end_because] if session.end_because else []
    changed = [f"changed before it: {each}" for each in session.changed]
    return "; ".join([f"{session.end}{at}", *because, *changed])


_SHOWN_APART = {
    "name", "environment", "drives", "arrays", "memory_limit_bytes", "cpus", "settings",
    "effective_settings", "server_version",
}  # fmt: skip


def _describe_candidate(manifest: Manifest, candidate: CandidateFacts) -> dict[str, str]:
    own = dict(_flatten("", _read_fields(candidate, leave=_SHOWN_APART)))
    server = {
        "server version": loads.find_version(manifest, candidate),
        "memory limit": loads.format_memory(manifest, candidate),
        "server CPUs": None
        if (bound := loads.count_cpus(manifest, candidate)) is None
        else str(bound),
        "database settings": loads.format_settings(manifest, candidate),
    }
    own |= {name: text for name, text in server.items() if text is not None}
    for engine, of in manifest.by_engine.items():
        effective = of.find(candidate.name).effective_settings or {}
        own |= _flatten(_name_of("effective settings", manifest, engine), effective, verbatim=True)
    own |= {f"array for {array.role}": str(array) for array in candidate.arrays}
    for drive in candidate.drives:
        own[f"emulated drive for {drive.role}"] = f"{name_drive(drive)}: {drive.title}"
    return {**own, **{k: v for k, v in _flatten("", candidate.environment) if k not in own}}


def _load(manifest: Manifest) -> list[Pair]:
    calibrated = _read_fields(manifest.calibration) if manifest.calibration else {}
    if manifest.given_load is None:
        return [("scenario", manifest.scenario)]
    workload = manifest.workload
    facts = _read_fields(workload, leave={"name", "size", "sizes", "options", "varied"})
    sizes = [", ".join(f"{key} {number:,}" for key, number in of.items()) for of in workload.sizes]
    own = {"sizes": sizes} if sizes else {}
    keys = {**workload.size, **facts, **own, **workload.options, "varied": workload.varied}
    return [
        *_flatten("", {"scenario": manifest.scenario}),
        *_flatten("workload", {"name": workload.name, **keys}),
        *_flatten("", _read_fields(manifest.load)),
        *_flatten("calibration of the driver", calibrated),
    ]


def _list_database_facts(manifest: Manifest) -> list[Pair]:
    if manifest.given_database is None:
        return []
    memory = _read_fields(manifest.memory) if manifest.memory else {}
    found: list[Pair] = []
    for engine, of in manifest.by_engine.items():
        database = {**_read_fields(of.database), "server_version": loads.list_versions(of)}
        found += _flatten(_name_of("", manifest, engine), database)
    return [*found, *_flatten("memory limit", memory)]


def _name_of(what: str, manifest: Manifest, engine: str) -> str:
    """What a fact is called, with its engine where there are several."""
    return f"{engine} {what}".strip() if manifest.other_engines else what


def _list_identity(manifest: Manifest) -> list[Pair]:
    kept = {
        "stithy_version", "hammer_version", "study_file", "study_sha256", "seed",
        "comparability_key", "schema_version", "end", "end_because",
    }  # fmt: skip
    fields = {key: value for key, value in _read_fields(manifest).items() if key in kept}
    moments = {
        "started": format_moment(manifest.started_at_s),
        "ended": None if manifest.ended_at_s is None else format_moment(manifest.ended_at_s),
    }
    return list(_flatten("", {**fields, **moments}))


def _read_fields(
    model: BaseModel, leave: frozenset[str] | set[str] = frozenset()
) -> dict[str, Any]:
    return {name: vars(model)[name] for name in type(model).model_fields if name not in leave}


def _flatten(prefix: str, facts: Mapping[str, Any], *, verbatim: bool = False) -> Iterator[Pair]:
    """Facts as (name, value), nested ones with the names of what holds them.

    `verbatim` keeps the names as they are: those of settings are the server's, not ours. A remark
    that nobody made is left out, and that nothing varied.
    """
    for name, value in facts.items():
        nothing_varied = name.endswith("varied") and not value
        if value is None and name.endswith(_REMARKS) or nothing_varied:
            continue
        shown_name = (
            name if verbatim else (_SAID.get(name) or _UNIT.sub("", name).replace("_", " "))
        )
        label = f"{prefix}: {shown_name}" if prefix else shown_name
        if isinstance(value, Fact):
            shown = value.value if value.missing_because is None else None
            if shown is None:
                yield label, f"{DASH} ({value.missing_because or 'not known'})"
            else:
                yield from _flatten(prefix, {name: shown}, verbatim=verbatim)
        elif isinstance(value, Mapping):
            yield from _flatten(label, value, verbatim=name.endswith("settings"))
        else:
            yield label, _format_value(name, value)


_REMARKS = ("because", "note")

_UNIT = re.compile(r"_(bytes|per_s|s)(?=$|_max$|_min$)")
"""The unit of a value, last in its name but for what may follow it."""

_SAID = {"master": "loaded the database"}
"""Names that say too little by themselves."""


def _format_value(name: str, value: Any) -> str:
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_format_value(name, each) for each in value) or "none"
    if not isinstance(value, int | float):
        return str(value)
    unit = _UNIT.search(name)
    if unit is None:
        return str(value)
    if unit[1] == "bytes":
        size, exact = format_size(value), f"{value:,} B"
        return size if size == exact else f"{size} ({exact})"
    return format_rate(value) if unit[1] == "per_s" else format_duration(value)


def write_guide(context: Context) -> str:
    """What their marks and bars are, as far as the run has them; empty without any window."""
    _, points = read_window_rows(context, context.evidence.throughput.known.column)
    if not points:
        return ""
    marks = "each mark is a window."
    if has_levels(points):
        marks = (
            "a large mark is a level of a candidate over all its valid windows. A small mark is a "
            "window."
        )
    parts = [f"In figures against {context.axis.plural}, {marks}"]
    if context.is_joined:
        parts.append("A line joins the levels of a candidate.")
    if any(not point["valid"] for point in points):
        parts.append("Hollow windows are invalid and support no claim.")
    if estimate_spans(points, log=False):
        parts.append(
            "Bars are plain 95 % t intervals of the mean over the blocks; on a logarithmic axis, "
            "of the geometric mean. Each describes one candidate, and decides nothing."
        )
    if len(context.evidence.candidates) > 1:
        parts.append("Candidates at the same level are drawn side by side.")
    return " ".join(parts)


PLUGINS = (
    SectionKind(
        "compared", 10, "What was compared", _set_compared,
        make_tables=lambda page: [make_compared_table(page.context)],
    ),
)  # fmt: skip
