"""Every key of the study file: its meaning, the JSON Schema, the reference page, a new study."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from stithy.plan.expand import expand
from stithy.registry import plugins
from stithy.study.keys import (
    ANY,
    Key,
    all_keys,
    key_at,
    known_at,
    needed_at,
    reference_page,
    study_schema,
)
from stithy.study.load import parse_study
from stithy.study.sections import candidate_model
from stithy.study.template import Draft, Option
from stithy.study.template import study_text as draft_text
from stithy.units import Money
from support.studies import problems, study, study_text


@pytest.mark.parametrize("key", list(all_keys()), ids=lambda key: key.dotted)
def test_every_key_has_a_description_and_what_takes_a_value_an_example(key: Key) -> None:
    """Messages, schema and reference page are written from them."""
    assert key.info.description
    assert key.info.description.endswith(".")
    assert key.info.examples or known_at(key.path)


def test_the_keys_of_plug_ins_are_among_them() -> None:
    """A candidate's and the workload's keys come from their own files."""
    assert "path" in known_at(("candidates", "anything"))
    assert needed_at(("workload",)) == ["name", "warehouses"]


def test_an_entry_of_a_list_belongs_to_the_lists_key() -> None:
    """Indices are no keys."""
    key = key_at(("load", "users", 2))
    assert key is not None
    assert key.dotted == "load.users"


def test_the_schema_is_closed_everywhere() -> None:
    """An editor marks an unknown key as Stithy does."""
    schema = study_schema()
    assert schema["additionalProperties"] is False
    assert all(each["additionalProperties"] is False for each in schema["$defs"].values())


def test_the_schema_accepts_the_demo_and_refuses_what_is_wrong(root: Path) -> None:
    """Editors and Stithy agree."""
    validator = jsonschema.Draft202012Validator(study_schema())
    demo = YAML(typ="safe", pure=True).load((root / "studies" / "demo.yaml").read_text())
    assert list(validator.iter_errors(demo)) == []
    demo["load"]["duration"] = "20 parsecs"
    demo["load"]["userz"] = 1
    assert len(list(validator.iter_errors(demo))) == 2


def test_the_schema_names_the_plug_ins() -> None:
    """Their own keys are part of it."""
    properties = study_schema()["properties"]
    providers = properties["candidates"]["additionalProperties"]["anyOf"]
    assert "path" in [each["title"] for each in providers]
    assert [each["title"] for each in properties["workload"]["anyOf"]] == ["order-entry"]


@pytest.mark.parametrize("name", [key.path[-1] for key in all_keys()])
def test_the_reference_page_has_every_key(name: str) -> None:
    """A key without a line on the page would be a secret."""
    assert f"| `{name}` |" in reference_page("")


COSTS = ("{path: /var/tmp/stithy}", "{path: /var/tmp/stithy, cost: 1200 EUR}")


def test_a_candidate_may_have_a_cost_and_another_one_none() -> None:
    """What is not said is not known; it is never 0."""
    read = study(COSTS)
    assert read.candidates["disk"].cost == Money(1200.0, "EUR")
    assert read.candidates["memory"].cost is None


@pytest.mark.parametrize("provider", plugins("provider").values(), ids=plugins("provider"))
def test_every_provider_has_the_key_after_its_own(provider: ModuleType) -> None:
    """For messages, for editors and on the reference page."""
    own = list(provider.Spec.model_fields)
    assert list(candidate_model(provider.NAME).model_fields) == [*own, "cost"]
    assert key_at(("candidates", "any", "cost"))
    assert known_at(("candidates", "any")).count("cost") == 1
    specs = study_schema()["properties"]["candidates"]["additionalProperties"]["anyOf"]
    [mine] = [each for each in specs if each["title"] == provider.NAME]
    assert mine["properties"]["cost"]["type"] == "string"
    assert mine["description"] == provider.Spec.__doc__


def test_what_is_no_cost_is_told_beside_what_else_is_wrong_with_a_candidate() -> None:
    """All problems at once, each at its key."""
    text = study_text((COSTS[0], "{path: here, cost: 1.200 EUR}"))
    found = [str(each) for each in problems(text)]
    assert any("`candidates.disk.cost`: not a cost: 1.200 EUR" in each for each in found)
    assert any("not an absolute path" in each for each in found)


def test_costs_are_in_one_currency() -> None:
    """Nothing is converted, so that two could not be held against each other."""
    other = ("{path: /dev/shm/stithy}", "{path: /dev/shm/stithy, cost: 1300 USD}")
    [only] = problems(study_text(COSTS, other))
    assert "another currency than the cost of `disk` has" in str(only)
    assert "`candidates.memory.cost`" in str(only)


def test_a_cost_does_not_make_the_same_place_another_one() -> None:
    """Two candidates on one directory share it, whatever they cost."""
    twice = ("{path: /dev/shm/stithy}", "{path: /var/tmp/stithy, cost: 5 EUR}")
    assert "share the same storage" in str(problems(study_text(COSTS, twice))[0])


DRAFT = Draft(
    head=("A study for a test.",),
    question="Which one is better?",
    candidates=(
        Option("disk", {"path": "/var/tmp/stithy"}, "ext4, 1 GiB free"),
        Option("nvme", {"drive": "generic-nvme"}, "emulated"),
    ),
    others=(Option("memory", {"path": "/dev/shm/stithy"}, "tmpfs"),),
    engine="postgresql",
    memory_bytes=512 * 2**20,
    workload="order-entry",
    warehouses=3,
    users=(1, 4),
    ramp_up_s=30.0,
    duration_s=60.0,
)


def test_it_reads_back_as_what_was_meant_and_can_be_planned() -> None:
    """Valid as it stands."""
    study = parse_study("new", draft_text(DRAFT).encode())
    assert study.study == DRAFT.question
    assert {name: each.provider for name, each in study.candidates.items()} == {
        "disk": "path",
        "nvme": "drive",
    }
    assert study.database.memory_bytes == DRAFT.memory_bytes
    assert (study.load.users, study.load.ramp_up_s, study.load.duration_s) == ((1, 4), 30, 60)
    assert study.workload.warehouses == 3
    assert expand(study).steps


def test_every_key_stands_in_it() -> None:
    """Also one that was added to the model since; keys of candidates are left to its reference."""
    lines = [line.strip().removeprefix("# ") for line in draft_text(DRAFT).splitlines()]
    for key in all_keys():
        if ANY not in key.path and len(key.path) <= 2:
            assert any(line.startswith(f"{key.path[-1]}:") for line in lines), key.dotted


@pytest.mark.parametrize("other", ["  # memory: {path: /dev/shm/stithy}"])
def test_what_else_could_be_is_a_comment_that_works_once_it_is_none(other: str) -> None:
    """A person takes the sign away."""
    text = draft_text(DRAFT)
    assert other in text
    changed = text.replace(other, other.replace("# ", ""))
    assert "memory" in parse_study("new", changed.encode()).candidates


@pytest.mark.parametrize("key", ["touch: 30%", "ledger: true", "seed: 1"])
def test_a_key_that_may_be_said_works_once_it_is_no_comment(key: str) -> None:
    """As it stands there, at its own place."""
    text = draft_text(DRAFT)
    assert f"# {key}\n" in text
    parse_study("new", text.replace(f"# {key}\n", f"{key}\n").encode())


@given(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1))
def test_any_directory_can_be_a_candidate(name: str) -> None:
    """Whatever its name holds: quotes, braces, signs of comments."""
    path = Path("/srv") / name
    option = Option("odd", {"path": str(path)}, "a directory")
    draft = replace(DRAFT, candidates=(option,), others=(), question=f"What of {name}?")
    study = parse_study("new", draft_text(draft).encode())
    assert study.candidates["odd"].spec.model_dump()["path"] == path
