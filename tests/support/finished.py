"""One run with all that a run can have, for tests that only look at what it told and left.

Two candidates, one of them on a disk, at two levels; calibrated before, with a ledger of each
window, and asked for its live numbers while one is measured.
"""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from support.openmetrics import Read, read
from support.places import DISK, a_place
from support.running import PATIENCE_S, Stithy, measures, wait_for, write_study

LOAD = {"calibrate": "true", "ledger": "true"}
LEVELS = (1, 2)
ADDRESS = re.compile(r"live numbers: http://127\.0\.0\.1:(\d+)/metrics\n")
NOW = "stithy_now_transactions_per_minute"


@dataclass(frozen=True)
class Finished:
    """What a run told and left; its candidates' directories are `a` and `b`, `b` was there before.

    `live`: the live numbers of a window under way; `answers_after_end`: whether there are any yet.
    """

    study: Path
    out: Path
    a: Path
    b: Path
    code: int
    stdout: str
    stderr: str
    live: dict[str, Read]
    answers_after_end: bool
    registered: tuple[Path, ...]


@contextmanager
def finished_run() -> Iterator[Finished]:
    """Run it, and remove everything afterwards."""
    with a_place() as place, a_place(DISK) as disk:
        stithy = Stithy(place / "state")
        try:
            yield _finished(stithy, place, disk)
        finally:
            stithy.end()


def _finished(stithy: Stithy, place: Path, disk: Path) -> Finished:
    a, b, out = disk / "a", place / "b", place / "out"
    b.mkdir()
    study = write_study(place / "study.yaml", {"a": a, "b": b}, users=LEVELS, load=LOAD)
    process = stithy.start("run", study, "--out", out, "--metrics", "127.0.0.1:0")
    assert process.stderr is not None
    told = ADDRESS.fullmatch(process.stderr.readline())
    assert told is not None
    rest: list[str] = []
    reader = threading.Thread(target=lambda: rest.extend(process.stderr or ()))
    reader.start()  # a pipe that nobody reads would hold up the run
    port = int(told[1])
    wait_for(lambda: measures(out), process)
    live = wait_for(lambda: now if NOW in (now := _ask(port)) else None, process)
    process.wait(timeout=PATIENCE_S)
    reader.join()
    assert process.stdout is not None
    return Finished(
        study=study,
        out=out,
        a=a,
        b=b,
        code=process.returncode,
        stdout=process.stdout.read(),
        stderr="".join(rest),
        live=live,
        answers_after_end=_answers(port),
        registered=tuple(stithy.registered()),
    )


def _ask(port: int) -> dict[str, Read]:
    """The families at a port."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", "/metrics")
        return dict(read(connection.getresponse().read().decode()))
    finally:
        connection.close()


def _answers(port: int) -> bool:
    try:
        return bool(_ask(port))
    except ConnectionRefusedError:
        return False
