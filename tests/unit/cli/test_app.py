"""The command line: finds its commands, ends with the right exit code, talks where it should."""

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cyclopts
import pytest

from stithy import cli
from stithy.analysis.verdict.decide import Call
from stithy.cli import app
from stithy.cli.commands import command_modules
from stithy.cli.talk import failures, options, prospects, render
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.plan.steps import Question
from stithy.study.problems import StudyError, StudyProblem

pytestmark = pytest.mark.usefixtures("own_state")
HEAVY = ("polars", "altair", "vl_convert", "pydantic", "ruamel", "pg8000", "jinja2", "structlog")


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (UserError("it is full", where="/data", remedy="make room"), 2, "/data: it is full: make"),
        (PreconditionError("it is full", where="/data", remedy="make room"), 3, "error: /data: "),
        (InfrastructureError("it is full", where="/data", remedy="make room"), 4, "make room\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (ZeroDivisionError("by nought"), 1, "a bug in Stithy"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_end_of_a_command_has_its_exit_code_and_one_line(
    error: BaseException, code: int, told: str, own_state: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Of a bug the traceback is kept in a file, and shown with `--debug` anywhere."""

    def end() -> None:
        raise error

    settings: Any = {"exit_on_error": False, "print_error": False}
    built = cyclopts.App(**settings, suppress_keyboard_interrupt=False)
    built.command(end)
    monkeypatch.setattr(app, "build", lambda: built)
    assert app.run(["end"]) == code
    out, err = capsys.readouterr()
    assert (out, "Traceback" in err) == ("", False)
    assert told in err
    assert err.count("\n") == 1 or code == 1
    kept = list(own_state.glob("bugs/*"))
    assert len(kept) == (code == 1)
    assert all("by nought" in each.read_text() and str(each) in err for each in kept)
    assert app.run(["end", "--debug"]) == code
    assert ("Traceback" in capsys.readouterr().err) is (code < 130)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rnu", "stithy: There is no command 'rnu'. Did you mean run?"),
        ("zzz", ", ".join(sorted(command_modules(cli)))),
        ("hammer frob", "There are calibrate, check, prepare, run, verify-ledger."),
        ("run", "stithy run: STUDY is missing."),
        ("--nonsense", "stithy: There is no option --nonsense before a command."),
        ("export runs/a", "stithy export: --to is missing."),
        ("run a.yaml --junit", "stithy run: --junit needs a value."),
        ("plan a.yaml b.yaml c.yaml", "stithy plan: More than it takes: b.yaml c.yaml."),
        ("drive fault data stal", 'Did you mean "stall"?'),
        ("plan --nonsense x", "--help`"),
    ],
)
def test_what_is_wrong_with_a_command_line_is_told_in_plain_words(
    line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The word that was meant, or all that there are; what is missing, by its name in the help."""
    assert app.run(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err


def test_finding_the_commands_imports_nothing_heavy() -> None:
    """`stithy --help` stays quick: heavy modules are imported by the commands that need them."""
    script = "import sys; from stithy.cli.app import build; build(); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "stithy.cli.run" in shown.stdout.split()
    assert not {*HEAVY} & {*shown.stdout.split()}


PLAN = ["plan", "studies/demo.yaml"]
FULL = "error: standard output: it cannot be written: no space left on device: make room there"


@pytest.mark.parametrize(
    ("arguments", "output", "buffered", "code", "told"),
    [
        (PLAN, "> /dev/full", "", 4, FULL),
        (PLAN, "> /dev/full", "1", 4, FULL),
        (["plan", "no.yaml", "--json"], "> /dev/full", "1", 2, "error: no.yaml: there is no such"),
        ([*PLAN, "--json"], "| true", "", 0, ""),
        (["--help"], "| true", "1", 0, ""),
        (PLAN, ">&-", "", 0, ""),
    ],
)
def test_an_output_that_cannot_be_written_is_told_and_one_that_nobody_reads_is_not_missed(
    arguments: list[str], output: str, buffered: str, code: int, told: str, root: Path
) -> None:
    """One line that says what to do, no trace; an earlier failure keeps its code."""
    command = f'"$0" -m stithy "$@" {output}; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, *arguments], stderr=subprocess.PIPE, text=True,
        cwd=root, env={**os.environ, "PYTHONUNBUFFERED": buffered},
    )  # fmt: skip
    assert done.returncode == code
    assert done.stderr.startswith(told)
    assert bool(done.stderr) is bool(told)
    assert done.stderr.count("\n") == (code == 4) or code == 2


class Failing(io.StringIO):
    """A stream that the kernel refuses to write."""

    number = errno.EIO

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(self.number, os.strerror(self.number))


def test_what_cannot_be_written_is_told_with_its_remedy_and_talk_is_never_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Data go to standard output, talk to standard error; a closed terminal says EIO."""
    stream = Failing()
    with pytest.raises(failures.NobodyReads):
        failures.Output(stream).write("data")
    for stream.number, remedy in (
        (errno.EDQUOT, "raise the quota"),
        (errno.EFBIG, "file too larg"),
    ):
        with pytest.raises(InfrastructureError, match=remedy):
            failures.Output(stream).write("data")
    render.show("data")
    render.say("talk")
    assert capsys.readouterr() == ("data\n", "talk\n")
    render.show_json({"größe": "µs"})
    assert '"größe": "µs"' in capsys.readouterr().out
    stream.number = errno.EIO
    monkeypatch.setattr(sys, "stderr", stream)
    render.say("talk")
    shown = render.table(["name", "n"], [["a", "1"], ["longer", "100"]], ["left", "right"])
    assert shown == "name      n\na         1\nlonger  100"


def test_all_problems_of_a_study_are_shown_with_their_excerpts_but_do_not_flood_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Then how many there are; a program is told of a failure in JSON, too."""
    problem = StudyProblem("odd: 3", where="f:1:2", remedy="mend it", excerpt="1 | a 3\n  |   ^")
    assert failures.show(StudyError("f", [problem, problem]), debug=False) == 2
    err = capsys.readouterr().err
    assert err.count("f:1:2: odd: 3: mend it\n1 | a 3\n  |   ^\n") == 2
    assert "error: f: 2 problems in this study file" in err
    failures.show(StudyError("f", [problem] * (failures.SHOWN_MAX + 7)), debug=False)
    err = capsys.readouterr().err
    assert (err.count("f:1:2"), "… and 7 more" in err) == (failures.SHOWN_MAX, True)
    error = PreconditionError("too few", where="db", remedy="raise it")
    assert failures.show(error, debug=False, as_json=True) == 3
    told = {"problem": "too few", "where": "db", "remedy": "raise it", "exit": 3}
    assert json.loads(capsys.readouterr().out) == {"failure": told}


Read = Callable[[str, str], float]


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (options.read_seconds, "2 min", 120.0), (options.read_seconds, "0s", 0.0),
        (options.read_measured, "500 ms", 0.5), (options.read_percent, "50%", 50),
        (options.read_size, "2 GiB", 2 * 2**30), (options.read_seconds, "soon", None),
        (options.read_measured, "0 s", None), (options.read_percent, "half", None),
        (options.read_size, "many", None),
    ],
)  # fmt: skip
def test_an_option_is_given_with_its_unit(read: Read, text: str, value: float | None) -> None:
    """What means nothing is refused by the option's name, with what would be right."""
    if value is not None:
        assert read(text, "--it") == value
        return
    with pytest.raises(UserError, match="--it: ") as caught:
        read(text, "--it")
    assert caught.value.remedy


