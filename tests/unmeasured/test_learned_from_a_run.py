"""A profile is learned from what a run kept of an emulated drive's requests."""

import shutil
from pathlib import Path

import pytest

from stithy.cli.talk.shortcut import TRACES
from stithy.errors import Exit
from stithy.fio.library import parse
from support.running import Stithy

pytestmark = [
    pytest.mark.needs_drive,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found: install fio"),
]
STUDY = """study: What does it do?
candidates: {a: {drive: generic-nvme, trace: true, filesystem: none}}
scenario:
  block-io: {profiles: [sql-80-20], size: 16 MiB, ramp_up: 0 s, duration: 1 s, repeat: 1}
"""


def test_a_profile_is_learned_from_a_trace(stithy: Stithy, place: Path) -> None:
    """Eight kilobytes at random, four of five read; without a trace the remedy is a key."""
    study, out, file = place / "s.yaml", place / "out", place / "mine.toml"
    study.write_text(STUDY)
    stithy.run_well("run", study, "--out", out)
    words = ("block", "--learn", out, "--profile")
    learned = stithy.run(*words, file)
    assert learned.returncode == Exit.OK, learned.stderr
    reads, writes = parse(file.read_text(), "mine", "mine.toml").patterns[0].streams
    assert reads.read_sizes == writes.write_sizes == {8192: 1.0}
    assert reads.weight == pytest.approx(0.8, abs=0.05)
    for path in out.glob(f"windows/*/{TRACES}"):
        path.unlink()
    refused = stithy.run(*words, place / "other.toml")
    assert refused.returncode == Exit.USAGE
    assert "`trace: true`" in refused.stderr
