"""What the words of an option mean, and how one that means nothing is refused."""

from collections.abc import Callable

import pytest

from stithy.cli.talk.options import read_measured, read_percent, read_seconds, read_size
from stithy.errors import UserError

Read = Callable[[str, str], float]


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (read_seconds, "2 min", 120.0),
        (read_seconds, "0s", 0.0),
        (read_measured, "500 ms", 0.5),
        (read_percent, "50%", 50),
        (read_size, "2 GiB", 2 * 2**30),
    ],
)
def test_an_option_is_given_as_people_write_it(read: Read, text: str, value: float) -> None:
    """With a unit."""
    assert read(text, "--it") == value


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (read_seconds, "soon", "'soon' is not a duration"),
        (read_measured, "0 s", "nothing would be measured"),
        (read_percent, "half", "'half' is not a percentage"),
        (read_size, "many", "'many' is not a size"),
    ],
)
def test_what_means_nothing_is_refused_by_the_options_name(
    read: Read, text: str, problem: str
) -> None:
    """With what would be right."""
    with pytest.raises(UserError, match=f"--it: {problem}") as caught:
        read(text, "--it")
    assert caught.value.remedy
