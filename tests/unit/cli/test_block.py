"""`stithy block`: targets and options become a study, which is refused in words of the options."""

from pathlib import Path

import pytest

from stithy.cli import app
from stithy.study.load import parse_study

pytestmark = pytest.mark.usefixtures("own_state")
Captured = pytest.CaptureFixture[str]

STUDY = """\
study: x?
candidates:
  San-1: {path: /mnt/san}
  spare: {path: /mnt/spare}
scenario: {block-io: {profiles: [sql]}}
"""


def printed(capsys: Captured, *words: str) -> str:
    """The study that the command shows."""
    assert app.run(["block", *words, "--print"]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_targets_of_every_kind_become_candidates_with_names_of_their_own(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is a study that reads back, with the options that were given and no others."""
    monkeypatch.chdir(tmp_path)
    ours = tmp_path / "ours.yaml"
    ours.write_text(STUDY.replace("San-1", "san-1"))
    text = printed(
        capsys, "gp3", "./new", "gp3", "/dev/disk/by-id/nvme-A_1", f"{ours}:san-1", "--wipe",
        "--profile", "sql", "--profile", "commit-log", "--size", "64 MiB", "--repeat", "3",
    )  # fmt: skip
    study = parse_study("x.yaml", text.encode())
    specs = {name: each.spec.model_dump() for name, each in study.candidates.items()}
    assert list(specs) == ["gp3", "new", "gp3-2", "nvme-a-1", "san-1"]
    assert specs["new"]["path"] == tmp_path / "new"
    assert specs["san-1"]["path"] == Path("/mnt/san")
    device = specs["nvme-a-1"]
    assert (device["filesystem"], device["wipe"]) == ("none", True)
    keys = ["    profiles: [sql, commit-log]", '    size: "64 MiB"', "    repeat: 3"]
    assert text.splitlines()[-3:] == keys


@pytest.mark.parametrize(
    ("words", "said"), [("--volumes 8", "8"), ("--volumes data --volumes log", "[data, log]")]
)
def test_volumes_are_a_number_or_roles(capsys: Captured, words: str, said: str) -> None:
    """As a study has them."""
    assert f"    volumes: {said}\n" in printed(capsys, "gp3", *words.split())


def test_a_study_without_a_name_gives_all_its_candidates(tmp_path: Path, capsys: Captured) -> None:
    """And consent is never given for them: their own file says it."""
    ours = tmp_path / "ours.yaml"
    ours.write_text(STUDY.replace("San-1", "san-1"))
    assert list(parse_study("x", printed(capsys, str(ours)).encode()).candidates) == [
        "san-1", "spare",
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "code", "said"), [
    ("gp3 --profile sqll", 2, "--profile: "),
    ("gp3 --ramp-up 1", 2, "--ramp-up: "),
    ("gp3 --profile sqll --size 1", 2, "--size: "),
    ("gp3 --volumes 65", 2, "--volumes: "),
    ("gp3 --profile hcibench-4k-70-30 --volumes 30", 2, "180 fio at once"),
    ("gp3 --wipe", 2, "--wipe: no target is a device"),
    ("gpp3", 2, "did you mean gp3?"),
    ("/", 3, "/ is the root of the machine"),
    ("/dev/null", 3, "/dev/null"),
])  # fmt: skip
def test_what_cannot_be_measured_is_refused_by_its_option_before_anything_is_made(
    words: str, code: int, said: str, capsys: Captured, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A wrong word ends with 2, a place that may not be used with 3."""
    monkeypatch.chdir(tmp_path)
    assert app.run(["block", *words.split()]) == code
    out, err = capsys.readouterr()
    assert (out, said in err) == ("", True), err
    assert list(tmp_path.iterdir()) == []


def learn_from(tmp_path: Path, line: str, name: str) -> tuple[int, Path]:
    """What `--learn` returns for a log of so many lines, and its new file."""
    trace, file = tmp_path / "io.log", tmp_path / name
    lines = (line.format(n, n * 8192) for n in range(200))
    trace.write_text("\n".join(["fio version 3 iolog", *lines]))
    return app.run(["block", "--learn", str(trace), "--profile", str(file)]), file


@pytest.mark.parametrize("name", ["my_db.toml", "Prod.toml", "größe 2.toml"])
def test_what_is_learned_is_no_file_that_is_refused_for_its_name(
    name: str, tmp_path: Path, capsys: Captured
) -> None:
    """Whatever a person calls it."""
    code, file = learn_from(tmp_path, "{}000 /x read {} 8192", name)
    assert (code, file.exists()) == (0, True)
    printed(capsys, "gp3", "--profile", str(file))


@pytest.mark.parametrize(("line", "said"), [
    ("{}000 /x read {} 1000", "not of whole sectors: trace direct I/O"),
    ("{}000 /x{} read 0 4096", "of 200 devices"),
])  # fmt: skip
def test_nothing_is_learned_from_what_is_not_replayed(
    line: str, said: str, tmp_path: Path, capsys: Captured
) -> None:
    """By the same words, and no file is written."""
    code, file = learn_from(tmp_path, line, "new.toml")
    assert (code, file.exists()) == (2, False)
    learned = capsys.readouterr().err
    assert app.run(["block", "gp3", "--profile", str(tmp_path / "io.log"), "--print"]) == 2
    replayed = capsys.readouterr().err
    assert said in learned
    assert said in replayed


def test_a_profile_is_learned_into_a_new_file_that_can_be_measured(
    tmp_path: Path, capsys: Captured
) -> None:
    """Its rate is that of the trace; a file that is there is not overwritten."""
    trace, file = tmp_path / "io.log", tmp_path / "mine.toml"
    lines = [f"{i * 10_000} /x write {i * 8192} 8192" for i in range(201)]
    trace.write_text("\n".join(["fio version 3 iolog", *lines]))
    words = ("gp3", "--learn", str(trace), "--profile", str(file))
    assert app.run(["block", *words, "--print"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-2:] == [f"    profiles: [{file}]", "    rate: [100]"]
    assert "100 reads and writes per second" in err
    assert "no latencies" in err
    for changed, said in (
        (words, "exists already"),
        ((*words[:4], str(tmp_path / "x.fio")), "name one new file"),
        ((*words[:4], str(tmp_path / "none/x.toml")), "not a directory"),
        (("--learn", str(tmp_path / "none"), "--profile", "./y.toml"), "cannot be read"),
        (("--size", "1GiB"), "nothing is named"),
    ):
        assert app.run(["block", *changed]) == 2
        assert said in capsys.readouterr().err
