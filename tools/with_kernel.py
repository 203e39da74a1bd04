#!/usr/bin/env python3
"""Runs a command under a kernel that has what this machine's may lack: md, device-mapper, nbd, rbd.

    tools/with_kernel.py COMMAND…

The kernel is a program, Debian's user-mode-linux: it needs neither KVM nor root, and has one CPU.
The command sees the files of this machine, where the packages below seem to be installed. What it
writes is gone afterwards. Times that are measured there say nothing: each system call takes
microseconds longer.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / "tools/kernel"
FOLDER = ROOT / "target/kernel"
OWN = os.environ.get("KERNEL_TREE")
"""A tree with a kernel of one's own, which is taken instead. Source: CONTRIBUTING.md."""
TREE = Path(OWN) if OWN else FOLDER / "packages"
"""What the packages hold, as it lies on a machine where they are installed."""
STATE = FOLDER / "state.so"
PACKAGES = ("user-mode-linux", "kmod", "mdadm", "rbd-nbd", "thin-provisioning-tools")
GET = "apt-get install -qq --yes --reinstall --download-only --no-install-recommends"
MERGED = ("bin", "sbin", "lib", "lib64")
"""Directories that are links into `usr`, as on every Debian from version 12 on."""
MEMORY, DISK_BYTES = "8G", 40 * 2**30
MAPPINGS, MAPPINGS_LEAST = Path("/proc/sys/vm/max_map_count"), 2**21
"""Each page that a process under the kernel has touched may be a mapping of its own here. At the
limit, usually 65530, the kernel kills the process. Source: Linux, arch/um/kernel/tlb.c."""

ENVIRONMENT = ("PATH", "HOME", "PYTHONPATH", "PYTHONHASHSEED")
MISSING = 3
"""Stithy's exit code for a precondition that does not hold."""


def fetch() -> None:
    """Get the packages, with what they need and this machine lacks, and unpack them; once."""
    done = FOLDER / "fetched"
    if OWN or (done.exists() and done.read_text().split() == list(PACKAGES)):
        return
    shutil.rmtree(TREE, ignore_errors=True)
    with tempfile.TemporaryDirectory() as to:
        (Path(to) / "partial").mkdir()
        options = ["Debug::NoLocking=1", "APT::Sandbox::User=root", f"Dir::Cache::archives={to}"]
        get = [*GET.split(), *(f"--option={each}" for each in options), *PACKAGES]
        subprocess.run(get, check=True, stdout=subprocess.DEVNULL)
        for name in MERGED:
            (TREE / "usr" / name).mkdir(parents=True)
            (TREE / name).symlink_to(f"usr/{name}")
        for package in Path(to).glob("*.deb"):
            held = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, stdout=PIPE)
            unpack = ["tar", "--extract", "--keep-directory-symlink", "--directory", str(TREE)]
            subprocess.run(unpack, check=True, input=held.stdout)
    done.write_text("\n".join(PACKAGES))


def build() -> None:
    """Build what `state.c` says; once."""
    source = PARTS / "state.c"
    if not STATE.exists() or STATE.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", STATE, source, "-ldl"], check=True)


def make_disk(path: Path) -> None:
    """A disk for all that the command writes; it takes the space that is written."""
    with path.open("wb") as file:
        file.truncate(DISK_BYTES)
    make = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or "mkfs.ext4"
    lazily = "lazy_itable_init=1,lazy_journal_init=1"
    subprocess.run([make, "-q", "-E", lazily, path], check=True)


@contextmanager
def many_mappings(limit: Path = MAPPINGS) -> Iterator[None]:
    """Inside, a process under the kernel may touch as much memory as that has; or it is said."""
    before = limit.read_text()
    try:
        if int(before) < MAPPINGS_LEAST:
            limit.write_text(str(MAPPINGS_LEAST))
    except OSError:
        print(
            "with_kernel: a process that touches more than about 256 MiB is killed there: raise "
            f"vm.max_map_count to {MAPPINGS_LEAST}",
            file=sys.stderr,
        )
    try:
        yield
    finally:
        if limit.read_text() != before:
            limit.write_text(before)


def boot(folder: Path) -> int:
    """Start the kernel, whose console is this process's output; the command's exit code."""
    words = [
        str(TREE / "usr/bin/linux.uml"), f"mem={MEMORY}", f"ubd0={folder / 'disk'}",
        "rootfstype=hostfs", "rootflags=/", "ro", f"init={PARTS / 'init'}", "con=null",
        "con0=null,fd:1", "quiet", "loglevel=3", "selinux=0", f"PACKAGES={TREE}",
        f"FOLDER={folder}", f"uml_dir={folder}/",
    ]  # fmt: skip
    # Its memory is a file, which may be larger than a small /tmp.
    environment = os.environ | {"LD_PRELOAD": str(STATE), "TMPDIR": "/dev/shm"}
    with many_mappings():
        kernel = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, env=environment, start_new_session=True
        )
        try:
            kernel.wait()
        finally:
            # Each process under it is one here, in its session.
            with suppress(ProcessLookupError):
                os.killpg(kernel.pid, signal.SIGKILL)
    code = folder / "code"
    if code.exists():
        return int(code.read_text())
    print("with_kernel: the kernel ended before the command did", file=sys.stderr)
    return 1


def run(words: list[str]) -> int:
    """Run the command as it would run here, in this directory."""
    exports = [
        f"export {name}={shlex.quote(os.environ[name])}"
        for name in ENVIRONMENT
        if name in os.environ
    ]
    lines = [*exports, f"cd {shlex.quote(os.getcwd())}", shlex.join(words), ""]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        (folder / "command").write_text("\n".join(lines))
        make_disk(folder / "disk")
        return boot(folder)


def main() -> int:
    """Get ready, and run the command; its exit code."""
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    for program in ("apt-get", "dpkg-deb", "cc"):
        if shutil.which(program) is None:
            print(f"with_kernel: {program} is not there: use Debian 12 or newer", file=sys.stderr)
            return MISSING
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        fetch()
        build()
    except subprocess.CalledProcessError as error:
        remedy = "try it by hand; `apt-get update` brings the lists of packages"
        print(f"with_kernel: {error.cmd[0]} failed: {remedy}", file=sys.stderr)
        return MISSING
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
