"""The command line finds its commands and turns every end into an exit code."""

import subprocess
import sys
from pathlib import Path
from pkgutil import iter_modules

import cyclopts
import pytest

from stithy import cli
from stithy.cli import app
from stithy.cli.commands import command_modules
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError

HEAVY = ("polars", "altair", "vl_convert", "pydantic", "ruamel", "pg8000", "jinja2", "structlog")


def ending_with(error: BaseException) -> cyclopts.App:
    """A command line whose one command `end` raises `error`."""

    def end() -> None:
        raise error

    built = cyclopts.App(exit_on_error=False, print_error=False, suppress_keyboard_interrupt=False)
    built.command(end)
    return built


def run_ending_with(error: BaseException, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    """The exit code of a command that raises `error`."""
    monkeypatch.setattr(app, "build", lambda: ending_with(error))
    return app.run(["end", *more])


@pytest.mark.parametrize(
    ("kind", "code"), [(UserError, 2), (PreconditionError, 3), (InfrastructureError, 4)]
)
def test_an_error_shows_place_problem_and_remedy_and_gives_its_code(
    kind: type[StithyError],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A known error is one line on standard error, and nothing goes to standard output."""
    error = kind("it is full", where="/data", remedy="make room")
    assert run_ending_with(error, monkeypatch) == code
    assert capsys.readouterr() == ("", "error: /data: it is full: make room\n")


def test_a_bug_is_called_one_and_its_traceback_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown exception ends with 1, a short message, and a file that holds the traceback."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    assert run_ending_with(ZeroDivisionError("by nought"), monkeypatch) == 1
    message = capsys.readouterr().err
    (kept,) = (tmp_path / "bugs").iterdir()
    assert "a bug in Stithy" in message
    assert str(kept) in message
    assert "Traceback" not in message
    assert "ZeroDivisionError: by nought" in kept.read_text()


def test_debug_shows_the_traceback_of_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--debug` may stand anywhere on the command line."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    assert run_ending_with(ZeroDivisionError("by nought"), monkeypatch, "--debug") == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupted_command_ends_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C is no bug: no traceback."""
    assert run_ending_with(KeyboardInterrupt(), monkeypatch) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["plan", "--nonsense", "x"]])
def test_a_wrong_command_line_ends_with_2_and_names_the_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Errors of usage say what is wrong in one line and where to look."""
    assert app.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: stithy")
    assert "--help`" in err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rnu", "stithy: There is no command 'rnu'. Did you mean run?"),
        ("hammer frob", "There are calibrate, check, prepare, run, verify-ledger."),
        ("run", "stithy run: STUDY is missing."),
        ("hammer run", "stithy hammer run: URL is missing."),
        ("--nonsense", "stithy: There is no option --nonsense before a command."),
        ("export runs/a", "stithy export: --to is missing."),
        ("run a.yaml --junit", "stithy run: --junit needs a value."),
        ("plan a.yaml b.yaml c.yaml", "stithy plan: More than it takes: b.yaml c.yaml."),
        ("drive fault data stal", 'Did you mean "stall"?'),
    ],
)
def test_what_is_wrong_with_a_command_line_is_told_in_plain_words(
    line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The word that was meant, or all that there are; what is missing, by its name in the help."""
    assert app.run(line.split()) == 2
    assert told in capsys.readouterr().err


def test_no_command_is_left_out_of_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A list that ends with dots would hide `stithy run`."""
    assert app.run(["zzz"]) == 2
    told = capsys.readouterr().err
    assert all(name in told for name in command_modules(cli))


def test_the_version_is_printed_with_the_program_name(capsys: pytest.CaptureFixture[str]) -> None:
    """`stithy --version` is one line."""
    assert app.run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("stithy 0.")


def test_every_command_has_a_one_line_summary() -> None:
    """The list of commands says what each is for."""
    built = app.build()
    for name in command_modules(cli):
        assert built[name].help.strip(), name


def test_a_file_beside_the_commands_is_a_command() -> None:
    """Whoever looks for a command sees commands: what they share has rooms of its own."""
    files = {each.name.replace("_", "-") for each in iter_modules(cli.__path__) if not each.ispkg}
    assert files - set(command_modules(cli)) == {"app", "commands"}


def test_finding_the_commands_imports_nothing_heavy() -> None:
    """`stithy --help` stays quick: heavy modules are imported by the commands that need them."""
    script = f"""
import sys
from stithy.cli.app import build
build()
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"
