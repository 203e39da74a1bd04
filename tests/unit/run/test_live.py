"""Where a run stands, as numbers on loopback."""

import socket
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fakes.clock import FakeClock
from stithy.errors import PreconditionError, UserError
from stithy.exits import Exit
from stithy.plan.expand import expand, nulled
from stithy.plan.steps import Cost, Step, WindowPlan
from stithy.results.layout import RunDirectory
from stithy.run.events import (
    InterimAnalysis,
    Progress,
    RunStarted,
    SecondPassed,
    StepFinished,
    StepSkipped,
    StepStarted,
)
from stithy.run.executor import notes_of
from stithy.run.live import Address, LiveNumbers, endpoint, parse_address
from stithy.study.model import Study
from support.openmetrics import Read, read
from support.studies import study

WINDOW = WindowPlan("w-disk-u4-b0", "disk", 4, 0, 0, 5.0, 20.0, 1, checkpoint=True)


STEP = Step("w-disk-u4-b0", "window", "disk", Cost(29.0, 40.0, 0, 0), WINDOW)


LOADING = Step("prepare", "prepare", "disk", Cost(29.0, 40.0, 0, 0))


def none_invalid(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
    """A judge who finds nothing wrong."""
    return {}


def all_invalid(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
    """A judge who finds every window wrong."""
    return dict.fromkeys(windows, "errors")


def value(families: Mapping[str, Read], name: str) -> float:
    """The only value of a family."""
    ((_, number, at_s),) = families[name].samples
    assert at_s is None
    return number


def test_before_the_run_begins_nothing_is_known() -> None:
    """A document without a family, and no zeros that nobody measured."""
    assert LiveNumbers(FakeClock(), none_invalid).text() == "# EOF\n"


def test_a_window_under_way_tells_its_last_second() -> None:
    """Throughput, response time, how far it is, and whose it is."""
    numbers = LiveNumbers(FakeClock(), none_invalid)
    for event in (
        RunStarted("runs/x", 17, 250.0),
        StepStarted(STEP, 7, 17, 88.0, 200.0),
        SecondPassed(WINDOW, 9, "measure", 12_345.0, 0.0123),
    ):
        numbers.show(event)
    families = read(numbers.text())
    assert value(families, "stithy_now_transactions_per_minute") == 12_345.0
    assert value(families, "stithy_now_response_p95_seconds") == 0.0123
    assert value(families, "stithy_now_progress_ratio") == 10 / 25
    assert value(families, "stithy_run_step") == 7
    assert value(families, "stithy_run_steps") == 17
    assert value(families, "stithy_run_left_seconds") == 88.0
    assert value(families, "stithy_run_left_undecided_seconds") == 200.0
    labels, _, _ = families["stithy_now_transactions_per_minute"].samples[0]
    assert labels == {
        "run": "x", "window": "w-disk-u4-b0", "candidate": "disk", "users": "4", "block": "0",
        "phase": "measure",
    }  # fmt: skip


def test_what_is_emulated_says_so_beside_each_of_its_numbers() -> None:
    """With the label that exports have; a candidate of which nothing must be said has none."""
    for notes, expected in (({"disk": "EMULATED drive"}, "EMULATED drive"), ({"other": "x"}, None)):
        numbers = LiveNumbers(FakeClock(), none_invalid)
        for event in (
            RunStarted("runs/x", 17, 250.0, notes=notes),
            StepStarted(STEP, 7, 17, 88.0),
            SecondPassed(WINDOW, 9, "measure", 12_345.0, 0.0123),
        ):
            numbers.show(event)
        families = read(numbers.text())
        of_it = [name for name in families if name.startswith("stithy_now_")]
        assert len(of_it) == 3
        for name in (*of_it, "stithy_run_step"):
            [(labels, _, _)] = families[name].samples
            assert labels.get("note") == expected


def test_the_time_left_goes_down_and_never_below_nothing() -> None:
    """A step that takes longer than expected leaves no less than 0."""
    clock = FakeClock()
    numbers = LiveNumbers(clock, none_invalid)
    numbers.show(RunStarted("runs/x", 17, 250.0))
    numbers.show(StepStarted(STEP, 7, 17, 88.0))
    clock.sleep_s(8.0)
    assert value(read(numbers.text()), "stithy_run_left_seconds") == 80.0
    clock.sleep_s(100.0)
    families = read(numbers.text())
    assert value(families, "stithy_run_left_seconds") == 0.0
    assert "stithy_run_left_undecided_seconds" not in families


def test_a_window_that_is_over_tells_no_last_second_any_more() -> None:
    """What it did a while ago is not what happens now; it is counted."""
    numbers = LiveNumbers(FakeClock(), none_invalid)
    for event in (
        RunStarted("runs/x", 17, 250.0),
        StepStarted(STEP, 7, 17, 88.0),
        SecondPassed(WINDOW, 9, "measure", 0.0, None),
    ):
        numbers.show(event)
    families = read(numbers.text())
    assert value(families, "stithy_now_transactions_per_minute") == 0.0
    assert "stithy_now_response_p95_seconds" not in families
    numbers.show(StepFinished(STEP, 31.25, "4,400 NOPM"))
    numbers.show(StepSkipped(STEP, "decided"))
    families = read(numbers.text())
    assert not any(name.startswith("stithy_now_") for name in families)
    assert value(families, "stithy_run_windows_done") == 2


def test_loading_tells_how_far_it_is_and_a_look_where_the_question_stands() -> None:
    """The stage is a label."""
    numbers = LiveNumbers(FakeClock(), none_invalid)
    for event in (
        RunStarted("runs/x", 17, 250.0),
        StepStarted(LOADING, 2, 17, 88.0),
        Progress("loading", 1, 4),
        InterimAnalysis("b is better.", 4, decided=True),
    ):
        numbers.show(event)
    families = read(numbers.text())
    assert families["stithy_now_progress_ratio"].samples == [
        ({"run": "x", "stage": "loading"}, 0.25, None)
    ]
    assert value(families, "stithy_run_question_blocks") == 4
    assert value(families, "stithy_run_question_decided") == 1


def test_invalid_windows_are_counted_those_of_earlier_sessions_too(tmp_path: Path) -> None:
    """A run that is resumed has some before its first window."""
    before = tmp_path / "windows" / "w-disk-u1-b0"
    before.mkdir(parents=True)
    (before / "window.parquet").write_bytes(b"")
    numbers = LiveNumbers(FakeClock(), all_invalid)
    numbers.show(RunStarted(str(tmp_path), 17, 250.0))
    assert value(read(numbers.text()), "stithy_run_windows_invalid") == 1
    numbers.show(StepFinished(STEP, 31.25, "4,400 NOPM"))
    assert value(read(numbers.text()), "stithy_run_windows_invalid") == 2


def test_a_result_that_cannot_be_read_ends_neither_the_run_nor_the_numbers() -> None:
    """An observer must not fail."""

    def unreadable(directory: RunDirectory, windows: Sequence[str]) -> Mapping[str, str]:
        raise UserError("no such directory", where=str(directory.root), remedy="none")

    numbers = LiveNumbers(FakeClock(), unreadable)
    numbers.show(RunStarted("runs/x", 17, 250.0))
    numbers.show(StepFinished(STEP, 31.25, "4,400 NOPM"))
    assert value(read(numbers.text()), "stithy_run_windows_done") == 1


ANY_PORT = Address("127.0.0.1", 0)


def asked(page: str, path: str | None = None, accept: str = "") -> tuple[int, str, str]:
    """Status, content type and text of an answer."""
    parts = urlsplit(page)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.request("GET", path or parts.path, headers={"Accept": accept})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", Address("127.0.0.1", 9464)),
        ("localhost:9464", Address("127.0.0.1", 9464)),
        ("[::1]:9464", Address("::1", 9464)),
    ],
)
def test_addresses_on_loopback_are_taken(text: str, address: Address) -> None:
    """By number, or by the one name that means this machine."""
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["0.0.0.0:9464", "192.168.1.2:9464", "[::]:9464", "8.8.8.8:80"])
def test_addresses_that_other_machines_reach_are_refused(text: str) -> None:
    """The remedy leads there all the same."""
    with pytest.raises(UserError, match="without a password") as raised:
        parse_address(text)
    assert "ssh -L" in raised.value.remedy


