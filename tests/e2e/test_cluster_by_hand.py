"""Clusters by hand: raised, broken, mended, removed; and killed at any moment of their life."""

import json
import mmap
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.cluster import daemons, layout
from stithy.cluster.faults import FAULTS
from stithy.cluster.layout import ask_ceph
from stithy.drives.bridge import list_loops
from stithy.errors import Exit
from stithy.hosts import links
from stithy.hosts.devices import list_mounts
from stithy.hosts.host import NAMESPACES, NamespaceHost
from stithy.hosts.processes import PROC, find_pids_inside
from stithy.hosts.runner import Command
from stithy.results.layout import RunDirectory
from support.running import Stithy, entries, left_by, wait_for

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_ceph]

UP_S, DOWN_S = 120.0, 60.0

SMALL = ("--hosts", "2", "--size", "256MiB")


def _folder(stithy: Stithy) -> Path | None:
    return next(iter(stithy.state.glob("clusters/[!.]*")), None)


def _tag(stithy: Stithy) -> str | None:
    folder = _folder(stithy)
    entry = layout.read_entry(folder) if folder else None
    return entry.tag if entry else None


def _left(stithy: Stithy, tag: str | None) -> list[str]:
    """Everything that is there of this state's clusters."""
    state = str(stithy.state.resolve())
    left = [f"process {path}" for path in PROC.glob("[0-9]*") if _cwd(path).startswith(state)]
    left += [str(each) for each in stithy.state.glob("*/*")]
    left += [str(mount.point) for mount in list_mounts() if str(mount.point).startswith(state)]
    left += [str(each) for each in daemons.list_tags().values() if str(each).startswith(state)]
    if tag is not None:
        places = (links.INTERFACES, NAMESPACES, Path("/run"), Path("/dev/shm"))
        left += [str(each) for place in places for each in place.glob(f"*{tag}*")]
    left += [str(each) for each in Path("/sys/block").glob("loop*/loop/backing_file")
             if _text(each).startswith(state)]  # fmt: skip
    return left


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _cwd(process: Path) -> str:
    try:
        return os.readlink(process / "cwd")
    except OSError:
        return ""


def _json(stithy: Stithy, *words: str) -> Any:
    finished = stithy.run("cluster", *words, "--json")
    assert finished.returncode == Exit.OK, finished.stderr
    return json.loads(finished.stdout)


def _until_healthy(stithy: Stithy) -> dict[str, Any]:
    until_s = time.monotonic() + UP_S
    while (told := _json(stithy, "status", "lab")[0])["health"] != "healthy":
        assert time.monotonic() < until_s, told
        time.sleep(0.5)
    return dict(told)


def test_a_cluster_by_hand_is_mended(stithy: Stithy) -> None:
    """Its volume keeps what was written while an OSD is dead, and nothing is left at the end."""
    begun_s = time.monotonic()
    up = _json(stithy, "up", "--name", "lab", *SMALL)
    assert time.monotonic() - begun_s <= UP_S
    assert (up["hosts"], up["osds"], up["min_size"], up["whole"]) == (2, 2, 1, True)
    tag, folder, file = _tag(stithy), _folder(stithy), Path(up["path"]) / "file"
    assert folder is not None
    shown = ask_ceph(folder, "osd", "pool", "ls", "detail", "--format", "json")
    pools = {load["pool_name"]: load for load in json.loads(shown)}
    kept = pools[layout.POOL]
    assert (kept["type"], kept["size"], kept["min_size"]) == (1, 2, 1)
    assert stithy.run("clean").stdout == "Nothing to clean.\n"
    assert len(_until_healthy(stithy)["osd"]) == 2
    _json(stithy, "fault", "lab", "osd-killed", "1")
    file.write_bytes(data := os.urandom(2**20))
    descriptor = os.open(file, os.O_RDONLY)
    os.fsync(descriptor)  # the last copy serves
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    told = _json(stithy, "status")[0]
    assert told["health"] == "degraded: 1 of 2 OSDs serve"
    assert [each["state"] for each in told["osd"]] == ["active", "stopped"]
    _json(stithy, "fault", "lab", "heal")
    assert sum(each["recovered"] for each in _until_healthy(stithy)["osd"]) > 0
    assert file.read_bytes() == data
    _json(stithy, "fault", "lab", "host-link-down", "2")
    assert _json(stithy, "status")[0]["osd"][1]["state"] == "cut off"
    begun_s = time.monotonic()
    assert _json(stithy, "down") == {"down": ["lab"]}
    assert time.monotonic() - begun_s <= DOWN_S
    assert _left(stithy, tag) == []


