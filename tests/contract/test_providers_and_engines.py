"""Every provider and every engine is what its interface asks for, from the moment it is there."""

import importlib
from types import ModuleType

import pytest

from stithy.registry import plugins
from stithy.storage.provider import Provider

METHODS = [name for name in vars(Provider) if not name.startswith("_")]


@pytest.mark.parametrize("module", plugins("provider").values(), ids=plugins("provider"))
def test_a_provider_has_what_studies_and_runs_ask_for(module: ModuleType) -> None:
    """Its name is a key of its spec; what it creates has every method."""
    assert module.NAME in module.Spec.model_fields
    assert module.Spec.model_config["extra"] == "forbid"
    assert module.Spec.model_config["frozen"]
    for name, field in module.Spec.model_fields.items():
        assert field.description, name
    made = module.create.__annotations__["return"]
    assert [name for name in METHODS if not callable(getattr(made, name, None))] == []


@pytest.mark.parametrize("package", plugins("engine").values(), ids=plugins("engine"))
def test_an_engine_says_what_it_owns_and_can_be_created(package: ModuleType) -> None:
    """Each owned setting has its reason."""
    assert all(package.OWNED_SETTINGS.values())
    engine = importlib.import_module(f"{package.__name__}.engine")
    assert callable(engine.create)
    assert engine.forget({}) is None
