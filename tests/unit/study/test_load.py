"""A study file is read, or every way in which it cannot be is told with its place."""

import os
from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.study.document import Place, read_document
from stithy.study.load import SIZE_BYTES_MAX, read_study
from stithy.study.problems import StudyError
from support.studies import problems, refused, study, study_text, write_study


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
    assert "nested too deeply" in str(problems("a: " + "[" * 1000)[0])


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


def test_the_shape_of_the_text_is_read_in_percent() -> None:
    """Left out, the text is random letters and digits without copies."""
    size = "warehouses: 2"
    usual = study().workload.data
    assert (usual.compressible_percent, usual.duplicate_percent) == (None, 0)
    shaped = study((size, f"{size}, data: {{compressible: 50%, duplicate: 10 %}}")).workload.data
    assert (shaped.compressible_percent, shaped.duplicate_percent) == (50, 10)


def test_keys_and_values_have_their_places() -> None:
    """Lines and columns count from 1; a range ends just after its last character."""
    document = read_document("f", "a: 1\nlist:\n  - xyz\n")
    assert document.data == {"a": 1, "list": ["xyz"]}
    assert document.keys[("list",)] == Place(2, 1, 5)
    assert document.values[("a",)] == Place(1, 4, 5)
    assert document.values[("list", 0)] == Place(3, 5, 8)


def test_a_key_is_the_text_that_is_written() -> None:
    """`yes`, `1` and `null` are names like others."""
    assert read_document("f", "{yes: 1, 1: 2, null: 3, 1.0: 4}").data == {
        "yes": 1,
        "1": 2,
        "null": 3,
        "1.0": 4,
    }


def test_a_date_stays_text() -> None:
    """No study has a use for dates, and a name may look like one."""
    assert read_document("f", "a: 2026-01-02").data == {"a": "2026-01-02"}


def test_a_value_left_out_stands_where_its_key_is() -> None:
    """Its own mark would be on some later line."""
    document = read_document("f", "a:\n\n\nb: 1\n")
    assert document.data == {"a": None, "b": 1}
    assert document.values[("a",)] == Place(1, 1, 2)


def test_tags_aliases_of_themselves_and_keys_given_twice_are_problems() -> None:
    """The rest of the file is still read."""
    document = read_document("f", "a: !x 1\nb: &b [*b]\nc: 1\nc: 2\n? [k]\n: 1\nd: 5\n")
    assert document.data == {"a": None, "b": [None], "c": 1, "d": 5}
    assert [each.where for each in document.problems] == ["f:1:4", "f:2:4", "f:4:1", "f:5:3"]


def test_control_characters_are_refused_however_they_are_written() -> None:
    """A NUL or half a surrogate pair in a path or a sentence would fail much later."""
    document = read_document("f", 'a: "x\\0"\nb: "\\ud800"\n"c\\e": 1\nd: "x\\ny"\n')
    assert [each.where for each in document.problems] == ["f:1:4", "f:2:4", "f:3:1"]


def said(*changes: tuple[str, str]) -> list[str]:
    """All problems of the small study after some changes, without the file's name."""
    return [str(each).removeprefix("study.yaml:") for each in problems(study_text(*changes))]


@pytest.mark.parametrize("value", ["3", "3.5", "s", "3 fortnights", "-3 s", "1 GiB", "[3 s]", ""])
def test_a_wrong_duration_says_what_one_looks_like(value: str) -> None:
    """A bare number has no unit; nothing is guessed."""
    assert refused(("duration: 3 s", f"duration: {value}")) == ["load.duration"]


@pytest.mark.parametrize("value", ["1", "1024", "GiB", "1 parsec", "3 s", "{a: 1}", "9" * 400])
def test_a_wrong_size_says_what_one_looks_like(value: str) -> None:
    """The same for sizes."""
    assert refused(("1 GiB", value)) == ["database.memory"]


def test_a_size_beyond_all_machines_is_too_large() -> None:
    """No number is large enough to break anything."""
    assert "too large" in said(("1 GiB", f"{'9' * 30} TiB"))[0]
    assert "a smaller number is needed" in said(("1 GiB", f"{'9' * 400} TiB"))[0]


def test_the_excerpt_of_a_long_line_is_the_part_around_the_place() -> None:
    """A line of a megabyte does not flood the terminal."""
    (problem,) = problems(study_text(("[1, 4]", f"[{'1, ' * 1}{' ' * 5000}x]")))
    line, carets = problem.excerpt.splitlines()
    assert len(line) < 130
    assert line[carets.index("^")] == "x"


def test_nothing_of_the_file_steers_the_terminal() -> None:
    """Control characters are shown as dots."""
    found = problems("study: \x1b[2Jx\n")
    assert "\x1b" not in "".join(f"{each}{each.excerpt}" for each in found)


def test_a_value_is_shortened_in_the_message() -> None:
    """Sixty characters are enough to know it again."""
    (problem,) = said(("1 GiB", "x" * 500))
    assert "x" * 59 + "…:" in problem
    assert "x" * 60 not in problem


def test_a_setting_given_twice_in_other_letters_is_refused() -> None:
    """The server would take the last without a word."""
    text = "1 GiB\n  settings: {work_mem: 4MB, Work_Mem: 8MB}"
    assert "a setting given twice" in said(("1 GiB", text))[0]


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
    assert problem.where == f"study.yaml:{place}"
    assert "UTF-8" in problem.remedy
