"""A database that need not keep what it acknowledged is never taken for one that must."""

import json
from pathlib import Path

import pytest

from fakes.hammer import FakeHammer
from stithy.cli.app import run
from stithy.report.context import context_of
from stithy.report.drawing import draw
from stithy.report.page import build
from stithy.results.read import read_run
from stithy.results.write import write_json
from stithy.run.events import Note, StepStarted
from support.faked_run import FakedRun
from support.sample_run import Shape, build_run

OFF = {"fsync": "off", "full_page_writes": "off"}
SAID = "Durability is given up with fsync off: nothing is flushed"
LABEL = "NOT DURABLE: fsync off, full_page_writes off"


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs register in a directory of the test's own."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path / "state"))


def test_plan_run_and_compare_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan before anything, the run before its first step, the comparison of each run."""
    for name in ("before", "now"):
        (tmp_path / name).mkdir()
        faked = FakedRun(tmp_path / name, hammer=FakeHammer(sound=True), settings=OFF)
        faked.run()
        first = next(n for n, each in enumerate(faked.events) if isinstance(each, StepStarted))
        told = [each.text for each in faked.events[:first] if isinstance(each, Note)]
        assert [text for text in told if text.startswith(SAID)]
    run(["plan", str(tmp_path / "now" / "study.yaml")])  # which may find faults of this machine
    assert SAID in " ".join(capsys.readouterr().out.split())
    run(["plan", str(tmp_path / "now" / "study.yaml"), "--json"])
    planned = json.loads(capsys.readouterr().out)["durability_given_up"]
    assert [(each["setting"], each["value"]) for each in planned] == list(OFF.items())
    both = [str(tmp_path / name / "out") for name in ("before", "now")]
    for place in both:
        _in_force(Path(place), OFF)
    assert run(["compare", *both]) == 0
    assert capsys.readouterr().out.count(SAID) == 2
    assert run(["compare", *both, "--json"]) == 0
    (told_of,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert told_of["durability_given_up"] == {"base": planned, "other": planned}


def _in_force(directory: Path, settings: dict[str, str]) -> None:
    """As if a real server had told that these are in force, of which the fake one knows nothing."""
    found = read_run(directory).manifest
    assert found is not None
    database = found.database.model_copy(update={"effective_settings": settings})
    write_json(directory / "manifest.json", found.model_copy(update={"database": database}))


def test_the_first_screen_and_every_name_in_a_figure_say_so(tmp_path: Path) -> None:
    """By the settings in force, whatever the study said; data for programs keep the names."""
    directory = build_run(tmp_path / "run", Shape(settings=OFF, duration_s=3, series=False))
    context = context_of(read_run(directory.root))
    page = build(context)
    assert page.answer.flawed[0].startswith(SAID)
    assert context.label == LABEL
    (forest,) = [each for each in page.figures if each.name == "nopm-by-users"]
    assert LABEL in page.footer(forest)
    drawn = draw.svg(forest.spec, forest.name)
    for name in context.evidence.candidates:
        assert f">{name} (fsync off, full_page_writes off)<" in drawn
        assert f">{name}<" not in drawn
    assert set(forest.table.frame["candidate"]) == {"disk", "memory"}


def test_a_durable_run_says_nothing_of_it(tmp_path: Path) -> None:
    """Names are as the study has them."""
    directory = build_run(tmp_path / "run", Shape(duration_s=3, series=False))
    context = context_of(read_run(directory.root))
    assert context.given_up == ()
    assert context.label is None
    assert not [text for text in build(context).answer.flawed if "Durability" in text]
