"""What `tools/setup` says on machines that lack something, with a PATH made for the test."""

import shutil
import subprocess
from pathlib import Path

import pytest

from stithy.study.load import read_study
from stithy.study.sections import drive_roles

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
    program.unlink(missing_ok=True)
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


def _has_drives_without_tools(machine: Path) -> None:
    """Everything is set up but for the last steps, and drives can be had."""
    for name in ("fuse", "loop-control"):
        (machine / "dev").mkdir(exist_ok=True)
        (machine / "dev" / name).touch()
    script = machine / "tools/setup"
    text = script.read_text().replace("/dev/fuse", f"{machine}/dev/fuse")
    text = text.replace("/dev/loop-control", f"{machine}/dev/loop-control")
    text = text.replace(":/usr/sbin:/sbin", "")
    script.write_text(text.replace('\ninstall_lock "', '\n: install_lock "'))
    _give(machine, "cargo", "cargo 1.99.0 (abc 2026-05-26)")
    for name in ("python3", "postgres", "initdb", "setpriv"):
        _give(machine, name, "")
    (machine / ".venv/bin").mkdir(parents=True)
    (machine / ".venv/bin/python").symlink_to(machine / "bin/python3")
    (machine / ".venv/made").write_text(f"{machine} {machine}/bin/python3\n")


def test_without_rights_the_tools_for_drives_are_named_once(machine: Path) -> None:
    """Nothing stops for want of them, and the next set-up does not say it again."""
    _has_drives_without_tools(machine)
    remedy = "apt-get install fio e2fsprogs xfsprogs btrfs-progs"
    assert remedy in _set_up(machine).stdout
    assert remedy not in _set_up(machine).stdout


def test_where_drives_can_be_had_their_tools_are_installed(machine: Path) -> None:
    """Only those that are missing are asked for."""
    _has_drives_without_tools(machine)
    _give(machine, "fio", "fio-3.33")
    _give(machine, "sudo", "")
    _give(machine, "mktemp", f"{machine}/log")
    _give(machine, "rm", "")
    asked = machine / "asked"
    (machine / "bin/apt-get").write_text(f'#!/bin/sh\necho "$@" >>{asked}\n')
    (machine / "bin/apt-get").chmod(0o755)
    (machine / "bin/sudo").write_text('#!/bin/sh\n[ "$1" = -n ] || "$@"\n')
    stated = _set_up(machine).stdout
    assert "installing e2fsprogs xfsprogs btrfs-progs" in stated
    assert asked.read_text().endswith("--no-install-recommends e2fsprogs xfsprogs btrfs-progs\n")


def test_without_drives_no_tools_for_them_are_asked_for(machine: Path) -> None:
    """A machine without loop devices needs neither fio nor file systems."""
    _has_drives_without_tools(machine)
    (machine / "dev/loop-control").unlink()
    assert "fio" not in _set_up(machine).stdout


def _can_emulate(machine: Path, *, user: int, rights: int, devices: bool) -> tuple[int, str]:
    """The exit code and words of the check, for a user with these rights."""
    _give(machine, "id", str(user))
    (machine / "status").write_text(f"Name:\tsh\nCapEff:\t{rights:016x}\n")
    text = (machine / "tools/setup").read_text().replace("/proc/self/status", f"{machine}/status")
    (machine / "tools/setup").write_text(text.replace("/dev/", f"{machine}/dev/"))
    for name in ("fuse", "loop-control") if devices else ():
        (machine / "dev").mkdir(exist_ok=True)
        (machine / "dev" / name).touch()
    command = ["sh", str(machine / "tools/setup"), "can-emulate"]
    path = {"PATH": str(machine / "bin")}
    ended = subprocess.run(command, env=path, capture_output=True, text=True, timeout=10)
    return ended.returncode, ended.stdout + ended.stderr


ALL_RIGHTS = 0x1FFFFFFFFFF
SYS_ADMIN = 1 << 21


@pytest.mark.parametrize(
    ("user", "rights", "devices", "why"),
    [
        (1000, 0, True, "this user is not root"),
        (0, ALL_RIGHTS & ~SYS_ADMIN, True, "root may not mount here (CAP_SYS_ADMIN)"),
        (0, ALL_RIGHTS, False, "/dev/fuse cannot be opened"),
    ],
)
def test_a_demo_that_cannot_have_drives_says_so_before_anything_is_built(
    machine: Path, user: int, rights: int, devices: bool, why: str
) -> None:
    """Not by the user alone: a container's root may lack the rights or the devices."""
    code, said = _can_emulate(machine, user=user, rights=rights, devices=devices)
    assert code == 3
    assert why in said
    assert "compares two directories instead (studies/disk-and-memory.yaml)" in said
    assert not (machine / ".venv").exists()


def test_where_drives_can_be_had_the_demo_goes_on_without_a_word(machine: Path) -> None:
    """Root with all rights, and both devices."""
    assert _can_emulate(machine, user=0, rights=ALL_RIGHTS, devices=True) == (0, "")


def test_the_demo_asks_before_it_builds(root: Path) -> None:
    """And runs a study that asks the same of directories as the demo asks of drives."""
    recipe = (root / "Makefile").read_text().partition("\ndemo:")[2].partition("\n\n")[0]
    assert recipe.index("tools/setup can-emulate") < recipe.index("stithy run")
    assert "setup" not in recipe.partition("\n")[0].partition("##")[0]
    drives = read_study(root / "studies/demo.yaml").study
    directories = read_study(root / "studies/disk-and-memory.yaml").study
    assert directories.load.response_limit is not None
    assert directories.primary.metric is not None
    assert len(directories.load.users) >= 2
    assert len(directories.candidates) == len(drives.candidates)
    assert not any(drive_roles(each) for each in directories.candidates.values())
