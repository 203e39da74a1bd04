"""What `tools/setup` says on machines that lack something, with a PATH made for the test."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lock import only

COMMANDS = (
    "sh", "sed", "sort", "head", "tail", "id", "dirname", "cat", "find", "tr", "env", "cc",
    "mktemp", "rm", "sleep", "mkdir", "chmod", "ln",
)  # fmt: skip
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


def _write_program(machine: Path, name: str, *lines: str) -> None:
    _give(machine, name, "")
    (machine / "bin" / name).write_text("\n".join(("#!/bin/sh", *lines, "")))


def _set_up(machine: Path, *words: str, first: str = "bin") -> tuple[int, str]:
    """Run set-up; what it prints is in a file, which a program of the machine may read."""
    command = ["sh", str(machine / "tools/setup"), *words]
    path = {"PATH": f"{machine / first}:{machine / 'bin'}", "HOME": str(machine / "home")}
    with (machine / "printed").open("w") as printed:
        ended = subprocess.run(
            command, env=path, stdout=printed, stderr=subprocess.STDOUT, timeout=60
        )
    return ended.returncode, (machine / "printed").read_text()


def test_what_is_missing_is_named_with_the_remedy(machine: Path) -> None:
    """Exit code 3, and nothing is made: no linker and nothing that fetches Rust, all at once."""
    (machine / "bin/cc").unlink()
    for version, missing in (("", "build-essential curl"), ("1.99.0", "build-essential")):
        if version:
            _give(machine, "cargo", f"cargo {version} (abc 2026-05-26)")
        code, said = _set_up(machine)
        assert (code, (machine / ".venv").exists()) == (3, False)
        assert re.search(rf"apt-get install.* {missing}( |$)", said)


def _give_python_and_server(machine: Path) -> None:
    """Give all but Rust: a Python that makes nothing, and programs of PostgreSQL."""
    for name in ("python3", "postgres", "initdb"):
        _give(machine, name, "")


@pytest.mark.parametrize(("fetcher", "target"), [("curl", "-o"), ("wget", "-O")])
def test_rust_comes_by_its_installer(machine: Path, fetcher: str, target: str) -> None:
    """For this user, said before; versions are compared by number; a later shell finds it."""
    _give_python_and_server(machine)
    _give(machine, "cargo", "cargo 1.9.0 (abc 2015-05-26)")
    _give(machine, "new-cargo", "cargo 1.99.0 (abc 2026-05-26)")
    (machine / "installer").write_text(
        f"mkdir -p $HOME/.cargo/bin\nln -s {machine}/bin/new-cargo $HOME/.cargo/bin/cargo\n"
    )
    places = f'while [ "$1" != {target} ]; do shift; done'
    _write_program(machine, fetcher, places, f'cat {machine}/installer >"$2"')
    said = _set_up(machine)[1]
    assert "(cargo on PATH: 1.9.0)" in said
    assert "official installer, https://sh.rustup.rs" in said
    assert (machine / "home/.cargo/bin/cargo").exists()
    assert "making .venv" in said
    assert "installer" not in _set_up(machine)[1]


def test_a_failing_installer_names_a_remedy(machine: Path) -> None:
    """Nothing is made; a wheel is the other choice."""
    _give_python_and_server(machine)
    _write_program(machine, "curl", "echo 'Could not resolve host' >&2", "exit 6")
    code, said = _set_up(machine)
    assert (code, (machine / ".venv").exists()) == (3, False)
    assert "Could not resolve host" in said
    assert "its installer could not be fetched" in said
    assert "make wheel" in said


def test_a_new_package_is_installed(machine: Path) -> None:
    """Debian's cargo may be old, and that of its browsers is newer; lists are fetched before."""
    _give_python_and_server(machine)
    _give(machine, "id", "0")
    _give(machine, "new-cargo", "cargo 1.96.0")
    script = machine / "tools/setup"
    script.write_text(script.read_text().replace("TICK_S=15", "TICK_S=0.05"))
    script.write_text(script.read_text().replace("seconds + TICK_S", "seconds + 1"))
    _write_program(
        machine, "apt-cache",
        '[ "$2" != cargo ] || echo "  Candidate: 0.66.0+ds1-1"',
        '[ "$2" != cargo-web ] || echo "  Candidate: 1.96.0+dfsg1-1"',
    )  # fmt: skip
    _write_program(
        machine, "apt-get", 'case "$*" in',
        f"*update) until grep -q 'lists of packages: 1 s' {machine}/printed; do sleep 0.05; done;;",
        f"*cargo-web*) ln -s new-cargo {machine}/bin/cargo;;",
        "esac",
    )  # fmt: skip
    (machine / "bin/grep").symlink_to(shutil.which("grep") or "grep")
    said = _set_up(machine)[1]
    assert re.search(r"installing .*cargo-web\n", said)
    assert "installer" not in said
    assert "making .venv" in said


