"""The command `stithy drive`: options, exit codes, what is shown."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.drives import done, serving
from stithy.cli import app
from stithy.cli.drive import fault, profile
from stithy.drives import control as places
from stithy.drives import faults, program
from stithy.drives.control import DriveEntry
from stithy.drives.measure.measurement import DriveTarget
from stithy.errors import PreconditionError, UserError
from stithy.hosts.processes import get_identity
from stithy.wire.drive import jobs, messages
from stithy.wire.drive.messages import AnyAnswer, AnyCommand
from support.examples import DEAD, wire_example

pytestmark = pytest.mark.usefixtures("own_state")
Captured = pytest.CaptureFixture[str]


def answer(command: AnyCommand) -> AnyAnswer:
    """A program with one drive that does all that it is asked."""
    if command.command == "stats":
        return messages.parse_answer(wire_example("drive/answer.stats"))
    if command.command == "fault" and isinstance(command.fault, jobs.PowerCut):
        return messages.AnswerPowerCut(kept=120, torn=61, lost=58)
    if command.command == "trace":
        path = command.path or "a.trace"
        return messages.AnswerTrace(drive="data", path=path, written=7, lost=0)
    return done(command)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[AnyCommand]]:
    """A register with one drive called `data`, whose program is up; the commands that it heard."""
    places.make(places.get_folder("data"), DriveEntry(None, ("data",), DEAD, ("/dev/loop99",)))
    monkeypatch.setattr(program, "find", lambda folder: get_identity())
    # Which is this very process: that it would be ended has tests of its own.
    monkeypatch.setattr(program, "end", lambda pids, number: None)
    with serving(places.get_folder("data") / "control", answer) as commands:
        yield commands


def _told(capsys: Captured, words: str) -> tuple[int, str]:
    """The exit code of `stithy drive` with these words, and all that it told."""
    code = app.run(["drive", *words.split()])
    return code, "".join(capsys.readouterr())


def test_drives_and_their_counters_are_shown(heard: list[AnyCommand], capsys: Captured) -> None:
    """As tables for people, where lateness is distinguished, and as JSON for programs."""
    for line, part in (
        ("list", "data /dev/loop99 1 GiB generic-nvme memory - - up"),
        ("stats data", "late: p50 80 µs"),
        ("list --json", '"run_id": null'), ("stats --json", '"answered": 1000'),
    ):  # fmt: skip
        code, shown = _told(capsys, line)
        assert (code, part in " ".join(shown.split())) == (0, True), line
    assert app.run(["drive", "stats", "--watch", "--json"]) == 2


def test_without_drives_that_is_said_and_of_a_killed_one_how_to_remove_it(capsys: Captured) -> None:
    """The counters of a killed one are an error; none at all are none."""
    for command in ("list", "stats"):
        assert _told(capsys, command) == (0, "No emulated drive is up.\n")
    places.make(places.get_folder("data"), DriveEntry(None, ("data",), DEAD, ("/dev/loop99",)))
    code, shown = _told(capsys, "list")
    assert (code, "`stithy clean` removes" in shown) == (0, True)
    assert app.run(["drive", "stats"]) == 4


def test_settings_and_faults_reach_the_drive(heard: list[AnyCommand], capsys: Captured) -> None:
    """What is given and nothing else; what becomes of writes in a power cut is reported."""
    for words in (
        "set data --spin 500ms",
        "set data --paced off",
        "fault data drive-hung --duration 6s",
    ):
        assert app.run(["drive", *words.split()]) == 0
    reported = "of 239 volatile writes 120 were kept, 61 torn, 58 lost"
    assert reported in _told(capsys, "fault data drive-power-cut --seed 7")[1]
    cut = jobs.PowerCut(seed=7, lost_share=0.3, torn_share=0.4, unit_bytes=512)
    assert [each for each in heard if each.command in ("set", "fault")] == [
        messages.Set(drive="data", spin_s=0.5),
        messages.Set(drive="data", paced=False),
        messages.Fault(drive="data", fault=jobs.StallFault(duration_s=6.0)),
        messages.Fault(drive="data", fault=cut),
    ]
    assert app.run(["drive", "fault", "data", "drive-power-cut", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["writes"] == {"kept": 120, "torn": 61, "lost": 58}
    for wrong in ("set data", "set data --spin 50"):
        assert app.run(["drive", *wrong.split()]) == 2


WHOLE: dict[str, Any] = {"offset_bytes": 0, "length_bytes": None, "share": 1}
PART: dict[str, Any] = {"offset_bytes": 2**30, "length_bytes": 2**20, "share": 1}
SIZE_BYTES = 2**31
FAULTS: list[tuple[str, dict[str, Any], jobs.AnyFault]] = [
    ("heal", {}, jobs.NoFault()),
    ("drive-hung", {"duration": "6s"}, jobs.StallFault(duration_s=6.0)),
    ("drive-slow", {"factor": 10.0, "share": "0.1%"},
     jobs.Slow(factor=10, added_s=0, share=0.001)),
    ("drive-slow", {"factor": 1.0, "added": "5ms"}, jobs.Slow(factor=1, added_s=0.005, share=1)),
    ("drive-scheduled", {}, jobs.FaultSchedule(schedule=jobs.Shipped(name="increasing"))),
    ("drive-errors", {"only": "reads", "offset": "1GiB", "length": "1MiB"},
     jobs.Errors(reads=True, writes=False, **PART)),
    ("drive-read-only", {}, jobs.Errors(reads=False, writes=True, **WHOLE)),
    ("drive-errors", {}, jobs.Errors(reads=True, writes=True, **WHOLE)),
    ("drive-lying", {}, jobs.LyingFlush()),
    ("drive-corrupting", {"length": "4KiB", "bits": 3, "seed": 9},
     jobs.Corrupt(offset_bytes=0, length_bytes=4096, bits=3, seed=9)),
    ("drive-corrupting", {"offset": "1GiB"},
     jobs.Corrupt(offset_bytes=2**30, length_bytes=2**30, bits=1000, seed=0)),
]  # fmt: skip
NO_FAULTS: list[tuple[str, dict[str, Any], str]] = [
    ("drive-hung", {"share": "5%"}, "--share: 'drive-hung' does not have this option: leave it"),
    ("drive-slow", {"factor": 0.5}, "--factor: 0.5: too small: at least 1"),
    ("drive-slow", {"share": "0.5"}, "--share: '0.5': not a percentage"),
    ("drive-slow", {"share": "101%"}, "--share: '101%': not a percentage"),
    ("drive-stuttering", {"every": "1s", "slow": "1s"}, "never anything but slow"),
    ("drive-scheduled", {"schedule": "no"}, "--schedule: 'no': not"),
    ("drive-corrupting", {"bits": 0}, "--bits: 0: too small: at least 1"),
    ("drive-errors", {"offset": "12"}, "--offset: '12': not a size"),
    ("drive-power-cut", {"lost": "70%"}, "shares of lost and torn writes that are at most 100%"),
    ("drive-power-cut", {"unit": 100}, "--unit: 100: "),
    ("drive-hang", {}, "did you mean `drive-hung`?"),
]


def test_words_become_a_fault_or_are_refused() -> None:
    """Shares are percent, times and sizes have units; no option is taken silently."""
    for kind, how, expected in FAULTS:
        assert fault.make_fault(kind, fault.FaultOptions(**how), SIZE_BYTES) == expected
    for kind, how, reported in NO_FAULTS:
        with pytest.raises(UserError) as caught:
            fault.make_fault(kind, fault.FaultOptions(**how), SIZE_BYTES)
        assert reported in str(caught.value), kind
    options = (fault.find_options(kind) for kind in faults.FAULTS)
    takes = {of.alias or name for option in options if option is not None
             for name, of in option.model_fields.items()}  # fmt: skip
    assert takes == set(fault.FaultOptions.__dataclass_fields__)


def test_a_drive_goes_down_by_its_name_only(heard: list[AnyCommand], capsys: Captured) -> None:
    """One, or all: not nothing, not both, not a run's. tests/real has one that is in use."""
    places.make(places.get_folder("nvme", "r1"), DriveEntry("r1", ("log",), DEAD))
    for words, code, part in (
        ("", 2, ""), ("data --all", 2, ""), ("dat", 2, "did you mean data?"),
        ("log", 3, "it belongs to the run r1"), ("data", 0, ""), ("--all", 0, ""),
    ):  # fmt: skip
        ended, reported = _told(capsys, f"down {words}")
        assert (ended, part in reported) == (code, True), words
    assert [all_folder.name for all_folder in places.list_folders()] == ["r1.nvme"]


