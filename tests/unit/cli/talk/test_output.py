"""A standard output that is full, closed or read by nobody: told as what it is, never as a bug."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stithy.cli.talk.output import NobodyReads, Output
from stithy.errors import InfrastructureError

STUDY = "studies/demo.yaml"
COMMANDS = (
    ["plan", STUDY], ["plan", STUDY, "--json"], ["--help"], ["run", "--help"], ["--version"],
    ["hammer", "run", "--help"],
)  # fmt: skip
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


@pytest.mark.parametrize("arguments", COMMANDS[:4], ids=" ".join)
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
    with pytest.raises(InfrastructureError, match="file too large: look where it leads"):
        Output(Failing(errno.EFBIG)).write("data")


def test_everything_else_of_an_output_is_the_streams() -> None:
    """Help asks it how wide it is."""
    assert not Output(io.StringIO()).isatty()
