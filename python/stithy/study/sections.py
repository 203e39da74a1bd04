"""The sections of a study that belong to plug-ins: each is read by the plug-in's own `Spec`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails

from stithy.activity import require_usable
from stithy.names import suggest_instead
from stithy.point import Value
from stithy.registry import plugins
from stithy.storage.provider import Provider
from stithy.study.candidates import Candidate
from stithy.study.problems import Violation, put_below, refuse
from stithy.study.scenario import OPTIONAL, NoKeys, Scenario, ScenarioKeys
from stithy.units import make_rule_error
from stithy.workloads.workload import Workload, WorkloadKeys, get_default_workload


def get_workload(name: str) -> Workload:
    """What planning and reporting must know of a workload."""
    return plugins(Workload)[name]


def make_example_workload() -> dict[str, Any]:
    """The section of a workload that there is, with its size alone."""
    workload = get_default_workload()
    fields = {number.key: workload.keys.model_fields[number.key] for number in workload.size}
    # Each number of a size has an example, which the contract tests show.
    return {
        "name": workload.name,
        **{key: (field.examples or [])[0] for key, field in fields.items()},
    }


def read_workload(value: Any) -> WorkloadKeys:
    """The workload section, read by the `Spec` of the workload that its `name` names."""
    known = plugins(Workload)
    if not isinstance(value, dict):
        raise make_rule_error(
            "the workload must be a mapping", f"such as {{name: {get_default_workload().name}, …}}"
        )
    if "name" not in value:
        raise make_rule_error(
            "a workload without its name", f"add `name: {get_default_workload().name}`"
        )
    if not isinstance(name := value["name"], str) or name not in known:
        refuse(
            [Violation("not a workload", suggest_instead(str(name), list(known)), name, ("name",))]
        )
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
        listed = ", ".join(f"{key}: {_write_value(value)}" for key, value in keys.items())
        return f"{self.name} {{{listed}}}" if keys else self.name


def _write_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_write_value(each)}' for key, each in value.items())}}}"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def read_scenario(value: Any) -> ChosenScenario:
    """The scenario that a name or a mapping `{name: {key: …}}` describes."""
    known = plugins(Scenario)
    if isinstance(value, ChosenScenario):
        return value
    given = {value: {}} if isinstance(value, str) else value
    if not isinstance(given, dict) or len(given) != 1:
        raise make_rule_error("not a scenario", f"a name, such as {USUAL}, or a name with its keys")
    [(name, keys)] = given.items()
    if name not in known:
        raise make_rule_error("not a scenario", suggest_instead(str(name), list(known)))
    asked = {} if keys is None else keys
    try:
        spec = _choose_spec(name, asked)
        found = spec.model_validate(asked)
    except ValidationError as error:
        raise put_below(name, error) from error
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
        spec = _choose_spec(name, keys)
        filled = spec.fill_defaults(keys, engine)
    except ValidationError:
        return data
    load = data.get("load")
    if spec.LOAD and isinstance(load, Mapping):
        data = {**data, "load": {**spec.LOAD, **load}}
    return data if filled == keys else {**data, "scenario": {name: filled}}


def _choose_spec(scenario: str, keys: Any) -> type[ScenarioKeys]:
    """Which keys these are meant to be; without a choice the first kind."""
    specs = plugins(Scenario)[scenario].list_keys()
    choice = plugins(Scenario)[scenario].choice
    asked = keys.get(choice) if choice and isinstance(keys, dict) else None
    if asked is None:
        return next(iter(specs.values()), NoKeys)
    if choice and (not isinstance(asked, str) or asked not in specs):
        right = suggest_instead(str(asked), list(specs))
        refuse([Violation(f"not a known {choice}", right, asked, (choice,))])
    return specs[asked]


def list_sections(scenario: str) -> tuple[str, ...]:
    """Those of `OPTIONAL` that a scenario needs: it has no others."""
    return plugins(Scenario)[scenario].sections


def find_wrong_sections(data: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
    """The sections that a study lacks, or has for nothing, as its scenario needs them."""
    said = data.get("scenario", USUAL)
    name = next(iter(said), None) if isinstance(said, Mapping) else said
    known = plugins(Scenario)
    needed = list_sections(name) if isinstance(name, str) and name in known else OPTIONAL
    for each in OPTIONAL:
        if each in needed and data.get(each) is None:
            yield InitErrorDetails(type="missing", loc=(each,), input=data)
        elif each in data and each not in needed:
            error = make_rule_error(f"the scenario {name} has no {each}", "leave this section out")
            yield InitErrorDetails(type=error, loc=(each,), input=data[each])
    database = data.get("database")
    if isinstance(database, Mapping) and "memory" not in database and not _is_by_url(data):
        yield InitErrorDetails(type="missing", loc=("database", "memory"), input=database)


def list_own_factors(scenario: ChosenScenario, load: Any) -> Mapping[str, Sequence[Value]]:
    """What a scenario varies by itself, by factor; `load` is the section, None without one.

    Nothing where the scenario needs a load that is missing.
    """
    if load is None and "load" in list_sections(scenario.name):
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


def _is_by_url(data: Mapping[str, Any]) -> bool:
    given = data.get("candidates")
    every = given.values() if isinstance(given, Mapping) else ()
    by_url = {name for name, provider in plugins(Provider).items() if provider.is_by_url}
    return any(isinstance(each, Mapping) and by_url & each.keys() for each in every)


def list_transactions(workload: WorkloadKeys | None) -> list[str]:
    """The transaction types of a workload; none without one."""
    if workload is None:
        return []
    return [transaction.name for transaction in get_workload(workload.name).transactions]


def find_server_keys(
    candidates: Mapping[str, Candidate], scenario: ChosenScenario
) -> Iterator[Violation]:
    """Keys of candidates that are for a server, where the scenario has none."""
    if "database" in list_sections(scenario.name):
        return
    for name, candidate in candidates.items():
        own = {"memory": candidate.memory_bytes, "cpus": candidate.cpus,
               "settings": candidate.settings}  # fmt: skip
        for key, value in own.items():
            if value:
                what = f"the scenario {scenario.name} has no server"
                yield Violation(what, "leave this key out", value, (name, key))


def find_raw_devices(
    candidates: Mapping[str, Candidate], scenario: ChosenScenario
) -> Iterator[Violation]:
    """Candidates that are block devices without a file system, where the scenario needs files.

    A scenario says so by `has_block_devices`.
    """
    if scenario.plugin.has_block_devices:
        return
    for name, candidate in candidates.items():
        if any(source.kind.has_block_device(source.spec) for source in candidate.sources.values()):
            what = "a candidate without a file system"
            right = f"the scenario {scenario.name} needs one"
            yield Violation(what, right, "none", (name, "filesystem"))
