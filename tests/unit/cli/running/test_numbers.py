"""What `--metrics` adds to a run: the same events, told at an address."""

import socket
from pathlib import Path

import pytest

from stithy.cli.app import run
from stithy.cli.running.numbers import told_live
from stithy.run.events import Event, Note


def test_without_an_address_events_are_shown_only() -> None:
    """Nothing stands between the run and the display."""
    shown: list[Event] = []
    with told_live(None, shown.append) as tell:
        tell(Note("hello"))
    assert shown == [Note("hello")]


def test_with_an_address_events_are_shown_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the numbers are is told on standard error."""
    shown: list[Event] = []
    with told_live("127.0.0.1:0", shown.append) as tell:
        tell(Note("hello"))
    assert shown == [Note("hello")]
    assert "live numbers: http://127.0.0.1:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "resume"])
def test_a_port_in_use_ends_the_command_before_anything_starts(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3, although the study or run that is named does not even exist."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert run([command, str(tmp_path / "gone"), "--metrics", address]) == 3
    assert f"--metrics {address}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_address_for_other_machines_is_a_wrong_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2."""
    assert run(["run", str(tmp_path / "gone"), "--metrics", "0.0.0.0:9464"]) == 2
    assert "other machines could read it there" in capsys.readouterr().err
