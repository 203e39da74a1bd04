"""Where a run stands, as numbers on loopback."""

import re
import socket
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from fakes.clock import FakeClock
from stithy.errors import PreconditionError, UserError
from stithy.plan.expand import expand, nullify_study
from stithy.plan.steps import Cost, Step
from stithy.run import events
from stithy.run.executor import describe_notes
from stithy.run.live import LiveRun
from stithy.run.live_numbers import require_loopback, serve_numbers, write_numbers
from stithy.run.serving import Address, parse_address
from support.examples import STEP, WINDOW
from support.live_run import sample_window
from support.openmetrics import Read, read
from support.studies import study, workload

LOADING = Step("prepare", "prepare", "disk", Cost(29.0, 40.0, 0, 0))
BEGUN = events.RunStarted("runs/x", 17, 250.0, notes={"disk": "EMULATED drive", "other": "x"})
AT_STEP = events.StepStarted(STEP, 7, 17, 88.0, 200.0)
SECOND = events.SecondPassed(WINDOW, 9, "measure", 12_345.0, 0.0123, "TPM", 0.004, 0.0456)
OVER = events.StepFinished(STEP, 31.25, "4,400 NOPM")


def _numbers(*shown: events.Event, clock: FakeClock | None = None) -> LiveRun:
    """What is reported after these events, with a judge who finds nothing wrong."""
    found = LiveRun(clock or FakeClock(), lambda directory, windows: {})
    for event in shown:
        found.show(event)
    return found


def _families(shown: LiveRun) -> Mapping[str, Read]:
    return {name.removeprefix("stithy_"): each for name, each in read(write_numbers(shown)).items()}


def _value(shown: LiveRun, name: str) -> float:
    ((_, number, at_s),) = _families(shown)[name].samples
    assert at_s is None
    return number


def test_a_window_under_way_tells_its_last_second_and_one_that_is_over_none() -> None:
    """Throughput, response time, how far it is, whose it is; no zeros that nobody measured."""
    assert write_numbers(_numbers()) == "# EOF\n"
    shown = _numbers(BEGUN, AT_STEP, SECOND)
    values = {
        "now_transactions_per_minute": 12_345.0, "now_response_p95_seconds": 0.0123,
        "now_response_p50_seconds": 0.004, "now_response_p99_seconds": 0.0456,
        "now_progress_ratio": 10 / 25, "run_step": 7, "run_steps": 17, "run_left_seconds": 88.0,
        "run_left_undecided_seconds": 200.0, "run_windows_done": 0, "run_windows_invalid": 0,
    }  # fmt: skip
    assert {name: _value(shown, name) for name in values} == values
    [(labels, _, _)] = _families(shown)["now_transactions_per_minute"].samples
    assert labels == {
        "run": "x", "window": "w-disk-u4-b0", "candidate": "disk", "point": "users=4", "block": "0",
        "phase": "measure", "note": "EMULATED drive",
    }  # fmt: skip
    shown.show(events.SecondPassed(WINDOW, 10, "measure", 0.0, None))
    assert _value(shown, "now_transactions_per_minute") == 0.0
    assert not any(name.startswith("now_response") for name in _families(shown))
    for event in (OVER, events.StepSkipped(STEP, "decided"), events.StepFinished(LOADING, 1, "")):
        shown.show(event)
    assert not any(name.startswith("now_") for name in _families(shown))
    assert _value(shown, "run_windows_done") == 2


def test_a_run_of_the_sensitivity_begins_anew_under_a_name_of_its_own() -> None:
    """What the run before it came to is not told of it."""
    corner = events.RunStarted("runs/x/sensitivity/against-disk/run", 9, 120.0)
    shown = _numbers(
        BEGUN, AT_STEP, SECOND, OVER, events.InterimAnalysis("b", 4, decided=True), corner
    )
    found = {name: each.samples for name, each in _families(shown).items()}
    labels = {"run": "x/against-disk"}
    assert found == {
        f"run_{name}": [(labels, number, None)]
        for name, number in (("steps", 9), ("windows_done", 0), ("windows_invalid", 0))
    }


def test_the_time_left_goes_down_to_nothing_and_loading_and_looks_are_told() -> None:
    """A step that takes longer than expected leaves no less than 0; its stage is a label."""
    clock = FakeClock()
    shown = _numbers(
        events.RunStarted("runs/x", 17, 250.0), events.StepStarted(LOADING, 2, 17, 88.0),
        events.StepProgress("loading", 1, 4), events.InterimAnalysis("b", 4, decided=True),
        clock=clock,
    )  # fmt: skip
    for passed_s, left_s in ((8.0, 80.0), (100.0, 0.0)):
        clock.sleep_s(passed_s)
        assert _value(shown, "run_left_seconds") == left_s
    assert "run_left_undecided_seconds" not in _families(shown)
    [(labels, share, _)] = _families(shown)["now_progress_ratio"].samples
    assert (labels["stage"], "note" in labels, share) == ("loading", False, 0.25)
    assert (_value(shown, "run_question_blocks"), _value(shown, "run_question_decided")) == (4, 1)


