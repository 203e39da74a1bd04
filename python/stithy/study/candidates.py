"""The candidates of a study: their sources by role, and the keys that each of them has."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, PlainSerializer, PlainValidator, WithJsonSchema, create_model

from stithy.engines.engine import Engine, get_engine
from stithy.pricing.keys import explain_move
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.storage.provider import ROLES, Provider, Role
from stithy.study.database import CpuCount, Memory, Settings, make_example_settings
from stithy.study.problems import Violation, list_kinds, refuse
from stithy.study.scenario import Scenario
from stithy.units import FrozenModel, make_rule_error

if TYPE_CHECKING:
    from stithy.study.model import Study


def _read_source(value: Any) -> "Candidate | None":
    """The source that a mapping describes, as that of a candidate, without a candidate's keys."""
    if value is None or isinstance(value, Candidate):
        return value
    name = _find_provider(value, "source")
    return Candidate(name, plugins(Provider)[name].spec.model_validate(value))


SourceValue = Annotated[
    Any,
    PlainValidator(_read_source),
    PlainSerializer(
        lambda source: (
            source and source.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
        )
    ),
    WithJsonSchema({"type": "object"}),
]
"""A source in a study file."""


class RoleSources(FrozenModel):
    """The roles that have a source of their own, of any kind that a candidate may have."""

    log: SourceValue = Field(
        default=None,
        json_schema_extra={"default": "the source of the data"},
        description="Where the write-ahead log lies.",
        examples=[{"drive": "generic-nvme"}],
    )
    undo: SourceValue = Field(
        default=None,
        json_schema_extra={"default": "the source of the data"},
        description="Where older versions of rows lie, with `engine: mariadb`.",
        examples=[{"drive": "generic-nvme"}],
    )
    temp: SourceValue = Field(
        default=None,
        json_schema_extra={"default": "the source of the data"},
        description="Where temporary files lie: sorts and hashes that exceed memory.",
        examples=[{"path": "/var/tmp/stithy-temp"}],
    )
    backup: SourceValue = Field(
        default=None,
        json_schema_extra={"default": "the source of the data"},
        description="Where backups lie.",
        examples=[{"drive": "generic-7200"}],
    )
    target: SourceValue = Field(
        default=None,
        json_schema_extra={"default": "none"},
        description="Where a database moves to (`scenario.migration`).",
        examples=[{"drive": "io2"}],
    )

    @property
    def given(self) -> "dict[Role, Candidate]":
        """Those that there are."""
        own = dict(self)
        return {role: own[role] for role in ROLES if own.get(role) is not None}


class CandidateKeys(FrozenModel):
    """The keys of every candidate."""

    memory_bytes: Memory | None = Field(
        alias="memory",
        default=None,
        json_schema_extra={"default": "that of the database"},
        description=(
            "Memory limit of the server on this candidate, including the page cache of its files. "
            "With it, one study can compare more memory with faster storage: see "
            "docs/how-to/memory-or-storage.md."
        ),
        examples=["2 GiB"],
    )
    cpus: CpuCount | None = Field(
        default=None,
        json_schema_extra={"default": "that of the database"},
        description=(
            "Number of CPUs that the server on this candidate may use. The load driver and the "
            "emulated drives have the same CPUs in all windows: those that no server may use. If "
            "there is none, they run on any CPU."
        ),
        examples=[2],
    )
    settings: Settings = Field(
        default={},
        json_schema_extra={"default": "those of the database"},
        description=(
            "Settings of the database server on this candidate. They replace those of the same "
            "name in `database.settings`; the other settings stay."
        ),
        examples=[make_example_settings()[1]],
    )
    roles: RoleSources = Field(
        default=RoleSources(),
        json_schema_extra={"default": "one source for all"},
        description=(
            "Sources of their own for the log, undo, temporary files or backups, or where the "
            "database moves to, of any kind: another drive, an array, a device, a directory."
        ),
    )


