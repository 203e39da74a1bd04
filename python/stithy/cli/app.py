"""The program `stithy`: finds its commands, runs one, and turns every end into an exit code.

A command is one new file in this package that defines `COMMAND`: a function, or a `cyclopts.App`
where it has commands of its own. It is called as its file is (`clean_up.py` is `stithy clean-up`);
its help is its docstring. A command returns an `Exit` (None means OK), prints data to standard
output and talk to standard error, and raises `StithyError` for whatever a person can act on.
Command files import what is heavy (polars, altair, pydantic) inside their functions, so that
`stithy --help` stays quick. What several commands share has rooms of its own beside them, which
finding the commands does not import.
"""

import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import cyclopts

import stithy
from stithy import cli
from stithy.cli import list_command_modules
from stithy.cli.talk import render
from stithy.cli.talk.render import NobodyReads, tell_output
from stithy.errors import Exit, StithyError, UserError

EPILOGUE = (
    "Exit codes: 0 done, 1 a bug, 2 a wrong study or command line, 3 this machine lacks something, "
    "4 a failure during the run, 5 measured but not valid, 99 a threshold was not met, "
    "130 interrupted. "
    "`--debug` with any command prints the traceback of a bug."
)


def main() -> None:
    """Run `stithy` with the arguments of this process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns its exit code and lets no exception out."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [argument for argument in arguments[:end] if argument != "--debug"]
    tokens, debug = [*options, *arguments[end:]], len(options) < end  # any command takes it
    with tell_output():
        code = _run_command(tokens, debug=debug)
        try:
            print(end="", flush=True)
        except NobodyReads:
            return code
        except StithyError as error:
            shown = render.show_error(error, debug=debug)
            return code or shown
    return code


def _run_command(tokens: list[str], *, debug: bool) -> int:
    try:
        _require_names(tokens)
        result = build()(tokens)
        return int(result) if isinstance(result, int) else Exit.OK
    except cyclopts.CycloptsError as error:
        return render.show_usage(error)
    except (NobodyReads, SystemExit):  # rich ends with SystemExit where the reader has gone
        return Exit.OK
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 the outermost frame of all
        return render.show_error(error, debug=debug, as_json="--json" in tokens)


def _require_names(tokens: Sequence[str]) -> None:
    """Refuse what no study, result or message can hold: bytes that are no UTF-8, and no place."""
    try:
        here = os.getcwd()
    except OSError as error:
        remedy = "change to one that is there"
        raise UserError("it was removed", where="the current directory", remedy=remedy) from error
    for name in (here, *tokens):
        if name.encode(errors="ignore").decode() != name:
            remedy = "rename it, or name a link to it"
            raise UserError("this name is not UTF-8", where=repr(name), remedy=remedy)


def build() -> cyclopts.App:
    """The whole command line: one sub-command for each module with `COMMAND`."""
    app = cyclopts.App(
        name="stithy",
        help=f"{stithy.__doc__}",
        help_epilogue=EPILOGUE,
        help_format="markdown",
        default_parameter=cyclopts.Parameter(
            negative=(), show_default=_show_default, converter=_convert
        ),
        version=f"stithy {stithy.__version__}",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    for name, module in list_command_modules(cli).items():
        app.command(module.COMMAND, name=name)
    return app


def _convert(kind: Any, tokens: Sequence[cyclopts.Token]) -> Any:
    """What words mean. Refuses what is no whole number, which would be rounded."""
    for token in tokens:
        if kind is int and not re.fullmatch(r"[+-]?\d{1,18}", token.value, re.ASCII):
            problem, where = f"{token.value!r} is not a whole number", token.keyword or "arguments"
            raise UserError(problem, where=where, remedy="give digits alone, such as 8")
    return cyclopts.convert(kind, tokens)


def _show_default(value: object) -> str | None:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return None if value is None or value is False else text or None
