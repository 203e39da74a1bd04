"""What commands share when they show something."""

import errno
import json
import os
import sys

import pytest

from stithy.cli.talk.render import say, show, show_json, table


def test_data_go_to_standard_output_and_talk_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """So that `stithy plan … > plan.txt` holds the plan alone."""
    show("data")
    say("talk")
    assert capsys.readouterr() == ("data\n", "talk\n")


class Closed:
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        """Refuse, as the kernel does."""
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_closed_terminal_does_not_even_end_the_talk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done goes on without it."""
    monkeypatch.setattr(sys, "stderr", Closed())
    say("talk")


def test_json_is_one_document_that_keeps_its_letters(capsys: pytest.CaptureFixture[str]) -> None:
    """Programs read it, and people can."""
    show_json({"größe": "µs"})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"größe": "µs"}
    assert "größe" in shown


def test_a_table_is_as_wide_as_its_widest_cells() -> None:
    """Numbers to the right, words to the left, nothing behind the last."""
    assert table(["name", "n"], [["a", "1"], ["longer", "100"]], ["left", "right"]) == (
        "name      n\na         1\nlonger  100"
    )


def test_a_table_without_rows_is_its_head() -> None:
    """Nothing was found, and that shows."""
    assert table(["a", "b"], []) == "a  b"
