"""What commands show and write: help, the errors of wrong studies, plans, and a new study."""

import io
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import cyclopts
import pytest
from rich.console import Console

from conftest import ROOT
from fakes.machine import FakeMachine
from stithy.cli import app
from stithy.errors import Problems
from stithy.needs import Judgement
from stithy.run import preflight
from stithy.run.draft import Wishes, draft
from support import golden

HERE = Path(__file__).parent
WRONG = sorted(path.stem for path in HERE.glob("errors/*.yaml"))
PLANNED = (
    ROOT / "studies/demo.yaml", HERE / "plans/three-candidates.yaml", HERE / "plans/engines.yaml",
)  # fmt: skip
FLAGS = ("--help", "-h", "--version")


def commands(of: cyclopts.App, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The way to every command, the program itself first."""
    yield above
    for name in of:
        if name not in FLAGS:
            yield from commands(of[name], (*above, name))


WAYS = {"-".join(("stithy", *way)): way for way in commands(app.build())}


@pytest.mark.parametrize("name", WAYS)
def test_help_explains_every_option(name: str, accept_golden: bool) -> None:
    """As a terminal of 80 columns shows it, and no docstring loses its words.

    Beside one option, `Examples:` makes it another style.
    """
    shown, way = io.StringIO(), WAYS[name]
    console = Console(file=shown, width=80, force_terminal=False, color_system=None)
    app.build().help_print(list(way), console=console)
    text = "".join(f"{line.rstrip()}\n" for line in shown.getvalue().splitlines())
    golden.same(HERE / f"help/{name}.txt", text, accept_golden)
    command = reduce(cyclopts.App.__getitem__, way, app.build())
    if command.default_command is None:
        return  # a group of commands
    options = command.assemble_argument_collection(parse_docstring=True).filter_by(parse=True)
    told = [each for each in options if not each.children]  # a dataclass holds options, is none
    assert [each.name for each in told if not each.parameter.help] == []


def test_the_page_of_commands_has_each_and_says_which_have_no_json() -> None:
    """What groups them is none."""
    page = (ROOT / "docs/reference/commands.md").read_text()
    found = {" ".join(("stithy", *way)): reduce(cyclopts.App.__getitem__, way, app.build())
             for way in WAYS.values()}  # fmt: skip
    own = {name: of.assemble_argument_collection() for name, of in found.items()
           if of.default_command and name != "stithy"}  # fmt: skip
    assert [name for name in own if not re.search(f"`{name}[ `]", page)] == []
    exceptions = page.partition(" except ")[2].partition(". ")[0]
    assert re.findall("`(.+?)`", exceptions.replace("\n", " ")) == [
        name for name, options in own.items() if not any("--json" in each.names for each in options)
    ]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_study_shows_the_errors_accepted(
    name: str, accept_golden: bool, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Exit code 2, nothing on standard output, all problems with their places."""
    monkeypatch.chdir(HERE / "errors")
    assert app.run(["plan", f"{name}.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    golden.same(HERE / f"errors/{name}.txt", err, accept_golden)


def test_no_golden_file_is_left_over() -> None:
    """Every file is somebody's."""
    assert {path.stem for path in HERE.glob("help/*.txt")} <= WAYS.keys()
    assert sorted(path.stem for path in HERE.glob("errors/*.txt")) == WRONG


@pytest.mark.parametrize("study", PLANNED, ids=lambda path: path.stem)
def test_a_plan_is_as_accepted(
    study: Path, accept_golden: bool, capsys: pytest.CaptureFixture[str], own_state: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The same study and seed give the same ids, order, seeds and estimates where nothing ran."""
    checked = preflight.Preflight(None, Problems(), ())
    monkeypatch.setattr(preflight, "check_machine", lambda *_, **__: checked)
    assert app.run(["plan", str(study)]) == 0
    golden.same(HERE / f"plans/{study.stem}.txt", capsys.readouterr().out, accept_golden)


@pytest.mark.usefixtures("own_state")
def test_a_new_study_for_a_machine_is_the_one_accepted(accept_golden: bool) -> None:
    """A key that was added to the model shows here."""
    server = Judgement("postgresql", "there", "15.1")
    found = draft(FakeMachine(), Wishes(), ask_engine=lambda _: server, check=lambda *_: None)
    golden.same(HERE / "new/study.yaml", found.text, accept_golden)
