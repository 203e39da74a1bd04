"""The help of every command, as a person reads it on a terminal of 80 columns."""

import io
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import cyclopts
import pytest
from rich.console import Console

from stithy.cli.app import build
from support import golden

HERE = Path(__file__).parent / "help"
FLAGS = ("--help", "-h", "--version")


def commands(app: cyclopts.App, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The way to every command, the program itself first."""
    yield above
    for name in app:
        if name not in FLAGS:
            yield from commands(app[name], (*above, name))


@pytest.mark.parametrize("way", list(commands(build())), ids=lambda way: "-".join(way) or "stithy")
def test_the_help_of_a_command_is_the_one_accepted_and_explains_every_option(
    way: tuple[str, ...], accept_golden: bool
) -> None:
    """No docstring loses its words: beside one option, `Examples:` makes it another style."""
    shown = io.StringIO()
    console = Console(file=shown, width=80, force_terminal=False, color_system=None)
    build().help_print(list(way), console=console)
    text = "".join(f"{line.rstrip()}\n" for line in shown.getvalue().splitlines())
    golden.same(HERE / f"{'-'.join(('stithy', *way))}.txt", text, accept_golden)
    app = reduce(cyclopts.App.__getitem__, way, build())
    if app.default_command is None:
        return  # a group of commands
    options = app.assemble_argument_collection(parse_docstring=True).filter_by(parse=True)
    told = [each for each in options if not each.children]  # a dataclass holds options, is none
    assert [each.name for each in told if not each.parameter.help] == []


def test_no_help_is_kept_of_a_command_that_is_gone() -> None:
    """Every file of help belongs to a command."""
    known = {"-".join(("stithy", *way)) for way in commands(build())}
    assert {path.stem for path in HERE.glob("*.txt")} <= known
