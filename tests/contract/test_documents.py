"""What the documents promise is so: their studies are studies, their commands are commands."""

import re
from pathlib import Path

import pytest

from conftest import ROOT
from stithy import cli
from stithy.cli.commands import command_modules
from stithy.study.load import parse_study, read_study

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/how-to/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^stithy ([a-z-]+)", re.MULTILINE)
TARGET = re.compile(r"\bmake ((?:[a-z]+ ?)+)")


def _blocks(document: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(document.read_text()) if name == language]


def _id(document: Path) -> str:
    return document.name


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_every_study_in_a_document_is_a_study(document: Path) -> None:
    """A reader may copy it into a file and run it."""
    for number, text in enumerate(_blocks(document, "yaml")):
        parse_study(f"{document.name}, block {number + 1}", text.encode())


def test_the_study_that_the_readme_explains_is_the_demo() -> None:
    """Comments apart, both say the same."""
    (explained,) = _blocks(ROOT / "README.md", "yaml")
    demo = read_study(ROOT / "studies/demo.yaml").study
    assert demo == parse_study("README.md", explained.encode())


@pytest.mark.parametrize("study", sorted(ROOT.glob("studies/*.yaml")), ids=_id)
def test_every_example_study_is_a_study(study: Path) -> None:
    """Each can be planned as it is."""
    read_study(study)


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_every_command_in_a_document_exists(document: Path) -> None:
    """`stithy something` in a block of commands is a command of the program."""
    named = {name for text in _blocks(document, "") for name in COMMAND.findall(text)}
    assert named <= command_modules(cli).keys()


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_every_make_target_in_a_document_exists(document: Path) -> None:
    """`make something` in code is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    code = re.findall(r"`([^`\n]+)`|^(make .*)$", document.read_text(), re.MULTILINE)
    named = {
        word for parts in code for text in TARGET.findall(" ".join(parts)) for word in text.split()
    }
    assert named <= targets