def test_what_cannot_come_up_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """Before anything is made; without root first of all, with the way that needs none."""
    for words, reported in (
        ("--size 8", "--size: '8' is not a size"),
        ("--size 1000B", "not a multiple of the sector"),
        ("--name a.b", "give another, such as a-b"),
        ("--scale 1/8", "a drive without a profile cannot be scaled"),
        ("--backing /dev/null", "'/dev/null' is not a file"),
        ("--backing /no/such/x", "/no/such is not a directory"),
        ("--mount /etc", "/etc is not empty"),
        ("--mount /proc", "/proc is a mount point already"),
        ("--mount /no/such/place", "/no/such does not exist"),
    ):
        for user, code, part in ((0, 2, reported), (1000, 3, "use directories as candidates")):
            monkeypatch.setattr("os.geteuid", lambda user=user: user)
            ended, shown = _told(capsys, f"up none {words}")
            assert (ended, part in shown) == (code, True), words
    assert places.list_folders() == []


def test_a_trace_begins_in_a_new_file(
    heard: list[AnyCommand], tmp_path: Path, capsys: Captured
) -> None:
    """Neither on nothing, nor over what is there; nor is one converted so, or what is none."""
    file, there = str(tmp_path / "data.trace"), tmp_path / "there"
    there.write_text("no trace")
    for words, code, part in (
        (f"trace data {file}", 0, f"each request is written to {file}"),
        ("trace data --stop", 0, "7 requests are in"),
        ("trace data", 2, "give a new file, or --stop"),
        (f"trace data {file} --stop", 2, "give a new file, or --stop"),
        (f"trace data {there}", 2, "the file exists already"),
        (f"trace data {tmp_path}/none/x", 2, "is not a directory"),
        (f"convert-trace {there} {there}", 2, "the file exists already"),
        (f"convert-trace {there} {tmp_path}/none/x", 2, "is not a directory"),
        (f"convert-trace {there} {file}", 2, "this is not the trace of a drive"),
    ):
        ended, reported = _told(capsys, words)
        assert (ended, part in reported) == (code, True), words
    traces = [each for each in heard if isinstance(each, messages.DriveTraceFile)]
    assert [trace.path for trace in traces] == [file, None]


