"""Every provider, engine, workload, scenario and check keeps its interface and names its needs."""

import sys
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from fakes.machine import FakeMachine
from stithy.activity import DeclaredActivity, list_every_table
from stithy.analysis.gathering import WindowChecks
from stithy.engines.engine import Engine, declaration
from stithy.hosts.checks import MachineCheck
from stithy.needs import Judgement, Need
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.run.activity import Activity
from stithy.run.doctor import FAMILIES, list_needs
from stithy.run.draft import Wishes, draft
from stithy.scenarios.noisy_neighbour.aggressor import Aggressor
from stithy.scenarios.noisy_neighbour.beside import NeighbourActivity
from stithy.storage.layer import LayerKind, OneLayer
from stithy.storage.provider import Provider
from stithy.study.keys import find_model
from stithy.study.scenario import Scenario
from stithy.validity import Check, Flag
from stithy.workloads.workload import Workload
from support.studies import study

PROVIDERS = plugins(Provider)
WORKLOADS = plugins(Workload)
SPECS = {
    **{name: provider.spec for name, provider in PROVIDERS.items()},
    **{name: workload.keys for name, workload in WORKLOADS.items()},
}
NEEDS = {f"{family} {name}": of for family in FAMILIES for name, of in list_needs(family).items()}


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_spec_is_frozen_and_its_examples_are_accepted(spec: type[BaseModel]) -> None:
    """An unknown key is a mistake of the person; messages tell people to write the examples."""
    assert issubclass(spec, BaseModel)
    assert spec.model_config["extra"] == "forbid"
    assert spec.model_config["frozen"]
    assert spec.__doc__
    assert all(field.description for field in spec.model_fields.values())
    assert spec.model_validate(examples_of(spec))


def examples_of(spec: type[BaseModel]) -> dict[str, object]:
    """A mapping as people are told to write it, keys below keys included."""
    found: dict[str, object] = {}
    for name, info in spec.model_fields.items():
        if below := find_model(info):
            one = any(isinstance(each, OneLayer) for each in info.metadata)
            examples = examples_of(below)
            found[info.alias or name] = dict([*examples.items()][:1]) if one else examples
        elif info.examples:
            found[info.alias or name] = info.examples[0]
    return found


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_is_named_by_its_key(name: str) -> None:
    """`disk: {path: …}`: the key `path` says whose the candidate is."""
    assert name in PROVIDERS[name].spec.model_fields


@pytest.mark.parametrize("name", plugins(LayerKind))
def test_a_layer_keeps_what_redundancy_leaves(name: str) -> None:
    """At most that: its own books take some, too; data take no less than themselves."""
    keys = plugins(LayerKind)[name].keys()
    count = keys.limit_members()[0]
    times = keys.count_redundancy(count)
    assert times >= 1
    assert 0 < keys.count_capacity_bytes([2**33] * count) <= count * 2**33 / times


@pytest.mark.parametrize("engine", plugins(Engine).values(), ids=plugins(Engine))
def test_an_engine_says_what_it_owns_and_how_large_its_log_gets(engine: Engine) -> None:
    """Names in small letters, each with its reason; which URLs are its own; distinct methods."""
    assert engine.url_schemes
    assert all(name == name.lower() and why for name, why in engine.owned_settings.items())
    assert engine.count_log_bytes({}) > 0 or engine.no_server
    assert engine.list_given_up({}) == {}
    engine.forget({})
    methods = [method.name for method in engine.backups]
    assert len({*methods}) == len(methods)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_has_sizes_a_mix_and_a_provenance(name: str) -> None:
    """What planning and reporting must know of it."""
    workload: Workload = WORKLOADS[name]
    assert workload.name == name
    assert sum(each.share for each in workload.transactions) == pytest.approx(1)
    assert workload.headline in [each.name for each in workload.transactions]
    assert min(workload.bytes_per_unit, workload.bytes_per_transaction) > 0
    assert "not a TPC" in workload.provenance or "TPC" not in workload.provenance


