"""The command `stithy drive`: options, exit codes, what is shown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.drives import done, facts, refused, serving
from stithy.cli import app
from stithy.cli.drive.fault import TAKES, FaultOptions, made
from stithy.cli.drive.stats import between
from stithy.drives import places, program
from stithy.drives.places import Entry
from stithy.errors import UserError
from stithy.hosts.processes import Identity, own_identity
from stithy.wire.drive.control import (
    AnswerList,
    AnswerPowerCut,
    AnswerStats,
    AnswerTrace,
    AnyAnswer,
    AnyCommand,
    Fault,
    Set,
    Trace,
    parse_answer,
)
from stithy.wire.drive.jobs import (
    AnyFault,
    Corrupt,
    Errors,
    Gone,
    LyingFlush,
    NoFault,
    PowerCut,
    PowerOn,
    Slow,
    Stall,
)

EXAMPLES = Path(__file__).resolve().parents[3] / "wire" / "examples" / "drive"
DEAD = Identity("another boot", 1, 1)


def answer(command: AnyCommand) -> AnyAnswer:
    """A program with one drive that does all that it is asked."""
    if command.command == "stats":
        counters = parse_answer((EXAMPLES / "answer.stats.json").read_text())
        assert isinstance(counters, AnswerStats)
        return counters
    if command.command == "fault" and isinstance(command.fault, PowerCut):
        return AnswerPowerCut(kept=120, torn=61, lost=58)
    if command.command == "trace":
        return AnswerTrace(drive="data", path=command.path or "a.trace", written=7, lost=0)
    return done(command)


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[AnyCommand]]:
    """A register with one drive called `data`, whose program is up; the commands that it heard."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    places.make(places.folder_of("data"), Entry(None, ("data",), DEAD, ("/dev/loop99",)))
    monkeypatch.setattr(program, "find", lambda folder: own_identity())
    # Which is this very process: that it would be ended has tests of its own.
    monkeypatch.setattr(program, "end", lambda pids, number: None)
    with serving(places.folder_of("data") / "control", answer) as commands:
        yield commands


@pytest.fixture
def _nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty register."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))


