"""A native program always ends: asked, held or silent."""

import threading
import time
from pathlib import Path

import pytest

from stithy.hosts.runner import Command, LocalRunner
from stithy.wire import watchman
from stithy.wire.watchman import watched


def ended_of(script: str, stop: threading.Event | None, silence_s: float | None) -> str | None:
    """Why a shell script had to be killed; None where it ended by itself."""
    program = LocalRunner().start(Command(["/bin/sh", "-c", script], detached=True))
    with watched(program, stop, silence_s) as watch:
        program.wait(timeout=60)
    return watch.killed_because


def test_a_program_that_is_held_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGSTOP would else stop the whole run for ever."""
    monkeypatch.setattr(watchman, "HELD_PATIENCE_S", 0.2)
    assert ended_of("kill -STOP $$", None, None) == "was held by a signal for 0.2 s and was killed"


def test_a_program_that_goes_on_in_time_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience counts from the last time it was held."""
    monkeypatch.setattr(watchman, "HELD_PATIENCE_S", 30.0)
    assert ended_of("(sleep 0.3; kill -CONT $$) & kill -STOP $$", None, None) is None


def test_a_silent_program_is_killed() -> None:
    """Where silence means that it is stuck."""
    why = ended_of("sleep 60", None, 0.2)
    assert why == "said nothing for 0.2 s and was killed"


def test_a_program_that_does_not_stop_when_asked_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SIGINT first, then SIGKILL."""
    monkeypatch.setattr(watchman, "STOP_PATIENCE_S", 0.2)
    stop = threading.Event()
    stop.set()
    why = ended_of("trap '' INT; while :; do sleep 1; done", stop, None)
    assert why == "did not end within 0.2 s and was killed"


def test_a_program_that_is_asked_hears_it_once(tmp_path: Path) -> None:
    """A second SIGINT would end it at once, without its summary."""
    stop = threading.Event()
    stop.set()
    script = f"trap 'echo INT >> {tmp_path}/heard' INT; while [ ! -s {tmp_path}/heard ]; do :; done"
    assert ended_of(f"{script}; sleep 0.4", stop, None) is None
    assert (tmp_path / "heard").read_text() == "INT\n"


def test_a_program_without_a_wish_is_left_alone() -> None:
    """Its code is its own."""
    program = LocalRunner().start(Command(["/bin/sh", "-c", "sleep 0.3; exit 7"], detached=True))
    with watched(program, None, None) as watch:
        watch.heard()
        while program.poll() is None:
            time.sleep(0.01)
    assert (program.poll(), watch.killed_because) == (7, None)
