"""The manifest as tables of facts: candidates, configuration, environment."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl
from pydantic import BaseModel

from stithy.money import Money
from stithy.report.tables import PageTable, Show
from stithy.report.words.drives import named
from stithy.report.words.wording import DASH, duration
from stithy.results.manifest import CandidateFacts, Fact, Manifest, SessionFacts
from stithy.units import format_rate, format_size

Pair = tuple[str, str]


def tables(manifest: Manifest) -> list[PageTable]:
    """All tables of facts, in the order of the page."""
    return [
        _candidates(manifest),
        *([_drives(manifest)] if any(each.drives for each in manifest.candidates) else []),
        _table("load", "Workload and load", _load(manifest)),
        _table("database", "Database", _database(manifest)),
        _table("environment", "Environment of the host", list(_pairs("", manifest.environment))),
        _table("identity", "Identity of the run", _identity(manifest)),
        *([_sessions(manifest)] if len(manifest.sessions) > 1 else []),
    ]


def _table(name: str, caption: str, pairs: list[Pair]) -> PageTable:
    frame = pl.DataFrame(pairs, schema={"fact": pl.String, "value": pl.String}, orient="row")
    return PageTable(
        f"facts-{name}", caption, (Show("fact", "Fact"), Show("value", "Value")), frame
    )


def _candidates(manifest: Manifest) -> PageTable:
    """The candidates side by side: one row a fact, one column a candidate."""
    by_name = {each.name: _candidate(each) for each in manifest.candidates}
    facts = list(dict.fromkeys(fact for known in by_name.values() for fact in known))
    columns: dict[str, list[str | None]] = {
        f"value:{name}": [known.get(fact) for fact in facts] for name, known in by_name.items()
    }
    schema = {"fact": pl.String, **dict.fromkeys(columns, pl.String)}
    shows = [Show(f"value:{name}", name) for name in by_name]
    return PageTable(
        "facts-candidates",
        "Candidates",
        (Show("fact", "Fact"), *shows),
        pl.DataFrame({"fact": facts, **columns}, schema=schema),
    )


def _drives(manifest: Manifest) -> PageTable:
    """The emulated drives: one row each."""
    rows = [
        {
            "candidate": candidate.name,
            "role": drive.role,
            "profile": named(drive),
            "size_bytes": drive.size_bytes,
            "filesystem": drive.filesystem,
            "backing": drive.backing,
            "device": drive.device,
            "transport": drive.transport,
            "transport_s": drive.transport_s,
            "spin_s": drive.spin_s,
            "sector_bytes": drive.sector_bytes,
            "seed": str(drive.seed),
            "assumed": ", ".join(drive.assumed) or "nothing",
        }
        for candidate in manifest.candidates
        for drive in candidate.drives
    ]
    shows = (
        Show("candidate", "Candidate"), Show("role", "Role"), Show("profile", "Drive profile"),
        Show("size_bytes", "Size", "size"), Show("filesystem", "File system"),
        Show("backing", "Bytes in"), Show("transport", "Reached by"),
        Show("transport_s", "Time of the way", "duration"),
    )  # fmt: skip
    return PageTable("facts-drives", "Emulated drives", shows, pl.DataFrame(rows))


def _sessions(manifest: Manifest) -> PageTable:
    """The sessions of a run that was resumed: one row each."""
    pairs = [
        (f"session {number}, from {moment(each.started_at_s)}", _ended(each))
        for number, each in enumerate(manifest.sessions, start=1)
    ]
    return _table("sessions", "Sessions of the run", pairs)


def _ended(session: SessionFacts) -> str:
    """How a session ended, when, and what had changed before it."""
    at = "" if session.ended_at_s is None else f" {moment(session.ended_at_s)}"
    because = [session.end_because] if session.end_because else []
    changed = [f"changed before it: {each}" for each in session.changed]
    return "; ".join([f"{session.end}{at}", *because, *changed])


def _candidate(candidate: CandidateFacts) -> dict[str, str]:
    """What is known of a candidate and its volume; what the machine tells does not say it twice."""
    own = dict(_pairs("", _fields(candidate, leave={"name", "environment", "drives", "cost"})))
    if candidate.cost is not None:
        own["cost"] = Money(candidate.cost.amount, candidate.cost.currency).shown
    for drive in candidate.drives:
        own[f"emulated drive of the {drive.role}"] = f"{named(drive)}: {drive.title}"
    return {**own, **{k: v for k, v in _pairs("", candidate.environment) if k not in own}}


def _load(manifest: Manifest) -> list[Pair]:
    calibrated = _fields(manifest.calibration) if manifest.calibration else {}
    return [
        *_pairs("workload", _fields(manifest.workload)),
        *_pairs("", _fields(manifest.load)),
        *_pairs("calibration of the driver", calibrated),
    ]


def _database(manifest: Manifest) -> list[Pair]:
    return [
        *_pairs("", _fields(manifest.database)),
        *_pairs("memory limit", _fields(manifest.memory)),
    ]


def _identity(manifest: Manifest) -> list[Pair]:
    kept = {
        "stithy_version", "hammer_version", "study_file", "study_sha256", "seed",
        "comparability_key", "schema_version", "end", "end_because",
    }  # fmt: skip
    fields = {key: value for key, value in _fields(manifest).items() if key in kept}
    moments = {
        "started": moment(manifest.started_at_s),
        "ended": None if manifest.ended_at_s is None else moment(manifest.ended_at_s),
    }
    return list(_pairs("", {**fields, **moments}))


def moment(unix_s: float) -> str:
    """A Unix time for people, in UTC: `2026-11-21 00:16:27 UTC`."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _fields(model: BaseModel, leave: frozenset[str] | set[str] = frozenset()) -> dict[str, Any]:
    return {name: getattr(model, name) for name in type(model).model_fields if name not in leave}


def _pairs(prefix: str, facts: Mapping[str, Any], *, verbatim: bool = False) -> Iterator[Pair]:
    """Facts as (name, value), nested ones with the names of what holds them.

    `verbatim` keeps the names as they are: those of settings are the server's, not ours. A remark
    that nobody made is left out.
    """
    for name, value in facts.items():
        if value is None and name.endswith(_REMARKS):
            continue
        shown_name = name if verbatim else _words(name)
        label = f"{prefix}: {shown_name}" if prefix else shown_name
        if isinstance(value, Fact):
            shown = value.value if value.missing_because is None else None
            if shown is None:
                yield label, f"{DASH} ({value.missing_because or 'not known'})"
            else:
                yield from _pairs(prefix, {name: shown}, verbatim=verbatim)
        elif isinstance(value, Mapping):
            yield from _pairs(label, value, verbatim=name.endswith("settings"))
        else:
            yield label, _text(name, value)


_REMARKS = ("because", "note")

_UNIT = re.compile(r"_(bytes|per_s|s)(?=$|_max$|_min$)")
"""The unit of a value, last in its name but for what may follow it."""


_SAID = {"master": "loaded the master copy"}
"""Names that say too little by themselves."""


def _words(name: str) -> str:
    return _SAID.get(name) or _UNIT.sub("", name).replace("_", " ")


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