@pytest.mark.long
@pytest.mark.needs_packet_filter
def test_each_fault_of_a_cluster_is_healed(stithy: Stithy) -> None:
    """What is written meanwhile, and what was written before, is there when it is whole again.

    Long: a cluster recovers from each of them.
    """
    up = _json(stithy, "up", "--name", "lab", "--size", "256MiB", "--heartbeat-grace", "4s")
    folder, place = _folder(stithy), Path(up["path"])
    assert folder is not None
    kept: dict[str, bytes] = {}
    for fault in FAULTS.values():
        options = ["--share", "30%"] if "share" in fault.takes else []
        _json(stithy, "fault", "lab", fault.name, "2" if fault.of == "host" else "1", *options)
        rules = _list_rules(folder, 2)
        assert ("DROP" in rules) is bool(fault.takes), fault.name
        assert _has_power(folder) is (fault.name != "host-off"), fault.name
        kept[fault.name] = os.urandom(2**20)
        with ThreadPoolExecutor() as pool:
            written = pool.submit(_write, place / fault.name, kept[fault.name])
            time.sleep(1)
            _json(stithy, "fault", "lab", "heal")
            written.result()
        _until_healthy(stithy)
        assert "DROP" not in _list_rules(folder, 2), fault.name
        Path("/proc/sys/vm/drop_caches").write_text("1")
        for name, data in kept.items():
            assert (place / name).read_bytes() == data, (fault.name, name)
    _json(stithy, "down")


def _has_power(folder: Path) -> bool:
    """Whether the drive of an OSD of host 2 answers, whatever its daemon does."""
    descriptor = os.open(layout.list_devices(folder, 1)[0], os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 4096) as buffer:
            return os.preadv(descriptor, [buffer], 0) == 4096
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _list_rules(folder: Path, host: int) -> str:
    entry = layout.read_entry(folder)
    assert entry is not None
    inside = NamespaceHost(entry.name_namespace(host)).runner
    words = [layout.find_program("iptables"), "-w", "-S"]
    return inside.run(Command(argv=words), timeout_s=10).stdout


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        os.fsync(file.fileno())


def _monitored(stithy: Stithy) -> object:
    folder = _folder(stithy)
    return folder and find_pids_inside(folder, "ceph-mon")


def _bridged(stithy: Stithy) -> object:
    tag = _tag(stithy)
    return tag and (links.INTERFACES / f"sc{tag}").exists()


def _serving(stithy: Stithy) -> object:
    folder = _folder(stithy)
    return folder and len(list(folder.glob("osd.*.asok"))) == 2


def _attached(stithy: Stithy) -> object:
    folder = _folder(stithy)
    return folder and list_loops(folder / "device")


MOMENTS: dict[str, Callable[[Stithy], object]] = {
    "drives are coming": lambda of: list(of.state.glob("drives/*")),
    "its folder is there": _folder,
    "its bridge is there": _bridged,
    "its monitor has started": _monitored,
    "its OSDs serve": _serving,
    "its image is a device": _attached,
}


@pytest.mark.parametrize(
    "moment",
    [each if each == "its OSDs serve" else pytest.param(each, marks=pytest.mark.long)
     for each in MOMENTS],
)  # fmt: skip
def test_a_half_raised_cluster_is_removed(stithy: Stithy, moment: str) -> None:
    """`stithy doctor` names it, `stithy clean` removes it within its time."""
    tags: list[str | None] = []

    def has_come() -> object:
        tags.append(_tag(stithy))
        return MOMENTS[moment](stithy)

    stithy.kill(has_come, "cluster", "up", "--name", "lab", *SMALL)
    tags.append(_tag(stithy))
    doctor = json.loads(stithy.run("doctor", "--json").stdout)
    assert [each["what"] for each in doctor["left"]] == ["cluster lab"]
    _clean(stithy, tags[-1])