@cache
def make_candidate_model(provider: str) -> type[BaseModel]:
    """The `Spec` of a provider with the keys of every candidate."""
    spec = plugins(Provider)[provider].spec
    return create_model(spec.__name__, __base__=(CandidateKeys, spec), __doc__=spec.__doc__)


@dataclass(frozen=True)
class Candidate:
    """One storage option: the name of its provider, and that provider's `Spec`.

    `spec` has the keys of every candidate as well, if it was read from a study.
    """

    provider: str
    spec: BaseModel

    @property
    def kind(self) -> Provider:
        """Its provider."""
        return plugins(Provider)[self.provider]

    @property
    def keys(self) -> CandidateKeys:
        """Its keys that every candidate has; none are given where it is a source of another one."""
        return self.spec if isinstance(self.spec, CandidateKeys) else CandidateKeys()

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit of its server, None where it has none of its own."""
        return self.keys.memory_bytes

    @property
    def cpus(self) -> int | None:
        """How many CPUs its server may use, None where it has no number of its own."""
        return self.keys.cpus

    @property
    def sources(self) -> "dict[Role, Candidate]":
        """Its source for each role that has one: of the data itself, which serves all others."""
        return {"data": self, **self.keys.roles.given}

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of its server beside or instead of the study's."""
        return self.keys.settings


def read_candidate(value: Any) -> Candidate:
    """The candidate that a mapping describes; the one key that names a provider says whose."""
    if isinstance(value, Candidate):
        return value
    name = _find_provider(value, "candidate")
    refuse([explain_move(value["cost"])] if "cost" in value else [])
    return Candidate(name, make_candidate_model(name).model_validate(value))


def _find_provider(value: Any, what: str) -> str:
    named = list_kinds(value, list(plugins(Provider)), what, "a provider")
    if len(named) > 1:
        raise make_rule_error(
            f"a {what} with two providers, {' and '.join(named)}", "keep one of them"
        )
    return named[0]


def read_candidates(candidates: dict[str, Candidate]) -> dict[str, Candidate]:
    """Refuse candidates that would stand on the same storage."""
    refuse(_find_shared(list(candidates.items())))
    return candidates


def _find_shared(candidates: list[tuple[str, Candidate]]) -> Iterator[Violation]:
    for i, (name, candidate) in enumerate(candidates):
        same = [each for each, earlier in candidates[:i] if _share_storage(candidate, earlier)]
        own = list(candidate.sources.items())
        for role, source in own[1:]:
            before = own[: own.index((role, source))]
            if any(_has_overlap(source, earlier) for _, earlier in before):
                right = "leave it out: a role without a source lies with the data"
                yield Violation("two roles on the same storage", right, None, (name, "roles", role))
        if same:
            what = f"candidates `{same[0]}` and `{name}` share the same storage"
            place, key = dict(candidate.spec).get(candidate.provider), candidate.provider
            yield Violation(what, "give each candidate a place of its own", place, (name, key))


def _share_storage(one: Candidate, other: Candidate) -> bool:
    return any(_has_overlap(a, b) for a in one.sources.values() for b in other.sources.values())


def _has_overlap(one: Candidate, other: Candidate) -> bool:
    return one.provider == other.provider and one.kind.is_overlapping(one.spec, other.spec)


def find_url(candidate: Candidate) -> str | None:
    """The URL of the database that the candidate is; None for one on volumes of its own."""
    return candidate.kind.give_url(candidate.spec)


def is_emulated(candidate: Candidate) -> bool:
    """Whether this machine's own CPUs stand in for the candidate's drives, or some of them."""
    return any(
        source.kind.has_emulated_drives(source.spec) for source in candidate.sources.values()
    )


def name_drives(candidate: Candidate) -> tuple[str, ...]:
    """The names of its emulated drives, such as `data`; none for a candidate without drives.

    Each source names them as if it held the data.
    """
    return tuple(
        f"{role}{name.removeprefix('data')}"
        for role, source in candidate.sources.items()
        for name in source.kind.name_drives(source.spec)
    )


