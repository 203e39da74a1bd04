"""What `tools/setup` says on machines that lack something, with a PATH made for the test."""

import shutil
import subprocess
from pathlib import Path

import pytest

COMMANDS = ("sh", "sed", "sort", "head", "tail", "id", "dirname", "cat", "find", "tr", "env", "cc")


@pytest.fixture
def machine(tmp_path: Path, root: Path) -> Path:
    """A clone with only what set-up reads first, on a machine with little but a shell."""
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "tools/setup", tmp_path / "tools/setup")
    shutil.copy(root / "Cargo.toml", tmp_path / "Cargo.toml")
    (tmp_path / "bin").mkdir()
    for name in COMMANDS:
        if place := shutil.which(name):
            (tmp_path / "bin" / name).symlink_to(place)
    return tmp_path


def _give(machine: Path, name: str, says: str) -> None:
    program = machine / "bin" / name
    program.write_text(f'#!/bin/sh\necho "{says}"\n')
    program.chmod(0o755)


def _set_up(machine: Path) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(machine / "tools/setup")]
    path = {"PATH": str(machine / "bin")}
    return subprocess.run(command, env=path, capture_output=True, text=True)


def test_without_cargo_the_remedy_is_named(machine: Path) -> None:
    """Exit code 3, the needed version, and where to get it."""
    finished = _set_up(machine)
    assert finished.returncode == 3
    assert "Rust 1.85 or newer (cargo on PATH: none)" in finished.stderr
    assert "rustup update stable" in finished.stderr
    assert not (machine / ".venv").exists()


def test_a_cargo_that_is_too_old_is_named_with_its_version(machine: Path) -> None:
    """Versions are compared as numbers: 1.9 is older than 1.85."""
    _give(machine, "cargo", "cargo 1.9.0 (abc 2016-05-26)")
    finished = _set_up(machine)
    assert finished.returncode == 3
    assert "cargo on PATH: 1.9.0" in finished.stderr


def test_without_rights_the_missing_packages_are_named(machine: Path) -> None:
    """No apt-get here: nothing is installed, and one line says what someone else must run."""
    _give(machine, "cargo", "cargo 1.99.0 (abc 2026-05-26)")
    (machine / "bin/cc").unlink()
    finished = _set_up(machine)
    assert finished.returncode == 3
    assert "build-essential: no linker (cc)" in finished.stderr
    assert "apt-get install build-essential" in finished.stderr
    assert not (machine / ".venv").exists()
