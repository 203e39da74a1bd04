"""How commands talk: output, tables, failures, options, browsers."""

import errno
import io
import json
import os
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from stithy.analysis.verdict.decide import Call
from stithy.cli.report import opened
from stithy.cli.talk.failures import SHOWN_MAX, NobodyReads, Output
from stithy.cli.talk.failures import show as show_failure
from stithy.cli.talk.options import read_measured, read_percent, read_seconds, read_size
from stithy.cli.talk.prospects import as_text, as_values, outlook
from stithy.cli.talk.render import say, show, show_json, table
from stithy.errors import InfrastructureError, PreconditionError, UserError
from stithy.plan.steps import Question
from stithy.study.problems import StudyError, StudyProblem

STUDY = "studies/demo.yaml"


COMMANDS = (["plan", STUDY], ["plan", STUDY, "--json"], ["--help"])


FULL = "error: standard output: it cannot be written: no space left on device: make room there"


def ended(arguments: list[str], output: str, **environment: str) -> tuple[int, str]:
    """The exit code and the talk of `stithy` with its output led there by a shell."""
    command = f'"$0" -m stithy "$@" {output}; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", command, sys.executable, *arguments],
        stderr=subprocess.PIPE, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_output_is_a_failure_of_the_machine(arguments: list[str]) -> None:
    """Exit code 4, one line that says what to do, no trace."""
    code, talk = ended(arguments, "> /dev/full")
    assert code == 4
    assert talk.startswith(FULL)
    assert talk.count("\n") == 1


def test_an_output_is_full_whether_or_not_it_is_buffered() -> None:
    """Unbuffered, the first line fails and not the end."""
    code, talk = ended(["plan", STUDY], "> /dev/full", PYTHONUNBUFFERED="1")
    assert (code, talk.count("\n")) == (4, 1)
    assert talk.startswith(FULL)


@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_wrong_study_is_told_though_the_output_is_full(buffered: str, tmp_path: Path) -> None:
    """The exit code is that of what ended the command."""
    missing = str(tmp_path / "no.yaml")
    code, talk = ended(["plan", missing, "--json"], "> /dev/full", PYTHONUNBUFFERED=buffered)
    assert code == 2
    assert "there is no such file" in talk


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_reader_that_stops_reading_is_no_error(arguments: list[str], buffered: str) -> None:
    """`stithy plan … | head -1` ends quietly."""
    assert ended(arguments, "| true", PYTHONUNBUFFERED=buffered) == (0, "")


def test_an_output_that_the_caller_closed_is_not_missed() -> None:
    """Who closes it wants the exit code alone."""
    assert ended(["plan", STUDY], ">&-") == (0, "")


class Failing(io.StringIO):
    """A stream that the kernel refuses to write."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(self.number, os.strerror(self.number))


def test_a_closed_terminal_is_one_that_nobody_reads() -> None:
    """It says EIO, as a broken device does."""
    with pytest.raises(NobodyReads):
        Output(Failing(errno.EIO)).write("data")


def test_whatever_else_cannot_be_written_is_told_with_its_remedy() -> None:
    """A quota has another one than a full disk."""
    with pytest.raises(InfrastructureError, match="raise the quota there"):
        Output(Failing(errno.EDQUOT)).write("data")
    with pytest.raises(InfrastructureError, match="file too large: check where the output goes"):
        Output(Failing(errno.EFBIG)).write("data")


def test_everything_else_of_an_output_is_the_streams() -> None:
    """Help asks it how wide it is."""
    assert not Output(io.StringIO()).isatty()


def test_data_go_to_standard_output_and_talk_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So that `stithy plan … > plan.txt` holds the plan alone."""
    show("data")
    say("talk")
    assert capsys.readouterr() == ("data\n", "talk\n")


class Closed:
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        """Refuse, as the kernel does."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_closed_terminal_does_not_even_end_the_talk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done goes on without it."""
    monkeypatch.setattr(sys, "stderr", Closed())
    say("talk")


def test_json_is_one_document_that_keeps_its_letters(capsys: pytest.CaptureFixture[str]) -> None:
    """Programs read it, and people can."""
    show_json({"größe": "µs"})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"größe": "µs"}
    assert "größe" in shown


def test_a_table_is_as_wide_as_its_widest_cells() -> None:
    """Numbers to the right, words to the left, nothing behind the last."""
    assert table(["name", "n"], [["a", "1"], ["longer", "100"]], ["left", "right"]) == (
        "name      n\na         1\nlonger  100"
    )


def test_all_problems_of_a_study_are_shown_with_their_excerpts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Then how many there are."""
    problem = StudyProblem("odd: 3", where="f:1:2", remedy="mend it", excerpt="1 | a 3\n  |   ^")
    assert show_failure(StudyError("f", [problem, problem]), debug=False) == 2
    err = capsys.readouterr().err
    assert err.count("f:1:2: odd: 3: mend it\n1 | a 3\n  |   ^\n") == 2
    assert err.endswith("error: f: 2 problems in this study file: fix the file; nothing was done\n")


def test_thousands_of_problems_do_not_flood_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first ones, and how many more."""
    problem = StudyProblem("odd", where="f:1:1", remedy="mend it")
    show_failure(StudyError("f", [problem] * (SHOWN_MAX + 7)), debug=False)
    err = capsys.readouterr().err
    assert err.count("f:1:1") == SHOWN_MAX
    assert "… and 7 more" in err


