"""A profile is learned from what a run kept of an emulated drive's requests."""

import shutil
from pathlib import Path

import pytest

from stithy.errors import Exit
from stithy.fio.library import parse
from support.running import Stithy

pytestmark = [
    pytest.mark.needs_drive,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio was not found: install fio"),
]
STUDY = """study: What does it do?
candidates: {{a: {{drive: generic-nvme, trace: {traced}, filesystem: none}}}}
scenario:
  block-io: {{profiles: [sql-80-20], size: 16 MiB, ramp_up: 0 s, duration: 1 s, repeat: 1}}
"""


@pytest.mark.parametrize("traced", [True, False])
def test_a_profile_is_learned_from_a_trace(stithy: Stithy, place: Path, traced: bool) -> None:
    """Eight kilobytes at random, four of five read; without a trace the remedy is a key."""
    study, out, file = place / "s.yaml", place / "out", place / "mine.toml"
    study.write_text(STUDY.format(traced=str(traced).lower()))
    stithy.run_well("run", study, "--out", out)
    learned = stithy.run("block", "--learn", out, "--profile", file)
    if not traced:
        assert learned.returncode == Exit.USAGE
        assert "`trace: true`" in learned.stderr
        return
    assert learned.returncode == Exit.OK, learned.stderr
    reads, writes = parse(file.read_text(), "mine", "mine.toml").patterns[0].streams
    assert reads.read_sizes == writes.write_sizes == {8192: 1.0}
    assert reads.weight == pytest.approx(0.8, abs=0.05)
