"""A study file is read, or every way in which it cannot be is told."""

import os
from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.study.load import SIZE_BYTES_MAX, read_study
from stithy.study.problems import StudyError
from support.studies import problems, study, study_text, write_study


def refusal(path: Path) -> str:
    """What is said of a file that cannot be read."""
    with pytest.raises(UserError) as caught:
        read_study(path)
    assert not isinstance(caught.value, StudyError), "no file, so no problems in it"
    return str(caught.value)


def test_a_study_is_kept_with_its_bytes(tmp_path: Path) -> None:
    """Results hold the file as it was written, comments and all."""
    file = write_study(tmp_path, ("study:", "# why\nstudy:"))
    assert file.content == (tmp_path / "study.yaml").read_bytes()
    assert file.study.study == "Does it matter?"


def test_quantities_are_seconds_and_bytes() -> None:
    """Units are read once, at the edge."""
    read = study(("2 s", "500 ms"), ("3 s", "2 min"), ("1 GiB", "384MB"))
    assert read.load.ramp_up_s == 0.5
    assert read.load.duration_s == 120
    assert read.database.memory_bytes == 384_000_000


def test_settings_are_text_as_the_server_reads_it() -> None:
    """Booleans become on and off, numbers stay as they are."""
    text = "1 GiB\n  settings: {a: true, b: false, c: 3, d: 1.5, e: 8MB, f: off}"
    assert study(("1 GiB", text)).database.settings == {
        "a": "on",
        "b": "off",
        "c": "3",
        "d": "1.5",
        "e": "8MB",
        "f": "off",
    }


def test_levels_stay_in_the_order_written() -> None:
    """The ladder is the person's."""
    assert study(("[1, 4]", "[13, 1, 4]")).load.users == (13, 1, 4)


def test_a_byte_order_mark_is_no_problem() -> None:
    """Editors of some systems write one."""
    assert problems(b"\xef\xbb\xbf" + study_text().encode()) == []


def test_windows_line_ends_are_no_problem() -> None:
    """Places are still those of the lines."""
    text = study_text(("1 GiB", "1 KiB")).replace("\n", "\r\n")
    assert [problem.where for problem in problems(text)] == ["study.yaml:7:11"]


def test_an_alias_stands_for_its_value() -> None:
    """Anchors are plain YAML and help in long studies."""
    text = study_text(("ramp_up: 2 s", "ramp_up: &t 2 s"), ("duration: 3 s", "duration: *t"))
    assert problems(text) == []


def test_a_missing_file_suggests_one_that_is_there(tmp_path: Path) -> None:
    """The most common mistake is a name."""
    (tmp_path / "demo.yaml").touch()
    said = refusal(tmp_path / "dmeo.yaml")
    assert "there is no such file" in said
    assert f"did you mean {tmp_path / 'demo.yaml'}?" in said


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    """There is nothing to suggest from."""
    assert "check the directory's name" in refusal(tmp_path / "no" / "demo.yaml")


def test_a_directory_is_not_a_study(tmp_path: Path) -> None:
    """Naming the folder of a study is a likely slip."""
    assert "this is a directory" in refusal(tmp_path)


def test_an_endless_file_is_not_read_to_its_end() -> None:
    """Reading stops just above the size of any study."""
    assert "more than 1 MiB" in refusal(Path("/dev/zero"))


def test_a_file_without_the_right_to_read_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read everything, so the refusal is made by the opening itself."""

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "not allowed to read it" in refusal(tmp_path / "study.yaml")


def test_a_name_no_file_can_have_is_told() -> None:
    """Even then there is one clear message."""
    assert "cannot be read" in refusal(Path("a\0b"))
    assert "cannot be read" in refusal(Path("a" * 5000))


def test_aliases_of_aliases_end_at_a_bound() -> None:
    """A few lines that would expand to billions of values are refused, quickly."""
    lines = ["study: x", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 12):
        lines.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]")
    found = problems("\n".join(lines))
    assert any("more values than a study can have" in str(each) for each in found)


def test_deep_nesting_is_told() -> None:
    """No depth of brackets ends in a traceback."""
    assert "nested too deeply" in str(problems("a: " + "[" * 5000)[0])


def test_problems_come_in_the_order_of_the_file() -> None:
    """Those of YAML and those of the model are sorted together."""
    text = study_text(("1 GiB", "1 KiB"), ("ramp_up: 2 s", "ramp_up: 2 s\n  ramp_up: 3 s"))
    found = problems(text + "\nfoo: 3\n")
    assert [each.where.split(":")[1] for each in found] == ["7", "12", "15"]


def test_what_is_read_from_a_pipe_is_a_study(tmp_path: Path) -> None:
    """`stithy plan <(make-study)` works: only the size is bounded, not the kind of file."""
    read_end, write_end = os.pipe()
    os.write(write_end, study_text().encode())
    os.close(write_end)
    assert read_study(Path(f"/dev/fd/{read_end}")).study.load.users == (1, 4)
    os.close(read_end)
    assert SIZE_BYTES_MAX == 2**20


def test_nothing_is_shown_of_a_file_that_is_no_study() -> None:
    """Whoever names a wrong file by a slip does not get it into a log."""
    (problem,) = problems("password: tiger\nuser: scott\n")
    assert "not a study file" in str(problem)
    assert "tiger" not in f"{problem}{problem.excerpt}"
    assert "password" not in f"{problem}{problem.excerpt}"


def test_a_file_name_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Neither by control characters nor by bytes that are no text."""
    for name in ("a\x1b[2Jb\nc", "\udcff"):
        said = refusal(tmp_path / name)
        assert said.isprintable()


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"study: caf\xe9\n", "1:11"),
        (b"study: x\n\x7fELF\x02\x01\x00\x00", "2:7"),
        (b"\xff\xfes\x00t\x00", "1:1"),
    ],
)
def test_what_is_not_utf_8_is_told_at_its_first_byte(content: bytes, place: str) -> None:
    """Another encoding, a program, UTF-16."""
    (problem,) = problems(content)
    assert str(problem) == f"study.yaml:{place}: not a text in UTF-8: save the study file as UTF-8"


def test_the_shape_of_the_text_is_read_in_percent() -> None:
    """Left out, the text is random letters and digits without copies."""
    size = "warehouses: 2"
    usual = study().workload.data
    assert (usual.compressible_percent, usual.duplicate_percent) == (None, 0)
    shaped = study((size, f"{size}, data: {{compressible: 50%, duplicate: 10 %}}")).workload.data
    assert (shaped.compressible_percent, shaped.duplicate_percent) == (50, 10)