def test_a_program_is_told_in_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    """One document on standard output, whatever the person is told."""
    error = PreconditionError("too few", where="db", remedy="raise it")
    assert show_failure(error, debug=False, as_json=True) == 3
    shown = capsys.readouterr()
    expected = {"problem": "too few", "where": "db", "remedy": "raise it", "exit": 3}
    assert json.loads(shown.out) == {"failure": expected}
    assert shown.err == "error: db: too few: raise it\n"


Read = Callable[[str, str], float]


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (read_seconds, "2 min", 120.0),
        (read_seconds, "0s", 0.0),
        (read_measured, "500 ms", 0.5),
        (read_percent, "50%", 50),
        (read_size, "2 GiB", 2 * 2**30),
    ],
)
def test_an_option_is_given_as_people_write_it(read: Read, text: str, value: float) -> None:
    """With a unit."""
    assert read(text, "--it") == value


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (read_seconds, "soon", "'soon' is not a duration"),
        (read_measured, "0 s", "nothing would be measured"),
        (read_percent, "half", "'half' is not a percentage"),
        (read_size, "many", "'many' is not a size"),
    ],
)
def test_what_means_nothing_is_refused_by_the_options_name(
    read: Read, text: str, problem: str
) -> None:
    """With what would be right."""
    with pytest.raises(UserError, match=f"--it: {problem}") as caught:
        read(text, "--it")
    assert caught.value.remedy


def _desktop(program: Path, body: str, patch: pytest.MonkeyPatch) -> Path:
    """A program that the desktop would start; where it writes what it was called with."""
    told = program.with_suffix(".told")
    program.write_text(f'#!/bin/sh\necho "$@" > "{told}"\necho talk\n{body}\n')
    program.chmod(0o755)
    browser = webbrowser.BackgroundBrowser(str(program))
    patch.setattr(webbrowser, "get", lambda: browser)
    return told


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
@pytest.mark.parametrize(
    ("body", "opens"),
    [("exit 0", True), ("exit 3", False), ("exec /bin/sleep 2", True)],
    ids=["it hands over and ends", "it fails", "it stays"],
)
def test_a_program_of_the_desktop_has_opened_the_page_unless_it_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    body: str,
    opens: bool,
) -> None:
    """That it has ended is no failure; and nothing that it says gets among the command's output."""
    told = _desktop(tmp_path / "xdg-open", body, monkeypatch)
    page = tmp_path / "a page.html"
    assert opened(page, patience_s=1.0 if "sleep" in body else 30.0) is opens
    assert told.read_text().strip() == page.as_uri()
    assert capfd.readouterr() == ("", "")


def test_a_program_that_cannot_be_started_has_opened_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have gone since Python found it."""
    browser = webbrowser.BackgroundBrowser(str(tmp_path / "gone"))
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    assert not opened(tmp_path / "page.html")


ASKED = Question(4, "nopm", 0.02, ("a", "b"), 4, 6, ())


def test_without_earlier_runs_the_noise_is_assumed_and_said_to_be() -> None:
    """Six blocks at 2 % of both noise and margin: equals end undecided, and what mends that."""
    expected = outlook(ASKED, 2, (), 1)
    assert expected is not None
    said = as_text(expected)
    assert "block noise 2%\n(assumed: no earlier run on this machine measured it)." in said
    assert [each.ratio for each in expected.prospects] == [1.0, 1.02, 1.04]
    assert "if truly" in said
    assert "better by 4%" in said
    assert expected.margin_needed == pytest.approx(0.06, abs=0.006)
    assert "allow more blocks, or a margin of " in said


def test_the_noise_of_earlier_runs_is_their_median() -> None:
    """A quiet machine can end either way, and is given no advice."""
    expected = outlook(replace(ASKED, blocks_most=20), 2, (0.001, 0.005, 0.5), 1)
    assert expected is not None
    assert (expected.noise_share, expected.margin_needed) == (0.005, None)
    said = as_text(expected)
    assert "block noise 0.5%\n(the median of 3 earlier runs on this machine)." in said
    assert "margin of" not in said
    assert expected.prospects[0].shares[Call.EQUIVALENT] > 0.95
    assert expected.prospects[2].shares[Call.BETTER] > 0.95
    assert as_values(expected)["noise_runs"] == 3


def test_where_no_verdict_can_come_nothing_is_foretold() -> None:
    """Without a question, and with fewer blocks than a verdict needs."""
    assert outlook(None, 1, (), 1) is None
    assert outlook(replace(ASKED, blocks_least=2, blocks_most=2), 2, (), 1) is None


def test_a_pair_that_is_chosen_later_is_harder_to_tell() -> None:
    """Three candidates, none of them named in the question."""
    wide = replace(ASKED, blocks_most=12)
    named, chosen = outlook(wide, 3, (), 1), outlook(replace(wide, candidates=None), 3, (), 1)
    assert named is not None
    assert chosen is not None
    assert chosen.prospects[2].different_share < named.prospects[2].different_share
