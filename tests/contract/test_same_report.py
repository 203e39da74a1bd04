"""A report depends on the results alone: not on who makes it, where, when, or in which process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.sample_run import Shape, build_run, window_id

SHAPE = Shape(
    users=(1, 4), duration_s=3, repeat=2, logs=True, ledger=True, drives={"disk": 0.0},
    changes={window_id("memory", 4, 1): {"errors": 1, "error_text": "deadlock detected"}},
)  # fmt: skip

HERE = {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "0", "POLARS_MAX_THREADS": "1"}
ELSEWHERE = {
    "TZ": "Asia/Kathmandu", "LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8",
    "PYTHONHASHSEED": "4711", "POLARS_MAX_THREADS": "4", "COLUMNS": "40", "NO_COLOR": "1",
}  # fmt: skip


def _reported(
    root: Path, cwd: Path, environment: dict[str, str], project: Path
) -> dict[str, bytes]:
    """All files of a report that a process of its own made there, by name."""
    command = [sys.executable, "-m", "stithy", "report", str(root), "--format", "html,pdf,md,json"]
    known = {**os.environ, **environment, "PYTHONPATH": str(project / "python")}
    subprocess.run(command, cwd=cwd, env=known, check=True, capture_output=True)
    made = [root / "report", *root.glob("report.*")]
    files = [each for part in made for each in (part.rglob("*") if part.is_dir() else (part,))]
    return {str(each.relative_to(root)): each.read_bytes() for each in files if each.is_file()}


def test_two_processes_make_the_same_report_of_copies_in_two_places(
    tmp_path: Path, root: Path
) -> None:
    """With another time zone, locale, hash seed, number of threads and current directory."""
    first = build_run(tmp_path / "run", SHAPE).root
    second = Path(shutil.copytree(first, tmp_path / "some" / "other place" / "run"))
    here = _reported(first, Path("/"), HERE, root)
    there = _reported(second, tmp_path, ELSEWHERE, root)
    assert here.keys() == there.keys()
    assert len(here) > 100
    assert [name for name in here if here[name] != there[name]] == []
    assert not [name for name in here if str(tmp_path).encode() in here[name]]
