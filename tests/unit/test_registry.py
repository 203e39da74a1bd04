"""Plug-ins of one's own: found where STITHY_PLUGINS says, and never silently left out."""

import re
from pathlib import Path

import pytest

from stithy.collectors.collector import Collector
from stithy.errors import UserError
from stithy.registry import FAMILIES, plugins


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory that the variable names."""
    monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path))
    return tmp_path


def add(place: Path, path: str, name: str) -> None:
    """A plug-in that has nothing but its name."""
    file = place / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'"""A plug-in."""\nNAME = "{name}"\n')


def test_a_plug_in_of_ones_own_stands_after_stithys_while_the_variable_names_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module or a folder, of the family's package; without the variable it is gone."""
    own = list(plugins("format"))
    add(tmp_path, "format/aloud.py", "aloud")
    add(tmp_path, "format/tape/__init__.py", "tape")
    add(tmp_path, "format/tape/reel.py", "reel")
    monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path))
    assert list(plugins("format")) == [*own, "aloud", "tape"]
    assert plugins("format")["tape"].__name__ == f"{FAMILIES['format']}.tape"
    monkeypatch.delenv("STITHY_PLUGINS")
    assert list(plugins("format")) == own


@pytest.mark.parametrize(("path", "text", "place_said", "said"), [
    ("export/other.py", 'NAME = "csv"', "export/other", "are called 'csv'"),
    ("export/csv.py", 'NAME = "x"', "export/csv", "has the name of the file"),
    ("export/nameless.py", "", "export/nameless", "has no attribute 'NAME'"),
    ("export/torn.py", "NAME =", "export/torn.py:1", "SyntaxError: "),
    ("export/lacking.py", "NAME = 'x'\nimport lack", "export/lacking.py:2", "named 'lack'"),
    ("collectors/cpu.py", "PLUGINS = ()", "collectors/cpu", "has the name of the file"),
    ("collectors/nameless.py", "", "collectors/nameless", "has no attribute 'PLUGINS'"),
])  # fmt: skip
def test_a_plug_in_that_cannot_be_loaded_is_refused_by_its_family_and_its_place(
    path: str, text: str, place_said: str, said: str, place: Path
) -> None:
    """Neither a name nor a file hides another: one of the two would silently not be there."""
    (place / path).parent.mkdir()
    (place / path).write_text(text)
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        plugins("export" if path.startswith("export") else Collector)
    assert caught.value.where == str(place / place_said)
    assert re.search("plug-in of family (export|collector) cannot be", caught.value.problem)


def test_a_folder_that_belongs_to_no_family_is_refused(place: Path) -> None:
    """Its plug-ins would not be found; what tools leave behind is no folder of plug-ins."""
    add(place, "__pycache__/x.py", "x")
    plugins("format")
    add(place, "sections/sleeps.py", "sleeps")
    with pytest.raises(UserError, match="sections is no family.*did you mean `section`"):
        plugins("export")


def test_a_place_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with any path that a person gives."""
    monkeypatch.setenv("STITHY_PLUGINS", "/nowhere")
    with pytest.raises(UserError, match="is not a directory"):
        plugins("export")