ASKED = Question(4, "nopm", 0.02, ("a", "b"), 4, 6, ())


def test_the_prospects_of_a_question_follow_from_noise_and_blocks() -> None:
    """Noise is assumed or the median of earlier runs; advice where equals would end undecided."""
    assumed = prospects.outlook(ASKED, 2, (), 1)
    quiet = prospects.outlook(replace(ASKED, blocks_most=20), 2, (0.001, 0.005, 0.5), 1)
    assert assumed is not None
    assert quiet is not None
    assert [each.ratio for each in assumed.prospects] == [1.0, 1.02, 1.04]
    assert assumed.margin_needed == pytest.approx(0.06, abs=0.006)
    told = prospects.as_text(assumed)
    assert "block noise 2%\n(assumed" in told
    assert "a margin of " in told
    assert (quiet.noise_share, quiet.margin_needed) == (0.005, None)
    assert (
        quiet.prospects[0].shares[Call.EQUIVALENT] > 0.95 < quiet.prospects[2].shares[Call.BETTER]
    )
    assert prospects.as_values(quiet)["noise_runs"] == 3
    assert "(the median of 3 earlier runs" in prospects.as_text(quiet)
    for none in (None, replace(ASKED, blocks_least=2, blocks_most=2)):
        assert prospects.outlook(none, 2, (), 1) is None
    wide = replace(ASKED, blocks_most=12)
    pairs = [
        prospects.outlook(replace(wide, candidates=each), 3, (), 1) for each in (("a", "b"), None)
    ]
    named, later = [each.prospects[2].different_share for each in pairs if each]
    assert later < named, "a pair that is chosen later is harder to tell"