def test_invalid_windows_are_counted_those_of_earlier_sessions_too(tmp_path: Path) -> None:
    """A result that cannot be read ends neither the run nor the numbers."""
    (tmp_path / "windows/w-disk-u1-b0").mkdir(parents=True)
    (tmp_path / "windows/w-disk-u1-b0/window.parquet").touch()

    def unreadable(directory: Any, windows: Any) -> dict[str, str]:
        raise UserError("no such directory", where=str(directory.root), remedy="none")

    told_of: list[events.Event] = [events.RunStarted(str(tmp_path), 17, 1.0), OVER]
    for judge, counts in (
        (lambda _, of: dict.fromkeys(of, "errors"), (1, 2)),
        (unreadable, (None, None)),
    ):
        shown = LiveRun(FakeClock(), judge)
        for event, count in zip(told_of, counts, strict=True):
            shown.show(event)
            is_told = "run_windows_invalid" in _families(shown)
            assert (_value(shown, "run_windows_invalid") if is_told else None) == count


def test_only_addresses_that_no_other_machine_reaches_are_taken() -> None:
    """The remedy leads there all the same, or shows what is right."""
    for host, at in (("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("[::1]", "::1")):
        assert parse_address(f"{host}:9464") == Address(at, 9464)
    wrong = ("", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "a:1")
    for text in ("0.0.0.0:9464", "192.168.1.2:9464", "[::]:9464", *wrong):
        with pytest.raises(UserError) as raised:
            require_loopback(parse_address(text))
        expected = "write it as 127.0.0.1:9464" if text in wrong else "ssh -L"
        assert expected in raised.value.remedy, text


def _asked(page: str, path: str | None = None, accept: str = "") -> tuple[int, str, str]:
    """Status, content type and text of an answer."""
    parts = urlsplit(page)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    with closing(connection):
        connection.request("GET", path or parts.path, headers={"Accept": accept})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def test_the_page_tells_the_text_of_the_moment_in_the_type_that_is_asked_for() -> None:
    """Prometheus asks for OpenMetrics; a person with curl reads plain text; nothing else is there.

    The end frees the port, also while a program listens that connected and never asked.
    """
    texts = iter(["one\n", "two\n", "three\n"])
    with serve_numbers(Address("127.0.0.1", 0), lambda: next(texts)) as page:
        assert _asked(page) == (200, "text/plain; version=0.0.4; charset=utf-8", "one\n")
        kind = "application/openmetrics-text; version=1.0.0"
        status, shown, text = _asked(page, accept=f"{kind.replace(' ', '')},text/plain;q=0.5")
        assert (status, text, shown[: len(kind)]) == (200, "two\n", kind)
        assert [_asked(page, path)[0] for path in ("/", "/metrics/../secret")] == [404, 404]
        port = urlsplit(page).port or 0
        silent = socket.create_connection(("127.0.0.1", port))
        taken = serve_numbers(Address("127.0.0.1", port), lambda: "")
        with pytest.raises(PreconditionError, match="address already in use"), taken:
            pass
        assert _asked(page)[2] == "three\n"
    silent.close()
    with pytest.raises(ConnectionRefusedError):
        _asked(page)


def test_what_must_be_known_of_a_candidate_is_told_of_it_and_of_no_other() -> None:
    """In the words of the exports."""
    drive = ("disk: {path: /var/tmp/stithy}", "disk: {drive: generic-nvme, size: 4 GiB}")
    hammerdb = workload("profile: hammerdb")
    fsync = ("  memory: 1 GiB\n", "  memory: 1 GiB\n  settings: {fsync: off}\n")
    for known, null, names, words in (
        (study(), False, [], ""),
        (study(drive), False, ["disk"], "EMULATED drive"),
        (nullify_study(study(drive)), True, ["disk", "disk-again"], "NULL STUDY.*; EMULATED drive"),
        (study(hammerdb), False, ["disk", "memory"], "PROFILE HAMMERDB"),
        (study(fsync), False, ["disk", "memory"], "NOT DURABLE: fsync off"),
    ):
        found = describe_notes(known, expand(known, null=null))
        assert list(found) == names
        assert all(re.match(words, text) for text in found.values())


def test_what_limits_users_and_which_windows_are_invalid_are_numbers_too() -> None:
    """Of each device with requests, and of all CPUs; between windows nothing is said of them."""
    shown = LiveRun(FakeClock(), lambda directory, windows: dict.fromkeys(windows, "errors"))
    for event in (BEGUN, AT_STEP, sample_window(WINDOW, 9, FakeClock())):
        shown.show(event)
    busy = {
        labels["subject"]: value
        for labels, value, _ in _families(shown)["now_device_busy_ratio"].samples
    }
    assert busy == {"nvme0n1": 0.31, "nvme1n1": 0.62}
    assert _value(shown, "now_cpus_busy_ratio") == pytest.approx(0.4)
    sampled = sample_window(WINDOW, 10, FakeClock())
    shown.show(replace(sampled, samples=sampled.samples[-7:]))
    assert len(_families(shown)["now_device_busy_ratio"].samples) == 2, "read at other moments"
    shown.show(replace(sampled, samples=sampled.samples[:7]))
    assert len(_families(shown)["now_device_busy_ratio"].samples) == 1, "the other one is gone"
    shown.show(OVER)
    shown.show(events.StepStarted(LOADING, 8, 17, 57.0))
    assert not any(name.startswith("now_") for name in _families(shown))
    [(labels, _, _)] = _families(shown)["run_invalid_window"].samples
    assert (labels["window"], labels["because"]) == (WINDOW.id, "errors")
