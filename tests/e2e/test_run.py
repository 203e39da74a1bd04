"""A study from its file to its report, with all that it tells on its way and leaves at its end.

One run for all tests, which only look. Two candidates, one of them on a disk; users who think over
a pool, calibrated before, with a ledger of each window, and asked for live numbers in one.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from recompute.hlog import buckets
from stithy.analysis.decision import is_answered
from stithy.errors import Exit
from stithy.report.context import make_context
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from support import flags
from support.html_page import page_text
from support.openmetrics import Read, read
from support.places import DISK, a_place
from support.running import (
    PATIENCE_S,
    Stithy,
    ended_well,
    left_by,
    manifest,
    measures,
    wait_for,
    window_row,
    write_study,
)

pytestmark = pytest.mark.needs_postgresql

ADDRESS = re.compile(r"live (?:numbers|page): http://127\.0\.0\.1:(\d+)/(?:metrics)?\n")
LOAD = {"calibrate": "true", "ledger": "true", "ramp_up": "1 s", "pace": "{think: 200 ms}",
        "connections": "2"}  # fmt: skip
USERS = 40
NOW = "stithy_now_transactions_per_minute"


@dataclass(frozen=True)
class Finished:
    """What a run with candidate `a` told and left in `out`; live numbers of a window under way.

    `page`: what its live page was told, and then the report as the page had it.
    """

    a: Path
    out: Path
    code: int
    stdout: str
    stderr: str
    live: Mapping[str, Read]
    port: int
    page: list[dict[str, Any]]
    report: list[bytes]


@pytest.fixture(scope="module")
def finished() -> Iterator[Finished]:
    """Run it, beside its study; the directory of `b` was there before."""
    with a_place() as place, a_place(DISK) as disk:
        stithy = Stithy(place / "state", draws=True)
        (place / "b").mkdir()
        own = f"{{path: {place / 'b'}, memory: 256 MiB, settings: {{shared_buffers: 64MB}}}}"
        candidates: dict[str, Path | str] = {"a": disk / "a", "b": own}
        study = write_study(place / "study.yaml", candidates, users=[USERS], load=LOAD)
        try:
            yield _finished(stithy, study, disk / "a", place / "out")
        finally:
            stithy.end()


def _finished(stithy: Stithy, study: Path, a: Path, out: Path) -> Finished:
    served = ("--metrics", "127.0.0.1:0", "--page", "127.0.0.1:0")
    process = stithy.start("run", study, "--out", out, *served)
    assert process.stderr is not None
    assert process.stdout is not None
    shown = [ADDRESS.fullmatch(process.stderr.readline()) for _ in range(2)]
    port, of_page = (int(found[1]) for found in shown if found)
    page: list[dict[str, Any]] = []
    report: list[bytes] = []
    rest: list[str] = []
    reader = threading.Thread(target=lambda: rest.extend(process.stderr or ()))
    reader.start()  # a pipe that nobody reads would hold up the run
    watcher = threading.Thread(target=_watch, args=(of_page, page, report))
    watcher.start()
    wait_for(lambda: measures(out), process)
    live = wait_for(lambda: now if NOW in (now := _ask(port)) else None, process)
    code = process.wait(timeout=PATIENCE_S)
    reader.join()
    watcher.join()
    shown_at_end = process.stdout.read()
    return Finished(a, out, code, shown_at_end, "".join(rest), live, port, page, report)


def _watch(port: int, page: list[dict[str, Any]], report: list[bytes]) -> None:
    """Read all messages of the page at a port, and then the report."""
    for path in ("/events", "/report"):
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.request("GET", path)
        answer = connection.getresponse()
        if path == "/report":
            report.append(answer.read())
        else:
            page += [json.loads(line[6:]) for line in answer if line.startswith(b"data: ")]
        connection.close()


def _ask(port: int) -> Mapping[str, Read]:
    """The families at a port."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/metrics")
        return read(connection.getresponse().read().decode())
    finally:
        connection.close()


