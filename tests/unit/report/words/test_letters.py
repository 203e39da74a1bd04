"""Letters that are not seen are told by their number."""

from stithy.report.words.escape import is_seen, seen, shortened


def test_letters_that_turn_or_end_a_text_are_told_by_number() -> None:
    """Right-to-left marks and control characters act without being seen."""
    assert seen("a\u202eb\x07c") == "a[U+202E]b[U+0007]c"


def test_letters_of_any_script_stay() -> None:
    """So do ends of lines, and what only says where a word may break."""
    text = "Größe ≥ 2 µs, \N{HEBREW LETTER ALEF}, 中, 😀\n\t\u200b\u00ad"
    assert seen(text) == text
    assert all(is_seen(letter) for letter in text)


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    """What tells names apart is often at the end; short ones stay as they are."""
    assert shortened("nvme", 8) == "nvme"
    assert shortened("a-very-long-name-of-a-drive", 12) == "a-very-…rive"
    assert len(shortened("a-very-long-name-of-a-drive", 12)) == 12
    assert shortened("a\u202eb\nc", 20) == "a[U+202E]b c"
