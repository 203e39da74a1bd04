"""Every provider, engine, workload and scenario keeps its interface."""

from types import ModuleType

import pytest
from pydantic import BaseModel

from stithy.plan.expand import expand
from stithy.registry import plugins
from stithy.study.keys import Key, all_keys, model_of
from stithy.workload.workload import Workload
from support.studies import study

PROVIDERS = plugins("provider")
ENGINES = plugins("engine")
WORKLOADS = plugins("workload")
SCENARIOS = plugins("scenario")
SPECS = {**PROVIDERS, **WORKLOADS}


@pytest.mark.parametrize("module", SPECS.values(), ids=SPECS)
def test_a_spec_is_frozen_and_knows_all_its_keys(module: ModuleType) -> None:
    """An unknown key is a mistake of the person, and a study never changes once read."""
    assert issubclass(module.Spec, BaseModel)
    assert module.Spec.model_config["extra"] == "forbid"
    assert module.Spec.model_config["frozen"]
    assert module.Spec.__doc__


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_is_named_by_a_key_of_its_own(name: str) -> None:
    """`disk: {path: …}`: the key `path` says whose the candidate is."""
    assert name in PROVIDERS[name].Spec.model_fields
    assert callable(PROVIDERS[name].create)


@pytest.mark.parametrize(
    "key", [key for key in all_keys() if key.plugin], ids=lambda key: key.dotted
)
def test_a_plug_ins_example_is_accepted_by_its_own_spec(key: Key) -> None:
    """Messages tell people to write it."""
    spec = SPECS[str(key.plugin)].Spec
    assert spec.model_validate(examples_of(spec))


def examples_of(spec: type[BaseModel]) -> dict[str, object]:
    """A mapping as people are told to write it, keys below keys included."""
    found: dict[str, object] = {}
    for name, info in spec.model_fields.items():
        if below := model_of(info):
            found[info.alias or name] = examples_of(below)
        elif info.examples:
            found[info.alias or name] = info.examples[0]
    return found


@pytest.mark.parametrize("module", ENGINES.values(), ids=ENGINES)
def test_an_engine_says_what_it_owns_and_how_large_its_log_gets(module: ModuleType) -> None:
    """Names in small letters, each with its reason."""
    assert all(name == name.lower() and why for name, why in module.OWNED_SETTINGS.items())
    assert module.log_bytes({}) > 0
    assert module.durability_given_up({}) == {}


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_has_sizes_a_mix_and_a_provenance(name: str) -> None:
    """What planning and reporting must know of it."""
    workload: Workload = WORKLOADS[name].WORKLOAD
    assert workload.name == name
    assert sum(each.share for each in workload.transactions) == pytest.approx(1)
    assert workload.headline in [each.name for each in workload.transactions]
    assert min(workload.bytes_per_warehouse, workload.bytes_per_transaction) > 0
    assert "not a TPC" in workload.provenance or "TPC" not in workload.provenance


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_ends_what_it_begins(name: str) -> None:
    """Whatever is provisioned is torn down, in steps with ids of their own."""
    steps = expand(study()).steps
    provisioned = [step.candidate for step in steps if step.kind == "provision"]
    torn_down = [step.candidate for step in steps if step.kind == "tear-down"]
    assert sorted(map(str, provisioned)) == sorted(map(str, torn_down))
    assert len({step.id for step in steps}) == len(steps)
    assert callable(SCENARIOS[name].steps)
