"""What `tools/setup` says on machines that lack something, with a PATH made for the test."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lock import only

COMMANDS = ("sh", "sed", "sort", "head", "tail", "id", "dirname", "cat", "find", "tr", "env", "cc")
ALL_RIGHTS = 0x1FFFFFFFFFF
SYS_ADMIN = 1 << 21


@pytest.fixture
def machine(tmp_path: Path, root: Path) -> Path:
    """A clone with only what set-up reads first, on a machine with little but a shell."""
    for folder in ("tools", "bin"):
        (tmp_path / folder).mkdir()
    text = (root / "tools/setup").read_text().replace("/proc/self/status", f"{tmp_path}/status")
    (tmp_path / "tools/setup").write_text(text)
    shutil.copy(root / "Cargo.toml", tmp_path / "Cargo.toml")
    for name in COMMANDS:
        if place := shutil.which(name):
            (tmp_path / "bin" / name).symlink_to(place)
    return tmp_path


def _give(machine: Path, name: str, says: str) -> None:
    program = machine / "bin" / name
    program.unlink(missing_ok=True)
    program.write_text(f'#!/bin/sh\necho "{says}"\n')
    program.chmod(0o755)


def _set_up(machine: Path, *words: str, first: str = "bin") -> tuple[int, str]:
    command = ["sh", str(machine / "tools/setup"), *words]
    path = {"PATH": f"{machine / first}:{machine / 'bin'}"}
    ended = subprocess.run(command, env=path, capture_output=True, text=True, timeout=60)
    return ended.returncode, ended.stdout + ended.stderr


def test_what_is_missing_is_named_with_the_remedy(machine: Path) -> None:
    """Exit code 3, and nothing is made: no cargo; one too old, numbers compared; no linker."""
    (machine / "bin/cc").unlink()
    for version, shown in (
        ("", "Rust 1.85 or newer (cargo on PATH: none)"),
        ("1.9.0", "cargo on PATH: 1.9.0"),
        ("1.99.0", "apt-get install build-essential"),
    ):
        if version:
            _give(machine, "cargo", f"cargo {version} (abc 2026-05-26)")
        code, said = _set_up(machine)
        assert (code, shown in said, (machine / ".venv").exists()) == (3, True, False)


def test_the_environment_that_is_made_is_not_made_with_its_own_python(machine: Path) -> None:
    """An activated .venv would remove the interpreter that it is to be made with."""
    (machine / ".venv/bin").mkdir(parents=True)
    for place in ("bin", ".venv/bin"):
        _give(machine, f"../{place}/python3", "")
    ran = machine / "ran"
    (machine / ".venv/bin/python3").write_text(f"#!/bin/sh\n: >{ran}\n")
    code, _ = _set_up(machine, first=".venv/bin")
    assert (code, ran.exists()) == (3, False)


@pytest.mark.parametrize(
    ("user", "rights", "devices", "why"),
    [
        (1000, 0, True, "this user is not root"),
        (0, ALL_RIGHTS & ~SYS_ADMIN, True, "root may not mount here (CAP_SYS_ADMIN)"),
        (0, ALL_RIGHTS, False, "/dev/fuse cannot be opened"),
        (0, ALL_RIGHTS, True, ""),
    ],
)
def test_a_demo_that_cannot_have_drives_says_so_before_anything_is_built(
    machine: Path, root: Path, user: int, rights: int, devices: bool, why: str
) -> None:
    """Not by the user alone: a container's root may lack the rights or the devices."""
    _give(machine, "id", str(user))
    (machine / "status").write_text(f"Name:\tsh\nCapEff:\t{rights:016x}\n")
    for name in ("fuse", "loop-control") if devices else ():
        (machine / "dev").mkdir(exist_ok=True)
        (machine / "dev" / name).touch()
    script = machine / "tools/setup"
    text = re.sub(r"/dev/(?=fuse|loop-control)", f"{machine}/dev/", script.read_text())
    script.write_text(text)
    code, said = _set_up(machine, "can-emulate")
    assert (code, why in said) == (3 if why else 0, True)
    shown = "compares two directories instead (studies/disk-and-memory.yaml)" in said
    assert (shown, bool(said)) == (bool(why), bool(why))
    recipe = (root / "Makefile").read_text().partition("\ndemo:")[2].partition("\n\n")[0]
    assert recipe.index("tools/setup can-emulate") < recipe.index("stithy run")


def test_a_package_is_cut_out_of_a_lock_with_its_hashes() -> None:
    """Names are compared whole."""
    lock = (
        "a==1 \\\n    --hash=sha256:1\nab==2 \\\n    --hash=sha256:2\n    --hash=sha256:3\nb==4\n"
    )
    assert only("ab", lock) == "ab==2 \\\n    --hash=sha256:2\n    --hash=sha256:3\n"
    assert only("abc", lock) == ""
