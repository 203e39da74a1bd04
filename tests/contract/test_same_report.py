"""A report depends on the results alone: not on who makes it, where, when, or in which process."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from conftest import ROOT
from support.fixed_run import FIXED
from support.sample_run import build_run

HERE = {
    "TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "0", "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}  # fmt: skip
ELSEWHERE = {
    "TZ": "Asia/Kathmandu", "LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8",
    "PYTHONHASHSEED": "4711", "POLARS_MAX_THREADS": "4", "RAYON_NUM_THREADS": "5",
    "COLUMNS": "40", "NO_COLOR": "1",
}  # fmt: skip


def _reported(root: Path, cwd: Path, environment: dict[str, str], *on: str) -> dict[str, bytes]:
    """All files of a report that a process of its own made there, by name; `on`: begun by this."""
    stithy = [*on, sys.executable, "-m", "stithy"]
    command = [*stithy, "report", str(root), "--format", "html,pdf,md,json"]
    known = {**os.environ, **environment, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run(command, cwd=cwd, env=known, check=True, capture_output=True)
    made = [root / "report", *root.glob("report.*")]
    files = [each for part in made for each in (part.rglob("*") if part.is_dir() else (part,))]
    return {str(each.relative_to(root)): each.read_bytes() for each in files if each.is_file()}


def test_two_processes_make_the_same_report(tmp_path: Path) -> None:
    """With another time zone, locale, hash seed, number of CPUs and threads, and directory."""
    first = build_run(tmp_path / "run", FIXED).root
    second = Path(shutil.copytree(first, tmp_path / "some" / "other place" / "run"))
    one_cpu = ("taskset", "--cpu-list", str(min(os.sched_getaffinity(0))))
    here = _reported(first, Path("/"), HERE, *one_cpu)
    there = _reported(second, tmp_path, ELSEWHERE)
    assert here.keys() == there.keys()
    assert len(here) > 100
    assert [name for name in here if here[name] != there[name]] == []
    assert not [name for name in here if str(tmp_path).encode() in here[name]]
