"""The sections of a study that belong to plug-ins: each is read by the plug-in's own `Spec`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
    create_model,
)
from pydantic_core import InitErrorDetails

from stithy.activity import require_usable
from stithy.errors import TextError
from stithy.names import closest, instead
from stithy.point import Value
from stithy.registry import plugins
from stithy.storage.provider import Provider, Role
from stithy.study.database import CpuCount, Memory, Settings, example_settings
from stithy.study.problems import Violation, below, refuse, rule_error
from stithy.study.scenario import OPTIONAL, NoKeys, Scenario, ScenarioKeys
from stithy.units import MONEY_EXAMPLE, Money, parse_money
from stithy.workloads.workload import Workload, WorkloadKeys


def _read_cost(value: Any) -> Money | None:
    if value is None or isinstance(value, Money):
        return value
    try:
        return parse_money(value)
    except TextError as error:
        raise rule_error("not a cost", str(error)) from error


CostValue = Annotated[
    Money | None,
    PlainValidator(_read_cost),
    PlainSerializer(lambda cost: None if cost is None else str(cost)),
    WithJsonSchema({"type": "string"}),
]
"""A cost in a study file."""


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


class RoleSources(BaseModel):
    """The roles that have a source of their own, of any kind that a candidate may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    log: SourceValue = Field(
        default=None,
        json_schema_extra={"default": "the source of the data"},
        description="Where the write-ahead log lies.",
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

    @property
    def given(self) -> "dict[Role, Candidate]":
        """Those that there are."""
        every: dict[Role, Candidate | None] = {
            "log": self.log, "temp": self.temp, "backup": self.backup,
        }  # fmt: skip
        return {role: source for role, source in every.items() if source is not None}


class CandidateKeys(BaseModel):
    """The keys of every candidate."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cost: CostValue = Field(
        default=None,
        json_schema_extra={"default": "unknown"},
        description=(
            "Cost of the storage, in one currency and on one basis for all candidates: its "
            "purchase, or one year of it. The report divides it by throughput."
        ),
        examples=[MONEY_EXAMPLE],
    )
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
        examples=[example_settings()[1]],
    )
    roles: RoleSources = Field(
        default=RoleSources(),
        json_schema_extra={"default": "one source for all"},
        description=(
            "Sources of their own for the log, temporary files or backups, of any kind: another "
            "drive, an array, a device, a directory."
        ),
    )


@cache
def candidate_model(provider: str) -> type[BaseModel]:
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
    def cost(self) -> Money | None:
        """What it costs, None where the study does not say."""
        return getattr(self.spec, "cost", None)

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit of its server, None where it has none of its own."""
        return getattr(self.spec, "memory_bytes", None)

    @property
    def cpus(self) -> int | None:
        """How many CPUs its server may use, None where it has no number of its own."""
        return getattr(self.spec, "cpus", None)

    @property
    def sources(self) -> "dict[Role, Candidate]":
        """Its source for each role that has one: of the data itself, which serves all others."""
        roles: RoleSources | None = getattr(self.spec, "roles", None)
        return {"data": self, **(roles.given if roles else {})}

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of its server beside or instead of the study's."""
        return getattr(self.spec, "settings", {})


def read_candidate(value: Any) -> Candidate:
    """The candidate that a mapping describes; the one key that names a provider says whose."""
    if isinstance(value, Candidate):
        return value
    name = _find_provider(value, "candidate")
    return Candidate(name, candidate_model(name).model_validate(value))


def _find_provider(value: Any, what: str) -> str:
    """The provider whose name is a key. Raises what pydantic makes a problem of."""
    known = plugins(Provider)
    listed = " or ".join(f"`{name}: …`" for name in known)
    if not isinstance(value, dict):
        raise rule_error(f"a {what} must be a mapping", f"it needs {listed}")
    named = [key for key in value if key in known]
    if not named:
        refuse(
            Violation("unknown key", f"did you mean `{guess}`?", value[key], (key,))
            for key in value
            if (guess := closest(key, list(known)))
        )
        raise rule_error(f"a {what} without a provider", f"it needs {listed}")
    if len(named) > 1:
        raise rule_error(f"a {what} with two providers, {' and '.join(named)}", "keep one of them")
    return str(named[0])


def read_candidates(candidates: dict[str, Candidate]) -> dict[str, Candidate]:
    """Refuses candidates that would stand on the same storage, and costs in several currencies."""
    refuse([*_find_shared(list(candidates.items())), *_find_other_currency(candidates)])
    return candidates


def _find_other_currency(candidates: dict[str, Candidate]) -> Iterator[Violation]:
    costs = [(name, each.cost) for name, each in candidates.items() if each.cost is not None]
    for name, cost in costs:
        first, known = costs[0]
        if cost.currency != known.currency:
            yield Violation(
                f"another currency than that of `{first}`",
                f"give all costs in one currency, such as {known.currency}: nothing is converted",
                str(cost),
                (name, "cost"),
            )


def _find_shared(candidates: list[tuple[str, Candidate]]) -> Iterator[Violation]:
    for i, (name, candidate) in enumerate(candidates):
        same = [each for each, earlier in candidates[:i] if _overlap_anywhere(candidate, earlier)]
        own = list(candidate.sources.items())
        for role, source in own[1:]:
            before = own[: own.index((role, source))]
            if any(_has_overlap(source, earlier) for _, earlier in before):
                right = "leave it out: a role without a source lies with the data"
                yield Violation("two roles on the same storage", right, None, (name, "roles", role))
        if same:
            what = f"candidates `{same[0]}` and `{name}` share the same storage"
            place, key = getattr(candidate.spec, candidate.provider, None), candidate.provider
            yield Violation(what, "give each candidate a place of its own", place, (name, key))


def _overlap_anywhere(one: Candidate, other: Candidate) -> bool:
    """Whether any sources of both do."""
    return any(_has_overlap(a, b) for a in one.sources.values() for b in other.sources.values())


def _has_overlap(one: Candidate, other: Candidate) -> bool:
    return one.provider == other.provider and one.kind.overlaps(one.spec, other.spec)


def workload_named(name: str) -> Workload:
    """What planning and reporting must know of a workload."""
    return plugins(Workload)[name]


def example_workload() -> dict[str, Any]:
    """The section of a workload that there is, with its size alone."""
    name, workload = next(iter(plugins(Workload).items()))
    examples = workload.keys.model_fields[workload.units].examples
    assert examples  # each workload has one, which the contract tests show
    return {"name": name, workload.units: examples[0]}


def read_workload(value: Any) -> WorkloadKeys:
    """The workload section, read by the `Spec` of the workload that its `name` names."""
    known = plugins(Workload)
    if not isinstance(value, dict):
        raise rule_error(
            "the workload must be a mapping", f"such as {{name: {next(iter(known))}, …}}"
        )
    if "name" not in value:
        raise rule_error("a workload without its name", f"add `name: {next(iter(known))}`")
    if not isinstance(name := value["name"], str) or name not in known:
        refuse([Violation("not a workload", instead(str(name), list(known)), name, ("name",))])
    return known[name].keys.model_validate(value)


USUAL = "load"
"""What a study does that does not say it."""


@dataclass(frozen=True)
class ChosenScenario:
    """What a study does: the name of a scenario, and its `Spec`; None where it has no keys."""

    name: str = USUAL
    spec: ScenarioKeys | None = None

    @property
    def keys(self) -> ScenarioKeys:
        """Its keys, also where it has none."""
        return self.spec or NoKeys()

    @property
    def plugin(self) -> Scenario:
        """The scenario itself."""
        return plugins(Scenario)[self.name]

    def __str__(self) -> str:
        """The name, and its keys if it has any: `sleep {seconds: 2}`.

        Those that the spec has as `IMPLIED` only where they are not as usual.
        """
        every = type(self.spec).model_fields if self.spec else {}
        unset = self.spec.model_dump(exclude_defaults=True) if self.spec else {}
        usual = {
            key.alias or name
            for name, key in every.items()
            if (key.alias or name) in self.keys.IMPLIED and name not in unset
        }
        return self._written(frozenset(usual))

    @property
    def comparable(self) -> str:
        """The same without what it says of which points are measured, and how often.

        Two runs may differ in that: what they share can be compared.
        """
        points = self.keys.POINTS
        return self._written(self.keys.FIXED if points is None else points)

    def _written(self, without: frozenset[str]) -> str:
        spec = self.spec
        every = spec.model_dump(mode="json", by_alias=True, exclude_none=True) if spec else {}
        keys = {key: value for key, value in every.items() if key not in without}
        listed = ", ".join(f"{key}: {_written(value)}" for key, value in keys.items())
        return f"{self.name} {{{listed}}}" if keys else self.name


def _written(value: Any) -> str:
    """A value of a key as a study has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def read_scenario(value: Any) -> ChosenScenario:
    """The scenario that a name or a mapping `{name: {key: …}}` describes."""
    known = plugins(Scenario)
    if isinstance(value, ChosenScenario):
        return value
    given = {value: {}} if isinstance(value, str) else value
    if not isinstance(given, dict) or len(given) != 1:
        raise rule_error("not a scenario", f"a name, such as {USUAL}, or a name with its keys")
    [(name, keys)] = given.items()
    if name not in known:
        raise rule_error("not a scenario", instead(str(name), list(known)))
    asked = {} if keys is None else keys
    try:
        spec = _spec(name, asked)
        found = spec.model_validate(asked)
    except ValidationError as error:
        raise below(name, error) from error
    return ChosenScenario(name, None if spec is NoKeys else found)


def fill_scenario(data: dict[str, Any]) -> dict[str, Any]:
    """Complete the scenario of a study, as written, by the defaults that depend on its engine.

    What cannot be read stays as it is: reading it later says what is wrong.
    """
    value, database = data.get("scenario"), data.get("database")
    given = {value: {}} if isinstance(value, str) else value
    if not isinstance(database, Mapping) or not isinstance(given, Mapping) or len(given) != 1:
        return data
    [(name, keys)] = given.items()
    engine, keys = database.get("engine"), {} if keys is None else keys
    if (
        name not in plugins(Scenario)
        or not isinstance(keys, Mapping)
        or not isinstance(engine, str)
    ):
        return data
    try:
        filled = _spec(name, keys).fill_defaults(keys, engine)
    except ValidationError:
        return data
    return data if filled == keys else {**data, "scenario": {name: filled}}


def _spec(scenario: str, keys: Any) -> type[ScenarioKeys]:
    """Which keys these are meant to be; without a choice the first kind."""
    specs = plugins(Scenario)[scenario].list_keys()
    choice = plugins(Scenario)[scenario].choice
    asked = keys.get(choice) if choice and isinstance(keys, dict) else None
    if asked is None:
        return next(iter(specs.values()), NoKeys)
    if choice and (not isinstance(asked, str) or asked not in specs):
        right = instead(str(asked), list(specs))
        refuse([Violation(f"not a known {choice}", right, asked, (choice,))])
    return specs[asked]


def sections_of(scenario: str) -> tuple[str, ...]:
    """Those of `OPTIONAL` that a scenario needs: it has no others."""
    return plugins(Scenario)[scenario].sections


def sections_wrong(data: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
    """The sections that a study lacks, or has for nothing, as its scenario needs them."""
    said = data.get("scenario", USUAL)
    name = next(iter(said), None) if isinstance(said, Mapping) else said
    known = plugins(Scenario)
    needed = sections_of(name) if isinstance(name, str) and name in known else OPTIONAL
    for each in OPTIONAL:
        if each in needed and data.get(each) is None:
            yield InitErrorDetails(type="missing", loc=(each,), input=data)
        elif each in data and each not in needed:
            error = rule_error(f"the scenario {name} has no {each}", "leave this section out")
            yield InitErrorDetails(type=error, loc=(each,), input=data[each])
    database = data.get("database")
    if isinstance(database, Mapping) and "memory" not in database and not _is_by_url(data):
        yield InitErrorDetails(type="missing", loc=("database", "memory"), input=database)


def own_factors(scenario: ChosenScenario, load: Any) -> Mapping[str, Sequence[Value]]:
    """What a scenario varies by itself, by factor; `load` is the section, None without one.

    Nothing where the scenario needs a load that is missing.
    """
    if load is None and "load" in sections_of(scenario.name):
        return {}
    found = scenario.plugin.list_factors(scenario.spec, load)
    require_usable(found, scenario.name)
    return found


def is_idle(data: Mapping[str, Any]) -> bool:
    """Whether the scenario of a study, as written, has nobody at work, as its `Spec` says.

    Its load may then be left out.
    """
    said = data.get("scenario")
    if not isinstance(said, Mapping) or len(said) != 1:
        return False
    [(name, keys)] = said.items()
    known = plugins(Scenario)
    model = known[name].keys if name in known else None
    return model is not None and isinstance(keys, Mapping) and not model.has_users(keys)


def url_of(candidate: Candidate) -> str | None:
    """The URL of the database that the candidate is; None for one on volumes of its own."""
    return candidate.kind.give_url(candidate.spec)


def _is_by_url(data: Mapping[str, Any]) -> bool:
    given = data.get("candidates")
    every = given.values() if isinstance(given, Mapping) else ()
    by_url = {name for name, provider in plugins(Provider).items() if provider.is_by_url}
    return any(isinstance(each, Mapping) and by_url & each.keys() for each in every)


def transactions_of(workload: WorkloadKeys | None) -> list[str]:
    """The transaction types of a workload; none without one."""
    if workload is None:
        return []
    return [each.name for each in workload_named(workload.name).transactions]


def is_emulated(candidate: Candidate) -> bool:
    """Whether this machine's own CPUs stand in for the candidate's drives, or some of them."""
    return any(
        source.kind.has_emulated_drives(source.spec) for source in candidate.sources.values()
    )


def drive_names(candidate: Candidate) -> tuple[str, ...]:
    """The names of its emulated drives, such as `data`; none for a candidate without drives.

    Each source names them as if it held the data.
    """
    return tuple(
        f"{role}{name.removeprefix('data')}"
        for role, source in candidate.sources.items()
        for name in source.kind.name_drives(source.spec)
    )


def without_server(
    candidates: Mapping[str, Candidate], scenario: ChosenScenario
) -> Iterator[Violation]:
    """Keys of candidates that are for a server, where the scenario has none."""
    if "database" in sections_of(scenario.name):
        return
    for name, candidate in candidates.items():
        own = {"memory": candidate.memory_bytes, "cpus": candidate.cpus,
               "settings": candidate.settings}  # fmt: skip
        for key, value in own.items():
            if value:
                what = f"the scenario {scenario.name} has no server"
                yield Violation(what, "leave this key out", value, (name, key))


def without_files(
    candidates: Mapping[str, Candidate], scenario: ChosenScenario
) -> Iterator[Violation]:
    """Candidates that are block devices without a file system, where the scenario needs files.

    A scenario says so by `has_block_devices`.
    """
    if scenario.plugin.has_block_devices:
        return
    for name, candidate in candidates.items():
        if any(each.kind.has_block_device(each.spec) for each in candidate.sources.values()):
            what = "a candidate without a file system"
            right = f"the scenario {scenario.name} needs one"
            yield Violation(what, right, "none", (name, "filesystem"))