@pytest.mark.parametrize("name", plugins(Scenario))
def test_a_scenario_ends_what_it_begins(name: str) -> None:
    """`stithy new` writes a study of it; each candidate is provisioned, measured and torn down."""
    server, wishes = Judgement("server", "there", "1.0"), Wishes(scenario=name)
    drafted = draft(FakeMachine(), wishes, ask_engine=lambda _: server, check=lambda *_: None)
    assert drafted.study.scenario.name == name
    provisioned, measured, torn_down = (
        [str(step.candidate) for step in drafted.plan.steps if step.kind == kind]
        for kind in ("provision", "window", "tear-down")
    )
    assert sorted(provisioned) == sorted(torn_down) == sorted(drafted.study.candidates)
    assert set(measured) == set(torn_down)


@pytest.mark.parametrize("needs", NEEDS.values(), ids=NEEDS)
def test_a_plug_in_names_its_needs(needs: tuple[Need, ...]) -> None:
    """A person who lacks one reads for what; the made-up machine grows with what is asked for."""
    assert isinstance(needs, tuple)
    for need in needs:
        assert isinstance(need, Need)
        assert need.why
        found = need.judge(FakeMachine())
        assert found.state != "missing", found.what


OF_WINDOWS: dict[str, tuple[ModuleType, tuple[Check[Any], ...]]] = {
    **{name: (sys.modules[plugin.checks[0].find.__module__], plugin.checks)
       for name, plugin in plugins(WindowChecks).items() if plugin.checks},
    **{name: (sys.modules[declaration(name).checks[0].find.__module__], declaration(name).checks)
       for name in plugins(Engine) if declaration(name).checks},
}  # fmt: skip


@pytest.mark.parametrize("name", OF_WINDOWS)
def test_checks_name_tables_and_advice(name: str) -> None:
    """A table that nobody writes would silence a check for ever; no two flags have one name."""
    module, checks = OF_WINDOWS[name]
    assert checks
    named = {table for each in checks for table in each.needs}
    assert named <= {each.name for each in list_every_table()}
    assert all(each.needs for each in checks)
    raised = [each for each in vars(module).values() if isinstance(each, Flag)]
    assert all(text.endswith(".") for each in raised for text in (each.sentence, each.advice))
    modules = {other for other, _ in OF_WINDOWS.values()}
    flags = {flag for other in modules for flag in vars(other).values() if isinstance(flag, Flag)}
    every = [flag.value for flag in flags]
    assert all(every.count(each.value) == 1 for each in raised)


@pytest.mark.parametrize("check", plugins(MachineCheck).values(), ids=plugins(MachineCheck))
def test_a_check_gives_judgements(check: MachineCheck) -> None:
    """Each says what it speaks of and what was found."""
    judgements = list(check.judge(FakeMachine()))
    assert all(judgement.what and judgement.found for judgement in judgements)


@pytest.mark.parametrize("aggressor", plugins(Aggressor).values(), ids=plugins(Aggressor))
def test_an_aggressor_has_intensities(aggressor: Aggressor) -> None:
    """Its examples are accepted, each key is described, and it says what room it takes.

    The one without any is nobody, and has no activity.
    """
    assert all(field.description for field in aggressor.keys.model_fields.values())
    keys = aggressor.keys.model_validate(examples_of(aggressor.keys))
    levels = aggressor.list_levels(keys)
    assert list(levels) == sorted(levels)
    assert all(level > 0 for level in levels)
    assert len({aggressor.describe(level) for level in levels}) == len(levels)
    assert set(aggressor.count_added_bytes(keys, 2**30, study())) <= {"data", "backup"}
    name = f"neighbour-{aggressor.name}"
    assert (name in plugins(DeclaredActivity)) is bool(levels)
    if not levels:
        return
    assert isinstance(plugins(Activity)[name], NeighbourActivity)


def test_a_restore_method_says_what_it_is() -> None:
    """What a plan, a resumed run and a report print of it."""
    for method in plugins(RestoreMethod).values():
        words = (method.summary, method.keep_step, method.restore_step, method.start_state)
        assert all((*words, method.proof, method.resumed_state))
        assert "{of}" in method.resume_note