@pytest.mark.parametrize(
    "text", ["", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "a:1", "::1"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """The message shows one that is."""
    with pytest.raises(UserError, match=r"write it as 127\.0\.0\.1:9464"):
        parse_address(text)


def test_the_page_tells_the_text_of_the_moment_in_the_type_that_is_asked_for() -> None:
    """Prometheus asks for OpenMetrics; a person with curl reads plain text."""
    texts = iter(["one\n", "two\n"])
    with endpoint(ANY_PORT, lambda: next(texts)) as page:
        assert asked(page) == (200, "text/plain; version=0.0.4; charset=utf-8", "one\n")
        kind = "application/openmetrics-text"
        status, told, text = asked(page, accept=f"{kind};version=1.0.0,text/plain;q=0.5")
        assert (status, text) == (200, "two\n")
        assert told.startswith(f"{kind}; version=1.0.0")


def test_there_is_nothing_else() -> None:
    """Any other path is told where the numbers are."""
    with endpoint(ANY_PORT, lambda: "") as page:
        assert asked(page, "/")[0] == 404
        assert asked(page, "/metrics/../secret")[0] == 404


def test_the_end_frees_the_port_whoever_still_listens() -> None:
    """A program that connected and never asked holds up nothing."""
    with endpoint(ANY_PORT, lambda: "") as page:
        parts = urlsplit(page)
        silent = socket.create_connection((parts.hostname, parts.port))
    silent.close()
    with pytest.raises(ConnectionRefusedError):
        asked(page)


def test_a_port_in_use_is_refused_with_exit_code_3() -> None:
    """Whoever has it keeps it."""
    with endpoint(ANY_PORT, lambda: "") as page:
        taken = Address("127.0.0.1", urlsplit(page).port or 0)
        with (
            pytest.raises(PreconditionError, match="address already in use") as raised,
            endpoint(taken, lambda: ""),
        ):
            pass
        assert raised.value.exit == Exit.PRECONDITION
        assert asked(page)[0] == 200


DRIVE = ("disk: {path: /var/tmp/stithy}", "disk: {drive: generic-nvme, size: 4 GiB}")


def notes(known: Study, *, null: bool = False) -> dict[str, str]:
    """Those of a study."""
    return dict(notes_of(known, expand(known, null=null)))


def test_a_candidate_on_an_emulated_drive_is_named_as_that_and_no_other() -> None:
    """In the words of the exports."""
    assert notes(study(DRIVE)) == {"disk": "EMULATED drive"}
    assert notes(study()) == {}


def test_a_null_study_says_so_of_both_names() -> None:
    """Emulated or not."""
    found = notes(nulled(study(DRIVE)), null=True)
    assert found.keys() == {"disk", "disk-again"}
    assert set(found.values()) == {"NULL STUDY: both candidates are identical; EMULATED drive"}


@pytest.mark.parametrize("name", ["disk", "memory"])
def test_another_mix_than_the_specified_one_is_told_of_every_candidate(name: str) -> None:
    """As above every figure."""
    known = study(("load:\n", "load:\n  profile: hammerdb\n"))
    assert notes(known)[name].startswith("PROFILE HAMMERDB")


def test_a_database_that_may_lose_what_it_acknowledged_is_told_of_every_candidate() -> None:
    """With the setting that does it."""
    known = study(("  memory: 1 GiB\n", "  memory: 1 GiB\n  settings: {fsync: off}\n"))
    assert notes(known)["disk"] == "NOT DURABLE: fsync off"
