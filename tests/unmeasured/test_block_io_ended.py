"""Block I/O that a person interrupts in a sweep, by whole commands."""

import shutil
import signal
from pathlib import Path

import pytest

from stithy.exits import Exit
from stithy.results.layout import RunDirectory
from support.running import Stithy, left_by, manifest, wait_for

pytestmark = [
    pytest.mark.needs_drive,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found: install fio"),
]
# Where CPUs are busy a drive may be slower than its profile: such a window is invalid.
ENDED_WELL = (Exit.OK, Exit.INVALID)
SHORT = ["--size", "16 MiB", "--ramp-up", "0 s", "--duration", "2 s", "--repeat", "1"]
SWEEP = ["--profile", "oltp-8k", "--rate", "1%", "--rate", "2%", *SHORT]


def _nothing_left(stithy: Stithy, out: Path) -> None:
    assert left_by(out) == []
    assert stithy.drives() == stithy.registered() == []


@pytest.mark.long
@pytest.mark.parametrize("command", ["block", "run"])
def test_a_sweep_that_is_interrupted_leaves_nothing_and_goes_on(
    stithy: Stithy, place: Path, command: str
) -> None:
    """By SIGINT while fio runs; what was measured before is not measured again."""
    out = place / "out"
    words: list[str | Path] = ["block", "generic-nvme", *SWEEP]
    if command == "run":
        study = place / "s.yaml"
        study.write_text(stithy.run(*words, "--print").stdout)
        words = ["run", study]
    running = stithy.start(*words, "--out", out)
    folder = RunDirectory(out).windows
    wait_for(lambda: len(list(folder.glob("*/fio/run/worker-0/fio.json"))) >= 2, running)
    running.send_signal(signal.SIGINT)
    said, shown = running.communicate(timeout=120)
    assert running.returncode == Exit.INTERRUPTED, said + shown
    _nothing_left(stithy, out)
    resumed = stithy.run("resume", out)
    assert resumed.returncode in ENDED_WELL, resumed.stdout + resumed.stderr
    assert [each["end"] for each in manifest(out)["sessions"]] == ["interrupted", "finished"]
    _nothing_left(stithy, out)
