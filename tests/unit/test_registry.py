"""Plug-ins of one's own: found where STITHY_PLUGINS says; their faults are named, never silent."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.collectors.collector import Collector
from stithy.errors import UserError
from stithy.plan.expand import expand
from stithy.plan.scenario import PlannedScenario
from stithy.plan.steps import Step
from stithy.registry import plugins
from stithy.report.exports import ExportFormat
from stithy.report.formats import ReportFormat
from stithy.results.layout import RunDirectory
from stithy.run.equip import Tools
from stithy.run.preflight import check_machine
from stithy.study.load import read_study

IMPORT = "from stithy.report.formats import ReportFormat\n\n\n"
OWN = "PLUGINS = (Own(),)\n"
CSV = """from stithy.report.exports import ExportFormat

class Own(ExportFormat):
    name = "csv"

PLUGINS = (Own(),)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory that the variable names."""
    monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path))
    return tmp_path


def add(place: Path, path: str, name: str) -> None:
    """A plug-in that has nothing but its name."""
    file = place / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{IMPORT}class Own(ReportFormat):\n    name = {name!r}\n\n{OWN}")


def test_a_plug_in_of_ones_own_stands_after_stithys_while_the_variable_names_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module or a folder, of the family's package; without the variable it is gone."""
    own = list(plugins(ReportFormat))
    add(tmp_path, "report/formats/aloud.py", "aloud")
    add(tmp_path, "report/formats/tape/__init__.py", "tape")
    add(tmp_path, "report/formats/tape/reel.py", "reel")
    monkeypatch.setenv("STITHY_PLUGINS", str(tmp_path))
    assert list(plugins(ReportFormat)) == [*own, "aloud", "tape"]
    assert plugins(ReportFormat)["tape"].__module__ == "stithy.report.formats.tape"
    monkeypatch.delenv("STITHY_PLUGINS")
    assert list(plugins(ReportFormat)) == own


@pytest.mark.parametrize(("path", "text", "problem"), [
    ("report/exports/other.py", CSV, "are called 'csv'"),
    ("report/exports/csv.py", "PLUGINS = ()", "has the name of the file"),
    ("report/exports/nameless.py", "", "has no attribute 'PLUGINS'"),
    ("collectors/cpu.py", "PLUGINS = ()", "has the name of the file"),
])  # fmt: skip
def test_a_plug_in_that_cannot_be_loaded_ends_the_program(
    path: str, text: str, problem: str, place: Path
) -> None:
    """Neither a name nor a file hides another: one of the two would silently not be there."""
    (place / path).parent.mkdir(parents=True)
    (place / path).write_text(text)
    with pytest.raises((ImportError, AttributeError), match=re.escape(problem)):
        plugins(ExportFormat if path.startswith("report") else Collector)


def test_a_folder_that_belongs_to_no_family_is_refused(place: Path) -> None:
    """Its plug-ins would not be found; what tools leave behind is no folder of plug-ins."""
    add(place, "__pycache__/x.py", "x")
    plugins(ReportFormat)
    add(place, "collector/sleeps.py", "sleeps")
    with pytest.raises(UserError, match="collector is no family.*did you mean `collectors`"):
        plugins(ExportFormat)


def test_a_place_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with any path that a person gives."""
    monkeypatch.setenv("STITHY_PLUGINS", "/nowhere")
    with pytest.raises(UserError, match="is not a directory"):
        plugins(ExportFormat)


STUDY = """study: Where can more be noted?
candidates: {disk: {path: /var/tmp/a}, memory: {path: /dev/shm/a}}
scenario: {notes: {lines: [50], repeat: 1}}
"""


def _misname(step: Step) -> Step:
    return replace(step, window=step.window and replace(step.window, activities=("noot",)))


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("name", ["noot", "synk"])
def test_a_missing_plug_in_is_named_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An activity that nobody does, and a kind of step."""
    (tmp_path / "s.yaml").write_text(STUDY)
    file = read_study(tmp_path / "s.yaml")
    steps = expand(file.study).steps
    wrong = [_misname(step) if name == "noot" else replace(step, kind=name) for step in steps]
    monkeypatch.setattr(plugins(PlannedScenario)["notes"], "plan_steps", lambda *_: wrong)
    with pytest.raises(UserError, match=f"names `{name}`, which is no"):
        check_machine(file, RunDirectory(tmp_path / "run"), "0" * 12, Tools(), clean=False)
