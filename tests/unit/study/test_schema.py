"""The JSON Schema accepts what the model accepts, and knows every key."""

from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest
from ruamel.yaml import YAML

from stithy.study.fields import all_keys
from stithy.study.reference import reference_page
from stithy.study.schema import study_schema


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
