"""What was compared: the facts of the study that a reader needs to judge the answer."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl
from pydantic import BaseModel

from stithy.activity import Factor
from stithy.point import Point, format_value
from stithy.report.blocks import Block, Grid, Section, paragraph
from stithy.report.context import Context
from stithy.report.drawing.chart import has_levels
from stithy.report.drawing.compose import spans
from stithy.report.drawing.points import window_rows
from stithy.report.page import Page
from stithy.report.section import SectionKind
from stithy.report.tables import PageTable, Show, table_of
from stithy.report.words import loads
from stithy.report.words.loads import named
from stithy.report.words.wording import DASH, duration, format_moment, listing
from stithy.results.manifest import CandidateFacts, Fact, Manifest, SessionFacts, WorkloadFacts
from stithy.units import format_rate, format_size


class ComparedSection(SectionKind):
    """What was compared: the facts of the study that a reader needs to judge the answer."""

    name = "compared"

    def make_tables(self, page: Page) -> Iterator[PageTable]:
        """One row per fact."""
        yield compared_table(page.context)

    def make_sections(self, page: Page) -> Iterator[Section]:
        """Always there."""
        yield Section("compared", 10, "What was compared", tuple(_set_compared(page)))


def _set_compared(page: Page) -> Iterator[Block]:
    table = page.tables["compared"]
    if not table.frame.is_empty():
        yield Grid(table, "facts")
    elif page.context.manifest is None:
        yield from paragraph("The manifest could not be read, so the set-up is not known.")


def compared_table(context: Context) -> PageTable:
    """One row a fact; empty without a manifest."""
    facts = _facts(context, context.manifest) if context.manifest else ()
    return _table("compared", "What was compared", facts)


def _facts(context: Context, manifest: Manifest) -> Iterator[tuple[str, str]]:
    yield "candidates", listing(context.evidence.candidates)
    if manifest.given_database is not None:
        yield from _server(context, manifest)
    if manifest.given_load is not None:
        workload = manifest.workload
        size = _format_size_of(context, workload)
        yield "workload", f"{workload.name}, {size}{_reach(manifest)}"
        yield "load", loads.said(manifest.load, workload)
    else:
        yield "scenario", manifest.scenario
    yield "levels" if context.axis.counts else "points", _levels(context)
    yield "blocks", _describe_blocks(context)
    yield "windows", _windows(context, manifest)
    if context.limit is not None:
        yield "response-time target", context.limit.text


def _server(context: Context, manifest: Manifest) -> Iterator[tuple[str, str]]:
    database = manifest.database
    yield (
        "database",
        f"{database.engine} {loads.list_versions(manifest) or '(version not known)'}",
    )
    if database.restore:
        yield "restore before each window", database.restore
    if database.backups:
        yield "backups", listing(list(dict.fromkeys(database.backups.values())))
    yield "database settings in the study", _settings(manifest)
    if own := _own_settings(manifest):
        yield "database settings of candidates", own
    yield "database memory", context.memory_note
    if not database.by_url:
        yield "database CPUs", context.cpus_note or "any of the machine"


def _settings(manifest: Manifest) -> str:
    given = [f"{name} = {value}" for name, value in manifest.database.settings.items()]
    return ", ".join(given) or "none"


def _own_settings(manifest: Manifest) -> str:
    given = [(each.name, loads.settings(manifest, each)) for each in manifest.candidates]
    return "; ".join(f"{name}: {text}" for name, text in given if text)


def _format_size_of(context: Context, workload: WorkloadFacts) -> str:
    """`6 rows`; where that varies each number of them."""
    unit = loads.unit(workload)
    if not workload.size.keys() & set(workload.varied):
        return loads.format_workload_size(workload)
    known = {each.row["units_total"] for each in context.evidence.windows} - {None}
    return f"{listing([f'{each:,}' for each in sorted(known)])} {unit}s"


def _reach(manifest: Manifest) -> str:
    share = manifest.load.touch_percent
    if "touch_percent" in manifest.load.varied:
        return "; users touch several shares of them"
    return f"; users touch {share} % of them" if share < 100 else ""


def _levels(context: Context) -> str:
    points = context.evidence.points
    if not points:
        return "none"
    counted, every = points[0].counted, points[0].values
    names = [each for each in every if not counted or each in (counted, *context.factors)]
    known = {
        name: [*dict.fromkeys(format_value(each.values[name]) for each in points)] for name in names
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
        return f"{factor.name} {listing(values)}"
    return f"{listing(values)} {factor.unit if values == ['1'] else factor.plural}"


def _windows(context: Context, manifest: Manifest) -> str:
    windows = context.evidence.windows
    valid = sum(window.valid for window in windows)
    load = manifest.given_load
    found = f"{len(windows)}, of them {valid or 'none'} valid"
    if load is None:
        return found
    if load.is_idle:
        return f"{found}; each lasts as long as its work"
    return (
        f"{found}; each {duration(load.ramp_up_s)} ramp-up and {duration(load.duration_s)} "
        "measurement"
    )


Pair = tuple[str, str]


def facts_tables(manifest: Manifest) -> list[PageTable]:
    """All tables of facts, in the order of the page."""
    return [
        _compare_candidates(manifest),
        *([_list_drives(manifest)] if any(each.drives for each in manifest.candidates) else []),
        _table("facts-load", "Workload and load", _load(manifest)),
        *([_table("facts-database", "Database", found)] if (found := _database(manifest)) else []),
        *([_profile_words(manifest)] if manifest.profile_words else []),
        _table("facts-environment", "Environment of the host", _flatten("", manifest.environment)),
        _table("facts-identity", "Identity of the run", _identity(manifest)),
        *([_list_sessions(manifest)] if len(manifest.sessions) > 1 else []),
    ]


def _profile_words(manifest: Manifest) -> PageTable:
    words = manifest.profile_words.items()
    pairs = ((file, line) for file, lines in words for line in lines)
    return _table("facts-words", "What became of the words of I/O profiles", pairs)


def _table(name: str, caption: str, pairs: Iterable[Pair]) -> PageTable:
    rows = ({"fact": fact, "value": value} for fact, value in pairs)
    return table_of(name, caption, (Show("fact", "Fact"), Show("value", "Value")), rows)


def _compare_candidates(manifest: Manifest) -> PageTable:
    by_name = {each.name: _describe_candidate(manifest, each) for each in manifest.candidates}
    facts = list(dict.fromkeys(fact for known in by_name.values() for fact in known))
    rows = [
        {"fact": fact, **{f"value:{name}": known.get(fact) for name, known in by_name.items()}}
        for fact in facts
    ]
    shows = (Show("fact", "Fact"), *(Show(f"value:{name}", name) for name in by_name))
    return table_of("facts-candidates", "Candidates", shows, rows)


def _list_drives(manifest: Manifest) -> PageTable:
    rows = [
        {
            "candidate": candidate.name, "role": drive.known_as, "profile": named(drive),
            **{name: getattr(drive, name) for name in _AS_THEY_ARE}, "seed": str(drive.seed),
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


def _list_sessions(manifest: Manifest) -> PageTable:
    pairs = (
        (f"session {number}, from {format_moment(each.started_at_s)}", _describe_end(each))
        for number, each in enumerate(manifest.sessions, start=1)
    )
    return _table("facts-sessions", "Sessions of the run", pairs)


def _describe_end(session: SessionFacts) -> str:
    at = "" if session.ended_at_s is None else f" {format_moment(session.ended_at_s)}"
    because = [session.end_because] if session.end_because else []
    changed = [f"changed before it: {each}" for each in session.changed]
    return "; ".join([f"{session.end}{at}", *because, *changed])


_SHOWN_APART = {
    "name", "environment", "drives", "arrays", "cost", "memory_limit_bytes", "cpus", "settings",
    "effective_settings", "server_version",
}  # fmt: skip


def _describe_candidate(manifest: Manifest, candidate: CandidateFacts) -> dict[str, str]:
    """What is known of a candidate and its volume; what the machine tells does not say it twice."""
    own = dict(_flatten("", _fields(candidate, leave=_SHOWN_APART)))
    server = {
        "server version": loads.find_version(manifest, candidate),
        "memory limit": loads.format_memory(manifest, candidate),
        "server CPUs": None
        if (bound := loads.count_cpus(manifest, candidate)) is None
        else str(bound),
        "database settings": loads.settings(manifest, candidate),
    }
    own |= {name: text for name, text in server.items() if text is not None}
    effective = candidate.effective_settings or {}
    own |= _flatten("effective settings", effective, verbatim=True)
    if candidate.cost is not None:
        own["cost"] = candidate.cost.shown
    own |= {f"array for {array.role}": str(array) for array in candidate.arrays}
    for drive in candidate.drives:
        own[f"emulated drive for {drive.role}"] = f"{named(drive)}: {drive.title}"
    return {**own, **{k: v for k, v in _flatten("", candidate.environment) if k not in own}}


def _load(manifest: Manifest) -> list[Pair]:
    calibrated = _fields(manifest.calibration) if manifest.calibration else {}
    if manifest.given_load is None:
        return [("scenario", manifest.scenario)]
    return [
        *_flatten("", {"scenario": manifest.scenario}),
        *_flatten("workload", _describe_workload(manifest.workload)),
        *_flatten("", _fields(manifest.load)),
        *_flatten("calibration of the driver", calibrated),
    ]


def _describe_workload(workload: WorkloadFacts) -> dict[str, Any]:
    facts = _fields(workload, leave={"name", "size", "options", "varied"})
    keys = {**workload.size, **facts, **workload.options}
    return {"name": workload.name, **keys, "varied": workload.varied}


def _database(manifest: Manifest) -> list[Pair]:
    if manifest.given_database is None:
        return []
    memory = _fields(manifest.memory) if manifest.memory else {}
    database = {**_fields(manifest.database), "server_version": loads.list_versions(manifest)}
    return [*_flatten("", database), *_flatten("memory limit", memory)]


def _identity(manifest: Manifest) -> list[Pair]:
    kept = {
        "stithy_version", "hammer_version", "study_file", "study_sha256", "seed",
        "comparability_key", "schema_version", "end", "end_because",
    }  # fmt: skip
    fields = {key: value for key, value in _fields(manifest).items() if key in kept}
    moments = {
        "started": format_moment(manifest.started_at_s),
        "ended": None if manifest.ended_at_s is None else format_moment(manifest.ended_at_s),
    }
    return list(_flatten("", {**fields, **moments}))


def _fields(model: BaseModel, leave: frozenset[str] | set[str] = frozenset()) -> dict[str, Any]:
    return {name: getattr(model, name) for name in type(model).model_fields if name not in leave}


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
            yield label, _text(name, value)


_REMARKS = ("because", "note")

_UNIT = re.compile(r"_(bytes|per_s|s)(?=$|_max$|_min$)")
"""The unit of a value, last in its name but for what may follow it."""


_SAID = {"master": "loaded the database"}
"""Names that say too little by themselves."""


def _text(name: str, value: Any) -> str:
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_text(name, each) for each in value) or "none"
    if not isinstance(value, int | float):
        return str(value)
    unit = _UNIT.search(name)
    if unit is None:
        return str(value)
    if unit[1] == "bytes":
        size, exact = format_size(value), f"{value:,} B"
        return size if size == exact else f"{size} ({exact})"
    return format_rate(value) if unit[1] == "per_s" else duration(value)


def guide_words(context: Context) -> str:
    """What their marks and bars are, as far as the run has them; empty without any window."""
    _, points = window_rows(context, context.evidence.throughput.known.column)
    if not points:
        return ""
    parts = [f"In figures against {context.axis.plural}, {_marks(has_levels(points))}"]
    if any(not point["valid"] for point in points):
        parts.append("Hollow windows are invalid and support no claim.")
    if spans(points, log=False):
        parts.append(
            "Bars are plain 95 % t intervals of the mean over the blocks; on a logarithmic axis, "
            "of the geometric mean. Each describes one candidate, and decides nothing."
        )
    if len(context.evidence.candidates) > 1:
        parts.append("Candidates at the same level are drawn side by side.")
    return " ".join(parts)


def _marks(is_of_several: bool) -> str:
    if not is_of_several:
        return "each mark is a window. A line joins the levels of a candidate."
    return (
        "a large mark is a level of a candidate over all its valid windows. A small mark is a "
        "window. A line joins the levels of a candidate."
    )


PLUGINS = (ComparedSection(),)