ELSEWHERE = "the server of a database by URL is not Stithy's"


def find_url_conflicts(study: "Study", data: Mapping[str, Any]) -> Iterator[Violation]:
    """Find all of a study, read from `data`, that databases by URL may not have, each at its place.

    Candidates of both kinds in one study are refused: they would differ in the server's CPUs and
    memory, in the network, and in who else uses both, and the storage would get the blame.
    """
    urls = {name: url for name, each in study.candidates.items() if (url := find_url(each))}
    if not urls:
        for name in study.engines if study.given_database else ():
            if because := get_engine(name).no_server:
                right = "give each candidate a `url` of its database"
                what = f"{name} by URL only: {because}"
                yield Violation(what, right, name, ("database", "engine"))
        return
    for name in study.candidates:
        if name not in urls:
            what = "a candidate on this machine beside databases by URL"
            right = "compare them in two studies: their servers and networks are not the same"
            yield Violation(what, right, name, ("candidates", name))
        else:
            yield from _check_candidate(study, name, urls[name])
    engine = study.given_database.engine if study.given_database else ""
    if not study.scenario.plugin.has_urls(engine):
        able = [name for name, scenario in plugins(Scenario).items() if scenario.has_urls(engine)]
        what = f"the scenario {study.scenario.name} needs storage that Stithy can see"
        yield Violation(what, f"use {' or '.join(able)}", study.scenario.name, ("scenario",))
    yield from _check_database(study, data)


def _list_followed(engine: Engine | None) -> frozenset[str]:
    return frozenset({"settings"}) if engine and engine.is_set_by_url else frozenset()


def list_refused_keys(provider: Provider, engine: Engine | None) -> Mapping[str, str]:
    """List those of `CandidateKeys` that a provider's candidates may not have, by field."""
    keys = CandidateKeys.model_fields.items() if provider.is_by_url else ()
    followed = _list_followed(engine)
    return {field: info.alias or field for field, info in keys if field not in followed}


def _check_candidate(study: "Study", name: str, url: str) -> Iterator[Violation]:
    candidate, database = study.candidates[name], study.given_database
    engine = get_engine(database.engine) if database else None
    refused = list_refused_keys(candidate.kind, engine)
    for field in sorted(candidate.spec.model_fields_set & refused.keys()):
        key = refused[field]
        yield Violation(ELSEWHERE, "leave this key out", key, ("candidates", name, key))
    if engine and urlsplit(url).scheme not in engine.url_schemes:
        what = f"the URL of another engine than {engine.name}"
        yield Violation(what, "correct `database.engine`", url, ("candidates", name, "url"))


def _check_database(study: "Study", data: Mapping[str, Any]) -> Iterator[Violation]:
    database, given = study.given_database, data.get("database")
    if database is None or not isinstance(given, Mapping):
        return
    engine = get_engine(database.engine)
    if not engine.has_remote:
        able = [name for name, other in plugins(Engine).items() if other.has_remote]
        what = "an engine that has no databases by URL"
        yield Violation(what, f"use {' or '.join(able)}", database.engine, ("database", "engine"))
    for key in ("memory", "cpus", "programs", "settings"):
        if key in given and key not in _list_followed(engine):
            right = "leave this key out, and set up the server itself"
            yield Violation(ELSEWHERE, right, given[key], ("database", key))
    methods = plugins(RestoreMethod)
    if methods[database.restore].needs_files(engine):
        able = [
            name
            for name, method in methods.items()
            if not (method.needs_files(engine) or method.explain_refusal(engine))
        ]
        what = f"the restore method {database.restore} needs the server's files"
        right = f"give `restore: {'` or `restore: '.join(able)}`"
        yield Violation(what, right, database.restore, ("database", "restore"))
    for key in study.vary:
        if key.startswith("database."):
            yield Violation(ELSEWHERE, "leave it out", key, ("vary", key))