def test_an_environment_needs_another_python(machine: Path) -> None:
    """An activated .venv would remove the interpreter that it is to be made with."""
    (machine / ".venv/bin").mkdir(parents=True)
    for place in ("bin", ".venv/bin"):
        _give(machine, f"../{place}/python3", "")
    ran = machine / "ran"
    (machine / ".venv/bin/python3").write_text(f"#!/bin/sh\n: >{ran}\n")
    code, _ = _set_up(machine, first=".venv/bin")
    assert (code, ran.exists()) == (3, False)


@pytest.mark.parametrize(("user", "rights", "devices", "why"), [
    (1000, 0, True, "this user is not root"),
    (0, ALL_RIGHTS & ~SYS_ADMIN, True, "root may not mount here (CAP_SYS_ADMIN)"),
    (0, ALL_RIGHTS, False, "/dev/fuse cannot be opened"),
    (0, ALL_RIGHTS, True, ""),
])  # fmt: skip
def test_a_demo_without_drives_says_so(
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


@pytest.mark.parametrize(("profile", "log", "shown"), [
    ("release", "   Building [=> ] 0/157: libc\r", ""),
    ("release", "  Building [=> ] 10/150: libc\r\x1b[K  Compiling libc\nBuilding [==> ] 50/150: a",
     ", 50 of 150 parts compiled, about 9 min left"),
    ("ci", "Building [==> ] 50/150: a", ", 50 of 150 parts compiled, about 3 min left"),
    ("release", "Building [==> ] 149/150: a\n   Compiling stithy-programs v0.1.0 (/x)",
     ", linking program 1 of 2"),
])  # fmt: skip
def test_a_build_shows_its_parts(
    tmp_path: Path, root: Path, profile: str, log: str, shown: str
) -> None:
    """After 60 s, by Cargo's own count; the programs are last."""
    text = (root / "tools/setup").read_text()
    function = text[text.index("show_build()") :].partition("\n}\n")[0] + "\n}\n"
    (tmp_path / "log").write_text(log)
    script = f"set -eu; profile={profile}\n{function}show_build {tmp_path}/log 60"
    printed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert printed.stdout == shown


def test_the_rust_that_is_needed_is_the_newest_that_a_package_needs(root: Path) -> None:
    """Set-up would go on with an older one, and the build would stop."""
    words = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1"]
    read = json.loads(subprocess.run(words, cwd=root, capture_output=True, check=True).stdout)
    needed = [each["rust_version"] or "1" for each in read["packages"]]
    versions = [tuple(map(int, f"{version}.0".split(".")[:3])) for version in needed]
    stated = re.search(r'rust-version = "([\d.]+)"', (root / "Cargo.toml").read_text())
    assert stated is not None
    assert max(versions)[:2] == tuple(map(int, stated[1].split(".")))


def test_a_package_is_cut_out_of_a_lock_with_its_hashes() -> None:
    """Names are compared whole."""
    lock = (
        "a==1 \\\n    --hash=sha256:1\nab==2 \\\n    --hash=sha256:2\n    --hash=sha256:3\nb==4\n"
    )
    assert only("ab", lock) == "ab==2 \\\n    --hash=sha256:2\n    --hash=sha256:3\n"
    assert only("abc", lock) == ""
