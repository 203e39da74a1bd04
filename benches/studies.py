"""Whole studies of a bench: run by the program itself, with a state directory of their own."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from stithy.wire.program import DRIVE, HAMMER, find_program

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "prove"
"""Where what was done, and the runs themselves, stay."""


def stithy(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command of Stithy, with its state in a folder."""
    environment = {
        **os.environ,
        "STITHY_STATE": str(folder / "state"),
        "PYTHONPATH": str(ROOT / "python"),
    }
    command = [sys.executable, "-m", "stithy", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def fingerprint(*proof: str) -> str:
    """What all is proven by and of: the programs, and the files of the proof."""
    sources = sorted((ROOT / "python/stithy").rglob("*.py"))
    digest = hashlib.sha256()
    for path in [find_program(DRIVE), find_program(HAMMER), *map(Path, proof), *sources]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
