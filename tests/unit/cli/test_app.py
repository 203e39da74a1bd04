"""The command line: finds its commands, ends with the right exit code, talks where it should."""

import errno
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import cyclopts
import pytest

import stithy
from stithy import cli
from stithy.analysis.verdict import Call
from stithy.cli import app, list_command_modules
from stithy.cli.talk import options, prospects, render
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.plan.steps import Question
from stithy.study.problems import StudyError, StudyProblem
from support.points import at

pytestmark = pytest.mark.usefixtures("own_state")
Captured = pytest.CaptureFixture[str]
HEAVY = ("polars", "altair", "vl_convert", "pydantic", "ruamel", "psycopg", "jinja2", "structlog")


def test_every_end_of_a_command_has_its_exit_code_and_one_line(
    own_state: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Of a bug the traceback is kept in a file, and shown with `--debug` anywhere."""
    about: Any = {"problem": "it is full", "where": "/data", "remedy": "make room"}
    ends: tuple[tuple[BaseException, int, str], ...] = (
        (UserError(**about), 2, "/data: it is full: make"),
        (PreconditionError(**about), 3, "error: /data: "),
        (InfrastructureError(**about), 4, "make room\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (ZeroDivisionError("by nought"), 1, "a bug in Stithy"),
    )
    for error, code, reported in ends:

        def end(error: BaseException = error) -> None:
            raise error

        settings: Any = {"exit_on_error": False, "print_error": False}
        built = cyclopts.App(**settings, suppress_keyboard_interrupt=False)
        built.command(end)
        monkeypatch.setattr(app, "build", lambda built=built: built)
        assert app.run(["end"]) == code
        out, err = capsys.readouterr()
        assert (out, "Traceback" in err) == ("", False)
        assert reported in err
        assert err.count("\n") == 1 or code == 1
        kept = list(own_state.glob("bugs/*"))
        assert len(kept) == (code == 1)
        assert all("by nought" in each.read_text() and str(each) in err for each in kept)
        assert app.run(["end", "--debug"]) == code
        assert ("Traceback" in capsys.readouterr().err) is (code < 130)


def test_mistakes_of_a_command_line_are_told_plainly(capsys: Captured) -> None:
    """The word that was meant, or all that there are; what is missing, by its name in the help."""
    for line, reported in (
        ("rnu", "stithy: There is no command 'rnu'. Did you mean run?"),
        ("zzz", ", ".join(sorted(list_command_modules(cli)))),
        ("hammer frob", "There are calibrate, check, prepare, run, verify-ledger."),
        ("run", "stithy run: STUDY is missing."),
        ("--nonsense", "stithy: There is no option --nonsense before a command."),
        ("export runs/a", "stithy export: --to is missing."),
        ("run a.yaml --junit", "stithy run: --junit needs a value."),
        ("plan a.yaml b.yaml c.yaml", "stithy plan: More than it takes: b.yaml c.yaml."),
        ("drive fault data drive-slwo", "did you mean `drive-slow`?"),
        ("block gp3 --repeat 1.5", "--repeat: '1.5' is not a whole number"),
        ("drive up gp3 --sector 4k", "--sector: '4k' is not a whole number"),
        ("block gp3 --repeat ٣", "is not a whole number"),
        ("plan --nonsense x", "--help`"),
    ):
        assert app.run(line.split()) == 2
        out, err = capsys.readouterr()
        assert (out, reported in err) == ("", True), line


def test_names_that_no_result_could_hold_are_refused_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """Of a file, and of the directory in which one works; one that is gone, too."""
    odd, gone = tmp_path / os.fsdecode(b"\xff"), tmp_path / "gone"
    for folder in (odd, gone):
        folder.mkdir()
    for place, name, reported in (
        (tmp_path, odd / "s.yaml", "not UTF-8"),
        (odd, Path("s.yaml"), "not UTF-8"),
        (gone, Path("s.yaml"), "the current directory: it was removed"),
    ):
        monkeypatch.chdir(place)
        gone.rmdir() if place == gone else None
        for command in ("plan", "block"):
            assert app.run([command, str(name)]) == 2
            assert reported in capsys.readouterr().err


def test_a_user_without_a_home_is_told_to_set_one(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """As those of a container are whose number has no entry; a bug is kept elsewhere."""
    for name in ("STITHY_STATE", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(Path, "home", lambda: Path("~nobody-at-all").expanduser())
    assert app.run(["clean"]) == 3
    assert "HOME: this user has no home directory: set HOME" in capsys.readouterr().err
    assert render.show_error(ZeroDivisionError("by nought"), debug=False) == 1
    kept = Path(capsys.readouterr().err.strip().rpartition(" ")[2])
    assert "by nought" in kept.read_text()
    kept.unlink()


def test_finding_the_commands_imports_nothing_heavy() -> None:
    """`stithy --help` stays quick: heavy modules are imported by the commands that need them."""
    script = "import sys; from stithy.cli.app import build; build(); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "stithy.cli.run" in shown.stdout.split()
    assert not {*HEAVY} & {*shown.stdout.split()}


def test_the_installed_script_starts_the_command(root: Path) -> None:
    """By the name that its entry has: no import tells of it."""
    script = root / "python/stithy.data/scripts/stithy"
    done = subprocess.run(
        [sys.executable, script, "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"stithy {stithy.__version__}\n"


def test_an_output_that_cannot_be_written_is_told_and_one_that_nobody_reads_is_not(
    root: Path,
) -> None:
    """One line that says what to do, no trace; an earlier failure keeps its code."""
    lists = "drive catalogue"
    full = "error: standard output: it cannot be written: no space left on device: make room there"
    for words, buffered, code, reported in (
        (f"{lists} > /dev/full", "", 4, full),
        (f"{lists} > /dev/full", "1", 4, full),
        ("plan no.yaml --json > /dev/full", "1", 2, "error: no.yaml: there is no such"),
        (f"{lists} --json | true", "", 0, ""),
        ("--help | true", "1", 0, ""),
        (f"{lists} >&-", "", 0, ""),
    ):
        command = f'"$0" -m stithy {words}; exit "${{PIPESTATUS[0]}}"'
        done = subprocess.run(
            ["bash", "-c", command, sys.executable], stderr=subprocess.PIPE, text=True,
            cwd=root, env={**os.environ, "PYTHONUNBUFFERED": buffered},
        )  # fmt: skip
        told = done.stderr
        assert (done.returncode, bool(told)) == (code, bool(reported)), words
        assert told.startswith(reported)
        assert told.count("\n") == (code == 4) or code == 2


class Failing(io.StringIO):
    """A stream that the kernel refuses to write."""

    number = errno.EIO

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(self.number, os.strerror(self.number))


def test_talk_is_never_missed_and_data_are(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """What cannot be written is reported with its remedy; a closed terminal says EIO."""
    stream = Failing()
    with pytest.raises(render.NobodyReads):
        render.Output(stream).write("data")
    for stream.number, remedy in (
        (errno.EDQUOT, "raise the quota"), (errno.EFBIG, "file too larg"),
    ):  # fmt: skip
        with pytest.raises(InfrastructureError, match=remedy):
            render.Output(stream).write("data")
    render.show_json({"größe": "µs"})
    render.say("talk")
    assert capsys.readouterr() == ('{\n  "größe": "µs"\n}\n', "talk\n")
    monkeypatch.setattr(sys, "stderr", stream)
    render.say("talk")
    shown = render.make_table(["name", "n"], [["a", "1"], ["longer", "100"]], "<>")
    assert shown == "name      n\na         1\nlonger  100"


def test_all_problems_are_shown_as_far_as_a_terminal_bears(capsys: Captured) -> None:
    """Then how many there are; a program gets a failure as JSON, too."""
    problem = StudyProblem("odd: 3", where="f:1:2", remedy="mend it", excerpt="1 | a 3\n  |   ^")
    render.show_error(StudyError("f", [problem] * (render.SHOWN_MAX + 7)), debug=False)
    err = capsys.readouterr().err
    assert err.count("f:1:2: odd: 3: mend it\n1 | a 3\n  |   ^\n") == render.SHOWN_MAX
    assert "… and 7 more" in err
    assert f"error: f: {render.SHOWN_MAX + 7} problems in this study file" in err
    error = PreconditionError("too few", where="db", remedy="raise it")
    assert render.show_error(error, debug=False, as_json=True) == 3
    reported = {"problem": "too few", "where": "db", "remedy": "raise it", "exit": 3}
    assert json.loads(capsys.readouterr().out) == {"failure": reported}


def test_an_option_is_given_with_its_unit() -> None:
    """What means nothing is refused by the option's name, with what would be right."""
    seconds, measured = options.read_seconds, options.read_measured
    given = (seconds("2 min", "--it"), seconds("0s", "--it"), measured("500 ms", "--it"))
    assert given == (120.0, 0.0, 0.5)
    assert options.read_percent("50%", "--it") == 50
    assert options.read_size("2 GiB", "--it") == 2 * 2**30
    for read, text in (
        (seconds, "soon"), (measured, "0 s"), (options.read_percent, "half"),
        (options.read_size, "many"),
    ):  # fmt: skip
        with pytest.raises(UserError, match="--it: ") as caught:
            read(text, "--it")
        assert caught.value.remedy


def test_the_prospects_of_a_question_follow_from_noise_and_blocks() -> None:
    """Noise is assumed or the median of earlier runs; advice where equals would end undecided."""
    asked = Question(at(4), "nopm", 0.02, ("a", "b"), 4, 6, ())
    assumed = prospects.make_outlook(asked, 2, (), 1)
    quiet = prospects.make_outlook(replace(asked, blocks_most=20), 2, (0.001, 0.005, 0.5), 1)
    assert assumed is not None
    assert quiet is not None
    assert [each.ratio for each in assumed.prospects] == [1.0, 1.02, 1.04]
    assert assumed.margin_needed == pytest.approx(0.06, abs=0.006)
    reported = prospects.make_text(assumed)
    assert "block noise 2%\n(assumed" in reported
    assert "a margin of " in reported
    assert (quiet.noise_share, quiet.margin_needed) == (0.005, None)
    equal, _, better = (prospect.shares for prospect in quiet.prospects)
    assert equal[Call.EQUIVALENT] > 0.95 < better[Call.BETTER]
    assert prospects.make_values(quiet)["noise_runs"] == 3
    assert "(the median of 3 earlier runs" in prospects.make_text(quiet)
    for none in (None, replace(asked, blocks_least=2, blocks_most=2)):
        assert prospects.make_outlook(none, 2, (), 1) is None
    wide = replace(asked, blocks_most=12)
    pairs = [
        prospects.make_outlook(replace(wide, candidates=each), 3, (), 1)
        for each in (("a", "b"), None)
    ]
    named, later = [pair.prospects[2].shares[Call.BETTER] for pair in pairs if pair]
    assert later < named, "a pair that is chosen later is harder to tell"
