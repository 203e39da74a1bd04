"""What the documents promise is so: their studies are studies, their commands are commands."""

import re
from pathlib import Path

import pytest

from conftest import ROOT
from stithy import cli
from stithy.cli import list_command_modules
from stithy.plan.answerable import find_unanswerable
from stithy.plan.expand import expand
from stithy.study.load import parse_study, read_study

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/how-to/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^stithy ([a-z-]+)", re.MULTILINE)
TARGET = re.compile(r"\bmake ((?:[a-z]+ ?)+)")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _blocks(document: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(document.read_text()) if name == language]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_what_exists(document: Path) -> None:
    """A reader may copy a study into a file and run it, and type what stands in code."""
    for number, text in enumerate(_blocks(document, "yaml")):
        parse_study(f"{document.name}, block {number + 1}", text.encode())
    named = {name for text in _blocks(document, "") for name in COMMAND.findall(text)}
    assert named <= list_command_modules(cli).keys()
    code = re.findall(r"`([^`\n]+)`|^(make .*)$", document.read_text(), re.MULTILINE)
    made = [text for parts in code for text in TARGET.findall(" ".join(parts))]
    assert {word for text in made for word in text.split()} <= TARGETS


def test_the_readme_explains_the_demo() -> None:
    """Comments apart, both say the same."""
    studies = {path.name: read_study(path).study for path in ROOT.glob("studies/*.yaml")}
    (explained,) = _blocks(ROOT / "README.md", "yaml")
    assert studies["demo.yaml"] == parse_study("README.md", explained.encode())


@pytest.mark.parametrize("path", sorted(ROOT.glob("studies/**/*.yaml")), ids=lambda path: path.stem)
def test_every_example_study_asks_what_its_windows_can_answer(path: Path) -> None:
    """Where nothing is known of the machine: a percentile needs enough values of a window."""
    study = read_study(path).study
    assert list(find_unanswerable(study, expand(study).question, {})) == []
