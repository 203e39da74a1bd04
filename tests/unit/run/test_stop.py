"""The first signal asks, the second ends; cleaning up hears neither."""

import os
import signal

import pytest

from stithy.errors import Interrupted
from stithy.run.stop import Stop


def test_the_first_signal_only_asks() -> None:
    """Whoever waits sees it; a step ends by itself."""
    told: list[str] = []
    stop = Stop(told.append)
    stop.check()
    stop.signal()
    assert stop.asked.is_set()
    assert told == ["finishing: cleaning up and writing the report; Ctrl-C again ends at once"]
    with pytest.raises(Interrupted):
        stop.check()


def test_the_second_signal_ends_at_once() -> None:
    """By an error where the program is."""
    stop = Stop()
    stop.signal()
    with pytest.raises(Interrupted):
        stop.signal()


def test_cleaning_up_is_not_cut_short() -> None:
    """Signals inside are answered, nothing more; a shield may hold another."""
    told: list[str] = []
    stop = Stop(told.append)
    with stop.shield():
        with stop.shield():
            stop.signal()
        stop.signal()
    assert told == ["already cleaning up: wait a moment"] * 2
    assert not stop.asked.is_set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_processs_signals_are_heard_inside_only(number: signal.Signals) -> None:
    """Handlers of before come back."""
    before = signal.getsignal(number)
    stop = Stop()
    with stop.installed():
        os.kill(os.getpid(), number)
        assert stop.asked.wait(5)
    assert signal.getsignal(number) is before


def test_a_third_signal_does_not_cut_the_end_short() -> None:
    """Between the second and the cleaning up it is answered, nothing more."""
    told: list[str] = []
    stop = Stop(told.append)
    stop.signal()
    with pytest.raises(Interrupted):
        stop.signal()
    stop.signal()
    assert told[-1] == "already cleaning up: wait a moment"


def test_a_terminal_that_is_closed_stops_the_run_cleanly(hang_up: None) -> None:
    """SIGHUP counts as Ctrl-C."""
    stop = Stop()
    with stop.installed():
        os.kill(os.getpid(), signal.SIGHUP)
    assert stop.asked.is_set()


def test_a_run_under_nohup_survives_its_terminal(hang_up: None) -> None:
    """What was ignored at the start stays ignored."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = Stop()
    with stop.installed():
        os.kill(os.getpid(), signal.SIGHUP)
    assert not stop.asked.is_set()
