"""Plug-ins of one's own: found where STITHY_PLUGINS says, and never silently left out."""

from pathlib import Path

import pytest

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


@pytest.mark.parametrize(("path", "name", "said"), [
    ("export/other.py", "csv", "two plug-ins of family export are called 'csv'"),
    ("export/csv.py", "other", "export/csv has the name of the file"),
])  # fmt: skip
def test_neither_a_name_nor_a_file_hides_another(
    path: str, name: str, said: str, place: Path
) -> None:
    """One of the two would silently not be there."""
    add(place, path, name)
    with pytest.raises(ImportError, match=said):
        plugins("export")


def test_a_folder_that_belongs_to_no_family_is_refused(place: Path) -> None:
    """Its plug-ins would not be found; what tools leave behind is no folder of plug-ins."""
    add(place, "__pycache__/x.py", "x")
    plugins("scenario")
    add(place, "scenarios/sleeps.py", "sleeps")
    with pytest.raises(UserError, match="scenarios is no family.*did you mean `scenario`"):
        plugins("check")


def test_a_place_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with any path that a person gives."""
    monkeypatch.setenv("STITHY_PLUGINS", "/nowhere")
    with pytest.raises(UserError, match="is not a directory"):
        plugins("check")
