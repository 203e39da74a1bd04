"""Plug-ins are found by walking their package; what is wrong with one is fatal at once."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stithy import registry


@pytest.fixture
def family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A family `made-up` whose package is an empty directory."""
    package = tmp_path / "made_up_family"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(registry.FAMILIES, "made-up", "made_up_family")
    registry.plugins.cache_clear()
    yield package
    registry.plugins.cache_clear()
    for name in [each for each in sys.modules if each.startswith("made_up_family")]:
        del sys.modules[name]


def test_a_new_file_is_a_new_plug_in(family: Path) -> None:
    """In the order of the file names, by the name each gives itself."""
    (family / "b.py").write_text('NAME = "bee"\n')
    (family / "a.py").write_text('NAME = "zed"\n')
    assert list(registry.plugins("made-up")) == ["zed", "bee"]


def test_a_name_given_twice_is_fatal(family: Path) -> None:
    """One of them would silently not be there."""
    for name in ("a", "b"):
        (family / f"{name}.py").write_text('NAME = "same"\n')
    with pytest.raises(ImportError, match="two plug-ins of family made-up are called 'same'"):
        registry.plugins("made-up")


def test_a_plug_in_that_cannot_be_imported_is_fatal(family: Path) -> None:
    """It is never left out."""
    (family / "a.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
        registry.plugins("made-up")


@pytest.mark.parametrize("name", list(registry.FAMILIES))
def test_every_family_is_there(name: str) -> None:
    """And its modules have names."""
    assert all(isinstance(each, str) for each in registry.plugins(name))
