"""Live numbers of a real run: asked for while a window is measured, gone when it ends."""

import re
import threading
from http.client import HTTPConnection
from pathlib import Path

import pytest

from support.openmetrics import Read, read
from support.running import PATIENCE_S, Stithy, seconds_measured, wait_for, window_row, write_study

pytestmark = pytest.mark.needs_postgresql


def ask(port: int) -> dict[str, Read]:
    """The families at a port."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/metrics")
        return dict(read(connection.getresponse().read().decode()))
    finally:
        connection.close()


def test_a_run_tells_where_it_stands_until_it_ends(stithy: Stithy, place: Path) -> None:
    """The numbers are those of the window under way; the password is not among them."""
    study = write_study(place / "study.yaml", {"a": place / "a"}, users=[1], duration="8 s")
    out = place / "out"
    process = stithy.start("run", study, "--out", out, "--metrics", "127.0.0.1:0")
    assert process.stderr is not None
    told = re.fullmatch(
        r"live numbers: http://127\.0\.0\.1:(\d+)/metrics\n", process.stderr.readline()
    )
    assert told is not None
    rest: list[str] = []
    reader = threading.Thread(target=lambda: rest.extend(process.stderr or ()))
    reader.start()  # a pipe that nobody reads would hold up the run
    port = int(told[1])
    wait_for(lambda: seconds_measured(out, "w-a-u1-b0") >= 2, process)
    families = wait_for(
        lambda: now if "stithy_now_transactions_per_minute" in (now := ask(port)) else None, process
    )
    ((labels, tpm, _),) = families["stithy_now_transactions_per_minute"].samples
    assert (labels["window"], labels["users"]) == ("w-a-u1-b0", "1")
    assert tpm >= 0
    ((step, _, _),) = families["stithy_run_step"].samples
    assert (step["kind"], step["candidate"], step["run"]) == ("window", "a", "out")
    process.wait(timeout=PATIENCE_S)
    reader.join()
    assert process.returncode == 0, rest
    assert window_row(out, "w-a-u1-b0")["complete"]
    with pytest.raises(ConnectionRefusedError):
        ask(port)
