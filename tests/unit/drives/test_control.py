"""Talking to a drive program: commands, answers, and the ways in which there is none."""

import threading
from pathlib import Path

import pytest

from fakes.drives import facts, refused, serving
from stithy.drives.control import Control
from stithy.drives.spec import DriveSpec
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.wire.drive.control import (
    AnswerPowerCut,
    AnswerTrace,
    AnswerUp,
    AnyAnswer,
    AnyCommand,
    Down,
    Fault,
    Restore,
    Set,
    Snapshot,
    Trace,
)
from stithy.wire.drive.jobs import Gone, PowerCut

CUT = PowerCut(seed=7, lost_share=0.3, torn_share=0.4, unit_bytes=512)


def test_commands_are_told_and_their_answers_given(tmp_path: Path) -> None:
    """Each call is one command."""
    path = tmp_path / "control"
    with serving(path) as heard:
        control = Control(path)
        assert [each.drive for each in control.list()] == ["data"]
        control.set("data", paced=False)
        control.snapshot("data")
        control.restore("data")
        control.down("data")
        assert control.fault("data", Gone()) is None
    assert heard[1:] == [
        Set(drive="data", paced=False),
        Snapshot(drive="data"),
        Restore(drive="data"),
        Down(drive="data"),
        Fault(drive="data", fault=Gone()),
    ]


def test_a_drive_that_is_up_is_told_with_its_device(tmp_path: Path) -> None:
    """The program's answer to `up` is the drive's facts."""
    up = AnswerUp(**facts().model_dump())
    with serving(tmp_path / "control", lambda _: up):
        spec = DriveSpec("data", None, 2**30)
        assert Control(tmp_path / "control").up(spec).device == "/dev/loop99"


def test_a_power_cut_tells_what_became_of_the_writes(tmp_path: Path) -> None:
    """Other faults tell nothing."""
    counts = AnswerPowerCut(kept=1, torn=2, lost=3)
    with serving(tmp_path / "control", lambda _: counts):
        assert Control(tmp_path / "control").fault("data", CUT) == counts


def test_a_trace_is_written_where_the_person_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program works in another folder, so the path is told in full."""
    monkeypatch.chdir(tmp_path)
    counts = AnswerTrace(drive="data", path="x", written=0, lost=0)
    with serving(tmp_path / "control", lambda _: counts) as heard:
        assert Control(tmp_path / "control").trace("data", Path("a.trace")) == counts
        Control(tmp_path / "control").trace("data", None)
    paths = [each.path for each in heard if isinstance(each, Trace)]
    assert paths == [str(tmp_path / "a.trace"), None]


@pytest.mark.parametrize(
    ("code", "kind"), [(2, UserError), (3, PreconditionError), (4, InfrastructureError)]
)
def test_a_refusal_becomes_the_error_it_tells(
    tmp_path: Path, code: int, kind: type[StithyError]
) -> None:
    """Problem, place, remedy and exit code are the program's."""
    with (
        serving(tmp_path / "control", lambda _: refused(code)),
        pytest.raises(kind, match="^/dev/loop99: the drive is mounted: unmount it first$"),
    ):
        Control(tmp_path / "control").down()


def test_a_program_that_is_gone_is_told(tmp_path: Path) -> None:
    """A socket that nobody serves, that is not there, or that breaks off."""
    path = tmp_path / "control"
    for _ in range(2):
        with pytest.raises(InfrastructureError, match="has ended, and its drives with it"):
            Control(path).list()
        path.touch()
    path.unlink()
    with serving(path, lambda _: b""), pytest.raises(InfrastructureError, match="has ended"):
        Control(path).list()


def test_a_program_that_is_held_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    """The patience is told."""

    released = threading.Event()

    def late(_: AnyCommand) -> AnyAnswer:
        released.wait(10)
        return refused(4)

    with serving(tmp_path / "control", late):
        try:
            with pytest.raises(InfrastructureError, match=r"did not answer within 0\.05 s"):
                Control(tmp_path / "control", patience_s=0.05).list()
        finally:
            released.set()


@pytest.mark.parametrize("line", [b'{"answer":"maybe"}\n', b"what?\n", b'{"answer":"done"}\n'])
def test_an_answer_that_does_not_fit_is_quoted(tmp_path: Path, line: bytes) -> None:
    """Programs of different versions do not misunderstand each other silently."""
    with (
        serving(tmp_path / "control", lambda _: line),
        pytest.raises(InfrastructureError, match="an answer is not understood"),
    ):
        Control(tmp_path / "control").list()


def test_a_socket_far_down_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path may be longer than an address of a socket, which holds 107 bytes."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    monkeypatch.chdir(folder)
    with serving(Path("control")):
        assert Control(folder / "control").list()