def _times_in_table(out: Path, row: dict[str, Any]) -> dict[tuple[str, int], int]:
    """How often which response time was measured, by type and microseconds."""
    table = pl.read_parquet(RunDirectory(out).window(row["window_id"]).table("histograms"))
    rows = table.filter(pl.col("kind") == "response").iter_rows(named=True)
    return {(each["transaction"], round(each["lowest_s"] * 1e6)): each["count"] for each in rows}


def _times_in_log(out: Path, row: dict[str, Any]) -> dict[tuple[str, int], int]:
    """The same as another reader finds it in the hammer's own log."""
    stem = RunDirectory(out).window(row["window_id"]).hlog_stem
    found: Counter[tuple[str, int]] = Counter()
    for bucket in buckets(stem.with_name(f"{stem.name}.response.hlog")):
        if row["measure_from_s"] - 0.001 <= bucket.at_s < row["measure_to_s"] - 0.001:
            found[bucket.tag, bucket.low_us] += bucket.count
    return dict(found)


def test_a_small_study_goes_from_its_file_to_its_report(finished: Finished) -> None:
    """Every window is there, every restore is proven, all conditions hold, nothing is left."""
    out, place = finished.out, finished.out.parent
    assert ended_well(finished.code, finished.stderr), finished.stderr
    assert (finished.code == Exit.OK) == is_answered(make_context(read_run(out)).evidence)
    assert str(out / "report.html") in finished.stdout
    assert RunDirectory(out).study.read_bytes() == (place / "study.yaml").read_bytes()
    restores = pl.read_parquet(RunDirectory(out).table("restores"))
    assert restores["window_id"].n_unique() == 2
    assert restores["identical"].all()
    conditions = pl.read_parquet(RunDirectory(out).table("conditions"))
    assert set(conditions["moment"]) == {"load", "end"}
    assert conditions["holds"].all()
    for window_id in manifest(out)["plan"]["windows"]:
        row = window_row(out, window_id)
        assert row["complete"], row["missing_because"]
        assert row["headline_committed"] > 0
        grown = row["proof_after"] - row["proof_before"]
        assert grown == row["headline_acknowledged"]
        assert _times_in_table(out, row) == _times_in_log(out, row) != {}
    assert manifest(out)["end"] == "finished"
    assert [*left_by(out), *Stithy(place / "state").registered()] == []
    assert not finished.a.exists()
    assert list((place / "b").iterdir()) == []


def test_a_study_is_calibrated_before_its_first_window(finished: Finished) -> None:
    """What was found is kept, and every window has it; how much it is no test can say.

    On a host that is busy meanwhile the driver is late at every rate, or its headroom is not
    proven for what others used: these are results, too.
    """
    out = finished.out
    kept = json.loads(RunDirectory(out).calibration.read_text())
    assert (kept["connections"], kept["think_s"]) == (2, 0.2)
    assert RunDirectory(out).calibrate_output.exists()
    facts = manifest(out)["calibration"]
    for window_id in manifest(out)["plan"]["windows"]:
        row = window_row(out, window_id)
        for name in ("rate_per_s_max", "users_max"):
            assert kept[name] == facts[name] == row[f"driver_{name}"]
    assert (facts["rate_per_s_max"] is None) == ("late at every" in str(facts["missing_because"]))
    page = page_text(RunDirectory(out).page)
    known = "that the driver sustained in its calibration" in page or "used at most" in page
    assert known or "headroom is not proven" in page
    assert not known or facts["rate_per_s_max"] is not None


