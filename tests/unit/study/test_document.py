"""YAML becomes plain values, with the place of every key and value."""

from stithy.study.document import Place, position, read_document


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


def test_a_position_is_a_line_and_a_column() -> None:
    """For errors that only know how many characters came before."""
    assert position("ab\ncd", 4) == Place(2, 2, 3)