def test_drives_are_listed(heard: list[AnyCommand], capsys: pytest.CaptureFixture[str]) -> None:
    """As a table for people and as JSON for programs."""
    assert app.run(["drive", "list"]) == 0
    shown = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert shown[0] == "name device size profile backing mounted at of run state"
    assert shown[1] == "data /dev/loop99 1 GiB generic-nvme memory - - up"
    assert app.run(["drive", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)[0]
    assert (listed["drive"], listed["run_id"], listed["problem"]) == ("data", None, None)
    assert listed["backing"] == {"kind": "memory"}


@pytest.mark.usefixtures("_nothing_up")
@pytest.mark.parametrize("command", ["list", "stats"])
def test_no_drive_is_no_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said, and the exit code is 0."""
    assert app.run(["drive", command]) == 0
    assert capsys.readouterr().out == "No emulated drive is up.\n"


def test_a_killed_drive_is_listed_with_the_way_to_remove_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its counters are an error on standard error."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    places.make(places.folder_of("data"), Entry(None, ("data",), DEAD, ("/dev/loop99",)))
    assert app.run(["drive", "list"]) == 0
    shown = capsys.readouterr()
    assert "its program was killed" in shown.out
    assert "`stithy clean` removes" in shown.err
    assert app.run(["drive", "stats"]) == 4
    assert "has ended" in capsys.readouterr().err


def test_counters_are_shown(heard: list[AnyCommand], capsys: pytest.CaptureFixture[str]) -> None:
    """An operation a row; lateness is told apart."""
    assert app.run(["drive", "stats", "data"]) == 0
    shown = capsys.readouterr().out
    row = next(line.split() for line in shown.splitlines() if line.startswith("read"))
    assert row[:8] == ["read", "1,000", "3.91", "MiB", "0", "81", "µs", "80"]
    assert "late: p50 80 µs" in shown
    assert app.run(["drive", "stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["operations"][0]["answered"] == 1000
    assert app.run(["drive", "stats", "--watch", "--json"]) == 2


def test_setting_changes_what_is_given_and_nothing_else(
    heard: list[AnyCommand], capsys: pytest.CaptureFixture[str]
) -> None:
    """Times are written as people write them."""
    assert app.run(["drive", "set", "data", "--spin", "500ms"]) == 0
    assert app.run(["drive", "set", "data", "--paced", "off"]) == 0
    changes = [each for each in heard if isinstance(each, Set)]
    assert changes == [Set(drive="data", spin_s=0.5), Set(drive="data", paced=False)]
    assert "spins 50 µs" in capsys.readouterr().err
    assert app.run(["drive", "set", "data"]) == 2
    assert app.run(["drive", "set", "data", "--spin", "50"]) == 2
    assert "'50' is not a duration" in capsys.readouterr().err


def test_a_fault_reaches_the_drive(
    heard: list[AnyCommand], capsys: pytest.CaptureFixture[str]
) -> None:
    """What becomes of writes in a power cut is told."""
    assert app.run(["drive", "fault", "data", "stall", "--duration", "6s"]) == 0
    assert app.run(["drive", "fault", "data", "power-cut", "--seed", "7"]) == 0
    shown = capsys.readouterr().err
    assert "of 239 volatile writes 120 were kept, 61 torn, 58 lost" in shown
    assert [each.fault for each in heard if isinstance(each, Fault)] == [
        Stall(duration_s=6.0),
        PowerCut(seed=7, lost_share=0.3, torn_share=0.4, unit_bytes=512),
    ]
    assert app.run(["drive", "fault", "data", "power-cut", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["writes"] == {"kept": 120, "torn": 61, "lost": 58}


@pytest.mark.parametrize(
    ("kind", "how", "fault"),
    [
        ("none", {}, NoFault()),
        ("stall", {}, Stall(duration_s=10.0)),
        ("slow", {"factor": 10.0, "share": "0.1%"}, Slow(factor=10, added_s=0, share=0.001)),
        ("slow", {"added": "5ms"}, Slow(factor=1, added_s=0.005, share=1)),
        (
            "errors",
            {"only": "reads", "offset": "1GiB", "length": "1MiB"},
            Errors(reads=True, writes=False, offset_bytes=2**30, length_bytes=2**20, share=1),
        ),
        (
            "errors",
            {},
            Errors(reads=True, writes=True, offset_bytes=0, length_bytes=None, share=1),
        ),
        ("gone", {}, Gone()),
        ("lying-flush", {}, LyingFlush()),
        (
            "corrupt",
            {"length": "4KiB", "bits": 3, "seed": 9},
            Corrupt(offset_bytes=0, length_bytes=4096, bits=3, seed=9),
        ),
        ("power-on", {}, PowerOn()),
    ],
)
def test_words_become_a_fault(kind: str, how: dict[str, object], fault: AnyFault) -> None:
    """Shares are percent, times and sizes have units."""
    assert made(kind, FaultOptions(**how)) == fault  # type: ignore[arg-type]  # given by name


@pytest.mark.parametrize(
    ("kind", "how", "words"),
    [
        ("stall", {"share": "5%"}, "--share: 'stall' does not have this option: leave it out"),
        ("gone", {"duration": "1s"}, "--duration: 'gone' does not have this option: leave it out"),
        ("stall", {"duration": "soon"}, "--duration: 'soon' is not a duration"),
        ("slow", {}, "neither a factor nor an added time is given"),
        ("slow", {"factor": 0.5}, "--factor: the factor 0.5 is out of range"),
        ("slow", {"factor": float("nan")}, "--factor: the factor nan is out of range"),
        ("slow", {"factor": 2.0, "share": "0.5"}, "--share: '0.5' is not a share"),
        ("slow", {"factor": 2.0, "share": "101%"}, "--share: '101%' is not a share"),
        ("corrupt", {}, "--length: no range is given in which bits flip"),
        ("corrupt", {"length": "1KiB", "bits": 0}, "--bits: 0 is too small: give 1 to"),
        ("corrupt", {"length": "1KiB", "seed": -1}, "--seed: -1 is too small"),
        ("errors", {"offset": "12"}, "--offset: '12' is not a size"),
        ("power-cut", {"lost": "70%"}, "the shares of lost and torn writes exceed 100%"),
        ("power-cut", {"unit": 100}, "--unit: a unit of 100 bytes is not possible"),
    ],
)
def test_words_that_mean_nothing_are_refused(kind: str, how: dict[str, object], words: str) -> None:
    """With the option and what would be right."""
    with pytest.raises(UserError) as caught:
        made(kind, FaultOptions(**how))  # type: ignore[arg-type]  # given by name
    assert words in str(caught.value)


def test_every_kind_of_fault_tells_what_it_takes() -> None:
    """So that no option is taken silently and does nothing."""
    options = set(FaultOptions.__dataclass_fields__)
    assert set().union(*TAKES.values()) == options


def test_a_drive_goes_down_by_its_name_only(
    heard: list[AnyCommand], capsys: pytest.CaptureFixture[str]
) -> None:
    """One, or all: not nothing, and not both."""
    assert app.run(["drive", "down"]) == 2
    assert app.run(["drive", "down", "data", "--all"]) == 2
    assert app.run(["drive", "down", "dat"]) == 2
    assert "did you mean data?" in capsys.readouterr().err
    assert app.run(["drive", "down", "data"]) == 0
    assert places.all_folders() == []


def test_a_drive_in_use_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the program says is told, and nothing is removed."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    places.make(places.folder_of("data"), Entry(None, ("data",), DEAD))
    monkeypatch.setattr(program, "find", lambda folder: own_identity())

    def no(command: AnyCommand) -> AnyAnswer:
        return AnswerList(drives=(facts(),)) if command.command == "list" else refused(3)

    with serving(places.folder_of("data") / "control", no):
        assert app.run(["drive", "down", "--all", "--json"]) == 3
    shown = capsys.readouterr()
    assert "the drive is mounted: unmount it first" in shown.err
    assert json.loads(shown.out)["down"] == []
    assert len(places.all_folders()) == 1


def test_a_drive_of_a_run_goes_with_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Taken away from under a database it would spoil the run."""
    monkeypatch.setenv("STITHY_STATE", str(tmp_path))
    places.make(places.folder_of("nvme", "r1"), Entry("r1", ("data",), DEAD))
    assert app.run(["drive", "down", "data"]) == 3
    assert "it belongs to the run r1" in capsys.readouterr().err
    assert app.run(["drive", "down", "--all"]) == 0
    assert len(places.all_folders()) == 1


def test_up_needs_root(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It says so first, and which way needs none."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert app.run(["drive", "up", "generic-nvme"]) == 3
    assert "use directories as candidates" in capsys.readouterr().err


@pytest.mark.usefixtures("_nothing_up")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["none", "--size", "8"], "--size: '8' is not a size"),
        (["none", "--size", "0B"], "a drive of 0 bytes cannot be"),
        (["none", "--size", "1000B"], "not a multiple of the sector"),
        (["none", "--sector", "0"], "sectors of 0 bytes cannot be"),
        (["none", "--sector", "1000"], "sectors of 1000 bytes cannot be"),
        (["none", "--name", "../x"], "cannot be the name of a drive"),
        (["none", "--name", "a.b"], "give another, such as a-b"),
        (["none", "--scale", "8"], "--scale: '8' is not a scale"),
        (["none", "--scale", "1/8"], "a drive without a profile cannot be scaled"),
        (["none", "--volatile", "much"], "--volatile: 'much' is not a size"),
        (["none", "--name", ""], "cannot be the name of a drive"),
        (["none", "--backing", ""], "'' is not a file: give a new file"),
        (["none", "--backing", "/etc"], "'/etc' is not a file"),
        (["none", "--backing", "/dev/null"], "'/dev/null' is not a file"),
        (["none", "--backing", "/no/such/x"], "/no/such is not a directory"),
        (["none", "--mount", "/etc"], "/etc is not empty"),
        (["none", "--mount", "/proc"], "/proc is a mount point already"),
        (["none", "--mount", "/no/such/place"], "/no/such does not exist"),
        (["none", "--mount", "/etc/passwd"], "/etc/passwd is not a directory"),
    ],
)
def test_what_cannot_be_brought_up_is_refused(
    words: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before anything is made."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert app.run(["drive", "up", *words]) == 2
    assert told in capsys.readouterr().err
    assert places.all_folders() == []


def test_a_trace_begins_in_a_new_file_and_ends(
    heard: list[AnyCommand], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither on nothing, nor over what is there."""
    file = tmp_path / "data.trace"
    assert app.run(["drive", "trace", "data", str(file)]) == 0
    assert f"each request is written to {file}" in capsys.readouterr().err
    assert app.run(["drive", "trace", "data", "--stop"]) == 0
    assert "7 requests are in" in capsys.readouterr().err
    assert [each.path for each in heard if isinstance(each, Trace)] == [str(file), None]
    file.touch()
    for words, told in (
        ([], "give a new file, or --stop"),
        ([str(file), "--stop"], "give a new file, or --stop"),
        ([str(file)], "the file exists already"),
        ([str(tmp_path / "none/x")], "is not a directory"),
    ):
        assert app.run(["drive", "trace", "data", *words]) == 2
        assert told in capsys.readouterr().err


def test_a_trace_is_not_converted_over_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor from what is no trace."""
    (tmp_path / "a").write_text("no trace")
    for words, told in (
        (["a", "a"], "the file exists already"),
        (["a", "none/b"], "is not a directory"),
        (["a", "b"], "this is not the trace of a drive"),
    ):
        assert app.run(["drive", "convert-trace", *(str(tmp_path / word) for word in words)]) == 2
        assert told in capsys.readouterr().err


def test_a_second_of_a_drive_is_told_in_a_line() -> None:
    """Rates are of the time between two looks."""
    before = parse_answer((EXAMPLES / "answer.stats.json").read_text())
    assert isinstance(before, AnswerStats)
    read = before.operations[0]
    more = read.model_copy(update={"answered": read.answered + 500, "moved_bytes": 2 * 2**20})
    after = before.model_copy(
        update={
            "duration_s": before.duration_s + 0.5,
            "operations": (more, *before.operations[1:]),
            "late_answers": before.late_answers + 3,
        }
    )
    line = between(before, after)
    assert line.startswith("data  read 1,000/s ")
    assert line.endswith("errors 0  in progress 3  late 3")