def test_each_candidate_has_a_server_with_its_own_memory_and_settings(finished: Finished) -> None:
    """As the server itself and the kernel have them in every window."""
    found = manifest(finished.out)
    in_force = [each["effective_settings"]["shared_buffers"] for each in found["candidates"]]
    assert in_force == ["32MB", "64MB"]
    for window_id in found["plan"]["windows"]:
        row = window_row(finished.out, window_id)
        is_own = row["candidate"] == "b"
        assert row["buffer_pool_bytes"] == (64 if is_own else 32) * 2**20
        if row["memory_limit_enforced"] and row["memory_limit_note"] is None:
            assert row["memory_limit_bytes"] == (256 if is_own else 192) * 2**20


def test_a_run_tells_where_it_stands_until_it_ends(finished: Finished) -> None:
    """The numbers are those of the window under way; the password is not among them."""
    ((labels, tpm, _),) = finished.live[NOW].samples
    ((step, _, _),) = finished.live["stithy_run_step"].samples
    users = labels["point"].removeprefix("users=")
    assert labels["window"] == f"w-{step['candidate']}-u{users}-b0"
    assert tpm >= 0
    assert (step["kind"], step["run"]) == ("window", "out")
    assert window_row(finished.out, labels["window"])["complete"]
    with pytest.raises(ConnectionRefusedError):
        _ask(finished.port)


def test_a_page_shows_the_run_from_its_check_to_its_report(finished: Finished) -> None:
    """Every second of the users, what was under way, and the end; the report before the command
    ends.
    """
    first, last = finished.page[0]["view"], finished.page[-1]["view"]
    assert (first["ended"], last["ended"]) == ("", "The run has finished")
    assert last["path"] == str(finished.out / "report.html")
    assert finished.report == [RunDirectory(finished.out).page.read_bytes()]
    assert [row[6] for row in last["candidates"]] == ["1", "1"]
    seconds = [second for told in finished.page for second in told["seconds"]]
    measured = {(candidate, window) for candidate, window, *_ in seconds}
    assert measured in ({(0, 1), (1, 2)}, {(1, 1), (0, 2)})
    assert any(told["view"]["cpus"] for told in finished.page)
    steps = {told["view"]["step"].split(": ")[-1] for told in finished.page}
    assert {"w-a-u40-b0", "w-b-u40-b0"} <= steps
    assert "password" not in json.dumps(finished.page)


def test_what_was_acknowledged_is_there_after_every_window(finished: Finished) -> None:
    """Each ledger is compared; the counts are those of the windows, and the page says so."""
    context = make_context(read_run(finished.out))
    rows = context.run.ledger.to_dicts()
    assert len(rows) == 2 * len(context.evidence.windows) == 4
    assert all(row["acknowledged"] > 0 for row in rows)
    assert not any(row[name] for row in rows for name in ("lost", "differing", "returned"))
    for window in context.evidence.windows:
        of_window = [row["acknowledged"] for row in rows if row["window_id"] == window.id]
        assert sum(of_window) == window.row["ledger_acknowledged"]
        assert flags.LEDGER not in {reason.flag for reason in window.reasons}
    assert "that the ledgers hold as acknowledged is missing" in page_text(
        context.run.directory.page
    )


def test_users_who_think_share_a_pool(finished: Finished) -> None:
    """Forty of them over two connections obey Little's law, their pauses included."""
    run = RunDirectory(finished.out)
    for name in "ab":
        row = window_row(run.root, f"w-{name}-u{USERS}-b0")
        assert (row["pace"], row["connections_opened"]) == ("think", 2)
        assert row["suppressed_arrivals"] is not None
        window = run.window(row["window_id"]).root
        assert (window / "hammer.pool-wait.hlog").exists()
        merged = pl.read_parquet(window / "transactions.parquet").filter(transaction="all")
        assert merged["pool_wait_p99_s"].item() is not None
    laws = pl.read_parquet(run.report / "tables" / "identities.parquet")
    of_pauses = laws.filter(name="users = throughput × (response + pause)")
    assert of_pauses["holds"].to_list() == [True, True]
    assert "think 200 ms" in page_text(run.page)