DEVICE = DriveTarget(Path("/dev/nosuchdisk"), "device", 2**30, "nosuchdisk", None, None)
FOLDER = DriveTarget(Path("/srv"), "directory", 2**30, "nosuchdisk", "ext4", Path("/"))


def test_a_device_is_written_to_only_if_it_is_named_and_no_file_is_replaced(tmp_path: Path) -> None:
    """Whoever gives a consent without use expects something else."""
    profile.need_consent(DEVICE, write=False, erase=None)
    profile.need_consent(FOLDER, write=True, erase=None)
    for erase, reported in ((None, "destroys what is on it"), ("sda", "'sda' does not name this")):
        with pytest.raises(PreconditionError, match=reported):
            profile.need_consent(DEVICE, write=True, erase=erase)
    for target, write in ((DEVICE, False), (FOLDER, True), (FOLDER, False)):
        with pytest.raises(UserError, match="nothing to erase"):
            profile.need_consent(target, write=write, erase="x")
    assert profile.list_files(tmp_path / "a.toml") == (
        tmp_path / "a.toml",
        tmp_path / "a.measured.json",
    )
    (tmp_path / "a.measured.json").touch()
    for wrong in (tmp_path / "a.toml", tmp_path / "gone/a.toml"):
        with pytest.raises(UserError):
            profile.list_files(wrong)
