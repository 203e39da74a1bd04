"""Every problem is told with its place, the value, and what would be right."""

import pytest

from support.studies import problems, study_text


def said(*changes: tuple[str, str]) -> list[str]:
    """All problems of the small study after some changes, without the file's name."""
    return [str(each).removeprefix("study.yaml:") for each in problems(study_text(*changes))]


def test_an_unknown_key_suggests_the_one_that_was_meant() -> None:
    """And the key that it stands for is not reported as missing as well."""
    assert said(("duration:", "duraton:")) == [
        "12:3: unknown key in `load`: duraton: did you mean `duration`?"
    ]


def test_an_unknown_key_in_the_wrong_section_is_sent_home() -> None:
    """`users` at the top of the file belongs in `load`."""
    assert said(("study:", "repeat: 3\nstudy:")) == [
        "1:1: unknown key: repeat: `repeat` belongs in `load`"
    ]


def test_an_unknown_key_that_is_like_nothing_shows_what_there_is() -> None:
    """The keys of the section, in their order."""
    (problem,) = said(("duration:", "xyzzy: 1\n  duration:"))
    assert problem.startswith(
        "12:3: unknown key in `load`: xyzzy: known here: users, find, find_within,"
    )


def test_a_missing_key_points_to_the_section_that_lacks_it() -> None:
    """With an example to copy and its meaning."""
    (problem,) = said(("  engine: postgresql\n", ""))
    assert "a key is missing in `database`: engine: add `engine: postgresql`: " in problem


@pytest.mark.parametrize("value", ["3", "3.5", "s", "3 fortnights", "-3 s", "1 GiB", "[3 s]", ""])
def test_a_wrong_duration_says_what_one_looks_like(value: str) -> None:
    """A bare number has no unit; nothing is guessed."""
    (problem,) = said(("duration: 3 s", f"duration: {value}"))
    assert "`load.duration`: not a duration" in problem
    assert "5 s, 90s or 2 min" in problem or "use us, ms, s, min, h or d" in problem


@pytest.mark.parametrize("value", ["1", "1024", "GiB", "1 parsec", "3 s", "{a: 1}", "9" * 400])
def test_a_wrong_size_says_what_one_looks_like(value: str) -> None:
    """The same for sizes."""
    (problem,) = said(("1 GiB", value))
    assert "`database.memory`: not a size" in problem


def test_a_size_beyond_all_machines_is_too_large() -> None:
    """No number is large enough to break anything."""
    assert "too large" in said(("1 GiB", f"{'9' * 30} TiB"))[0]
    assert "a smaller number is needed" in said(("1 GiB", f"{'9' * 400} TiB"))[0]


def test_a_truth_is_not_a_number_of_users() -> None:
    """YAML's true would be 1 in Python."""
    assert said(("[1, 4]", "[true]")) == [
        "10:11: `load.users[0]`: not a whole number: true: such as 1"
    ]


def test_the_excerpt_shows_the_line_with_a_caret_under_the_value() -> None:
    """Columns are those of the file, also after tabs and in long lines."""
    (problem,) = problems(study_text(("1 GiB", "1 KiB")))
    assert problem.excerpt == "    7 |   memory: 1 KiB\n      |           ^^^^^"


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


def test_candidates_in_each_others_place_are_refused() -> None:
    """Two databases in one directory would share what is under test."""
    assert said(("/dev/shm/stithy", "/var/tmp/stithy/more"))[0].startswith(
        "4:18: `candidates.memory.path`: candidates `disk` and `memory` share the same storage"
    )


def test_a_provider_is_needed_and_only_one() -> None:
    """The one key that names a provider says whose the candidate is."""
    assert "a candidate without a provider" in said(("{path: /dev/shm/stithy}", "{}"))[0]


def test_a_setting_given_twice_in_other_letters_is_refused() -> None:
    """The server would take the last without a word."""
    text = "1 GiB\n  settings: {work_mem: 4MB, Work_Mem: 8MB}"
    assert "a setting given twice" in said(("1 GiB", text))[0]


def test_a_setting_of_stithys_own_is_refused_in_any_case() -> None:
    """PostgreSQL does not care about the case of a setting's name."""
    (problem,) = said(("1 GiB", "1 GiB\n  settings: {PORT: 5433}"))
    assert "a setting that Stithy chooses itself" in problem
    assert "through a private socket only" in problem