@pytest.mark.long
@pytest.mark.parametrize("lost", ["nothing", "entry", "register", "folder's entry and register"])
def test_a_cluster_without_books_is_removed(stithy: Stithy, lost: str) -> None:
    """It is killed as a whole: all daemons at once, or only its books are gone."""
    point = Path(_json(stithy, "up", "--name", "lab", *SMALL)["path"])
    tag, folder = _tag(stithy), _folder(stithy)
    assert folder is not None
    if lost == "nothing":
        for program in ("ceph-mon", "ceph-osd", "qemu-storage-daemon", "nbdfuse"):
            for pid in find_pids_inside(folder, program):
                os.kill(pid, signal.SIGKILL)
    if "entry" in lost:
        (folder / layout.ENTRY).unlink()
    if "register" in lost:
        for path in (stithy.state / "runs").iterdir():
            path.unlink()
    if lost == "entry":
        assert stithy.run("cluster", "down", "lab").returncode == Exit.OK
    _clean(stithy, tag)
    assert not point.parent.exists()


@pytest.mark.long
def test_a_half_removed_cluster_is_removed(stithy: Stithy) -> None:
    """At the moment when its daemons are ended, or its network is."""
    _json(stithy, "up", "--name", "lab", *SMALL)
    tag, folder = _tag(stithy), _folder(stithy)
    assert folder is not None
    process = stithy.start("cluster", "down", "lab")
    wait_for(lambda: not list_loops(folder / "device"), process)
    process.kill()
    process.communicate()
    _clean(stithy, tag)


BLOCK_IO = """study: What does this image do?
candidates: {{one: {{ceph: {ceph}}}}}
scenario:
  block-io: {{profiles: [oltp-8k], size: 32 MiB, verify: true, ramp_up: 0 s, duration: 2 s,
             repeat: 1}}
"""


@pytest.mark.long
def test_an_existing_cluster_lends_an_image(stithy: Stithy, place: Path) -> None:
    """After a run and after one that was killed; the cluster itself is left alone."""
    up = _json(stithy, "up", "--name", "lab", *SMALL)
    (place / "s.yaml").write_text(BLOCK_IO.format(ceph=f"{{conf: {up['conf']}, pool: volumes}}"))
    out, killed = place / "out", place / "killed"
    stithy.run_well("run", place / "s.yaml", "--out", out)
    assert left_by(out) == []
    series = pl.concat(map(pl.read_parquet, (out / "windows").glob("w-*/series.parquet")))
    writes = series.filter(pl.col("collector") == "cluster", pl.col("metric") == "write_latency_s")
    assert set(writes["subject"]) == {"volumes"}
    assert all(each > 0 for each in writes["value"].drop_nulls().to_list())
    assert writes["value"].drop_nulls().len() > 0
    journal = RunDirectory(killed).journal
    stithy.kill(
        lambda: journal.exists() and entries(killed, "creating", kind="mount"),
        "run", place / "s.yaml", "--out", killed,
    )  # fmt: skip
    assert stithy.run("clean").returncode == Exit.OK
    assert left_by(killed) == []
    assert _json(stithy, "status")[0]["health"] == "healthy"
    tag = _tag(stithy)
    _json(stithy, "down")
    assert _left(stithy, tag) == []


@pytest.mark.long
@pytest.mark.parametrize(("times", "moment"), [(1, "its OSDs serve"), (2, "its bridge is there")])
def test_ctrl_c_removes_a_rising_cluster(
    stithy: Stithy, place: Path, times: int, moment: str
) -> None:
    """The first one lets the step end, the second ends it at once."""
    (place / "s.yaml").write_text(BLOCK_IO.format(ceph="{hosts: 2}"))
    process = stithy.start("run", place / "s.yaml", "--out", place / "out")
    wait_for(lambda: MOMENTS[moment](stithy), process)
    tag, begun_s = _tag(stithy), time.monotonic()
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)  # two of one kind at a time count once
    _, said = process.communicate()
    assert process.returncode == Exit.INTERRUPTED, said
    assert time.monotonic() - begun_s <= (UP_S if times == 1 else 0) + DOWN_S
    assert left_by(place / "out") == []
    assert _left(stithy, tag) == []


def _clean(stithy: Stithy, tag: str | None) -> None:
    begun_s = time.monotonic()
    cleaned = stithy.run("clean")
    assert cleaned.returncode == Exit.OK, cleaned.stdout + cleaned.stderr
    assert time.monotonic() - begun_s <= DOWN_S
    assert _left(stithy, tag) == []
