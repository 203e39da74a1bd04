"""Rates, shares and levels from two readings: of the kernel, drives, clusters and servers."""

from pathlib import Path
from typing import Any

import pytest

from fakes.clock import FakeClock
from stithy.cluster.layout import POOL, ClusterEntry
from stithy.collectors import block, cgroup, cpu, drive, memory, network, pressure, server
from stithy.collectors.cluster import NO_CLIENT, SILENT_AMONG, Reading, sample_cluster, sample_osds
from stithy.collectors.collector import InstanceScope, LiveCollector, Rates, Sample, Scope
from stithy.hosts.devices import parse_diskstats
from support.captured import captured
from support.drive_counters import counters

Found = dict[tuple[str, str], float | None]


def _values(samples: Any) -> Found:
    return {(each.subject, each.metric): each.value for each in samples}


def _sampled(collector: LiveCollector, between: Any = lambda: None) -> Found:
    """The second sample of a collector; the first only takes the reading."""
    assert list(collector.sample()) == []
    between()
    found = list(collector.sample())
    assert all((each.value is None) == (each.missing_because is not None) for each in found)
    collector.close()
    return _values(found)


IDLE = "8 0 sda 100 0 800 200 100 0 1600 400 0 500 700 10 0 80 20 50 60\n"
BUSY = "8 0 sda 110 0 960 250 140 0 2240 600 0 1500 1700 10 0 80 20 60 70\n"


def _rates(before: str, after: str) -> dict[str, float | None]:
    last, now = (parse_diskstats(text.encode(), [b"sda"])["sda"] for text in (before, after))
    return {each.metric: each.value for each in block.make_samples("sda", last, now, 2.0)}


def test_a_device_has_rates_latencies_queue_and_utilisation() -> None:
    """10 reads of 160 sectors in 50 ms; 40 writes in 200 ms; 10 flushes in 10 ms; in 2 s."""
    expected = {
        "reads_per_s": 5, "read_bytes_per_s": 160 * 512 / 2, "read_latency_s": 0.005,
        "writes_per_s": 20, "write_bytes_per_s": 640 * 512 / 2, "write_latency_s": 0.005,
        "flushes_per_s": 5, "flush_latency_s": 0.001, "queue_length": 0.5,
        "utilisation_share": 0.5,
    }  # fmt: skip
    found = _rates(IDLE, BUSY)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    still = _rates(IDLE, IDLE)
    assert (still["reads_per_s"], still["read_latency_s"]) == (0, None), "no latency is not 0"
    old = _rates(*["8 0 sda 100 0 800 200 100 0 1600 400 0 500 700\n"] * 2)
    missing = (old["flushes_per_s"], old["discards_per_s"], old["writes_per_s"])
    assert missing == (None, None, 0)
    assert all((value or 0) >= 0 for value in _rates(BUSY, IDLE).values()), "made anew"
    line = next(each for each in captured("proc/diskstats").splitlines() if " vda " in each)
    read = parse_diskstats(captured("proc/diskstats").encode(), [b"vda"])
    assert read.keys() == {"vda"}
    assert read["vda"].requests["flush"] == int(line.split()[18])
    assert read["vda"].bytes["write"] == int(line.split()[9]) * 512


def test_the_memory_of_a_group_is_read_in_both_versions(tmp_path: Path) -> None:
    """No limit and no peak are null: `max`, a number near 2**63, a kernel without the file."""
    v2 = {"current": "4096\n", "max": "8192\n", "peak": "5000\n",
          "stat": "anon 1000\nfile 3000\nkernel 96\n"}  # fmt: skip
    v1 = {"usage_in_bytes": "4096\n", "limit_in_bytes": "8192\n", "max_usage_in_bytes": "5000\n",
          "stat": "cache 1\nrss 2\ntotal_cache 3000\ntotal_rss 1000\n"}  # fmt: skip
    for number, (files, limit, peak) in enumerate((
        (v2, 8192, 5000), (v1, 8192, 5000), (v2 | {"max": "max", "peak": ""}, None, None),
        (v2 | {"max": "9223372036854771712", "peak": ""}, None, None),
    )):  # fmt: skip
        group = tmp_path / str(number)
        group.mkdir()
        for name, text in files.items():
            if text:
                (group / f"memory.{name}").write_text(text)
        assert _sampled(cgroup.create(Scope(()), InstanceScope(memory_cgroup=group))) == {
            ("", "used_bytes"): 4096, ("", "limit_bytes"): limit, ("", "peak_bytes"): peak,
            ("", "page_cache_bytes"): 3000, ("", "anonymous_bytes"): 1000,
            ("", "throttled_share"): None,
        }  # fmt: skip


def test_throttled_periods_are_a_share(tmp_path: Path) -> None:
    """Of those in which it ran; without one there is no share. Its memory may be unlimited."""
    stat = tmp_path / "cpu.stat"
    stat.touch()
    collector = cgroup.create(Scope(()), InstanceScope(cpu_cgroup=tmp_path))
    turns: list[float | None] = []
    for periods, throttled in ((10, 2), (30, 7), (30, 7), (40, 7)):
        stat.write_text(f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time 5\n")
        found = {each.metric: each for each in collector.sample()}
        if found:
            turns.append(found["throttled_share"].value)
            assert found["used_bytes"].missing_because == cgroup.NO_MEMORY_GROUP
    assert turns == [0.25, None, 0.0]
    collector.close()


def _cpu(before: str, after: str, cpus: tuple[int, ...] | None = None) -> Found:
    last, now = (cpu.parse_both(text.encode(), cpus) for text in (before, after))
    return _values(
        sample for each in now for sample in cpu.make_samples(each, last[each], now[each], 1.0)
    )


def test_shares_of_cpus_sum_to_one() -> None:
    """A counter that went back counts as nothing; no tick in between is missing, not zero."""
    field = [int(each) for each in captured("proc/stat").splitlines()[0].split()[1:]]
    expected = (*field[:5], field[5] + field[6], field[7])
    assert cpu.parse(captured("proc/stat").encode()) == expected
    found = _cpu("cpu 100 0 0 100 0 0 0 0 0 0\n", "cpu 150 0 0 130 20 0 0 0 0 0\n")
    shares = [found["", f"{state}_share"] for state in ("user", "idle", "iowait")]
    assert shares == [0.5, 0.3, 0.2]
    assert sum(value or 0.0 for value in found.values()) == pytest.approx(1.0)
    back = _cpu("cpu 100 0 0 100 50 0 0 0 0 0\n", "cpu 110 0 0 110 49 0 0 0 0 0\n")
    assert (back["", "iowait_share"], back["", "user_share"]) == (0.0, 0.5)
    same = "cpu 100 0 0 100 0 0 0 0 0 0\n"
    assert set(_cpu(same, same).values()) == {None}
    bound = _cpu(
        "cpu 100 0 0 100 0 0 0 0\ncpu0 50 0 0 50 0 0 0 0\ncpu1 50 0 0 50 0 0 0 0\nintr 5\n",
        "cpu 200 0 0 200 0 0 0 0\ncpu0 50 0 0 150 0 0 0 0\ncpu1 150 0 0 50 0 0 0 0\nintr 5\n",
        (1,),
    )
    assert (bound["", "user_share"], bound["server", "user_share"]) == (0.5, 1.0)
    assert bound["server", "idle_share"] == 0.0


def test_memory_is_told_in_bytes_and_what_a_kernel_lacks_is_absent() -> None:
    """The kernel's kB are KiB; used swap is total less free."""
    found = memory.parse(captured("proc/meminfo").encode())
    assert found.keys() == {metric.name for metric in memory.METRICS}
    assert memory.parse(b"MemFree: 10 kB\n") == {"free_bytes": 10240}
    assert memory.parse(b"SwapTotal: 10 kB\nSwapFree: 4 kB\n") == {"swap_used_bytes": 6144}


def test_interfaces_have_rates_from_their_second_reading(tmp_path: Path) -> None:
    """2000 bytes in 2 s are 1000 B/s; one that came in between has no rate yet."""
    head = "Inter-| Receive | Transmit\n face |bytes ... |bytes ...\n"
    assert "lo" in network.parse(captured("proc/net-dev").encode())
    line = f"{head}  eth0:1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n"
    assert network.parse(line.encode()) == {"eth0": (1000, 10, 3, 2000, 20, 7)}
    (tmp_path / "net").mkdir()
    dev, clock, then = tmp_path / "net/dev", FakeClock(), "2000 4 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    dev.write_text(head + " lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
    collector = network.create(Scope((), proc=tmp_path, clock=clock))

    def later() -> None:
        dev.write_text(f"{head} lo: {then} new: {then}")
        clock.sleep_s(2)

    found = _sampled(collector, later)
    assert (found["lo", "received_bytes_per_s"], found["lo", "received_packets_per_s"]) == (1000, 2)
    assert {subject for subject, _ in found} == {"lo"}


def test_pressure_is_a_share_of_the_time_between_readings(tmp_path: Path) -> None:
    """250 ms waited in 1 s are 0.25; old kernels have no `full` line for the CPU."""
    clock, folder = FakeClock(), tmp_path / "pressure"
    folder.mkdir()

    def write(resource: str, **totals_us: int) -> None:
        lines = (f"{kind} avg10=0.00 avg300=0.00 total={us}\n" for kind, us in totals_us.items())
        (folder / resource).write_text("".join(lines))

    def later() -> None:
        write("io", some=1_250_000, full=100_000)
        clock.sleep_s(1)

    for resource in pressure.RESOURCES:
        write(resource, some=1_000_000, **({} if resource == "cpu" else {"full": 0}))
    found = _sampled(pressure.create(Scope((), proc=tmp_path, clock=clock)), later)
    assert (found["io", "some_share"], found["io", "full_share"]) == (0.25, 0.1)
    assert (found["memory", "some_share"], found["cpu", "full_share"]) == (0, None)


def test_emulated_drives_have_rates_and_means_of_what_was_added() -> None:
    """By drive and operation; none where nothing was answered."""
    before = counters(answered=10, moved_bytes=100, late_answers=1, cpu_s=1.0, latency=(100, 1e-4))
    after = counters(answered=30, moved_bytes=500, late_answers=3, cpu_s=1.5, latency=(300, 3e-4))
    found = _values(drive.make_samples("data", before, after, 2.0))
    expected = {
        ("data:read", "answers_per_s"): 10, ("data:write", "moved_bytes_per_s"): 200,
        ("data", "late_answers_per_s"): 1, ("data", "cpu_share"): 0.25,
        ("data", "queue_length"): 3, ("data:read", "latency_s"): 4e-4,
    }  # fmt: skip
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    still = _values(drive.make_samples("data", after, after, 2.0))
    assert still["data:read", "latency_s"] is None
    clock = FakeClock()
    names = ("data", "log")
    both = Rates(lambda: {name: counters(name) for name in names}, drive.make_samples, clock)
    found = _sampled(both, lambda: clock.sleep_s(1.0))
    assert {subject for subject, _ in found} >= {"data", "log", "data:read", "log:flush"}


LAB = ClusterEntry("lab", None, "abc123", "10.1.2", hosts=2, drives_per_host=2)
Values = dict[tuple[str, str], float | None]


def osd(requests: int, latency_s: float) -> Any:
    """The counters of an OSD after so many writes of that latency."""
    took = {"avgcount": requests, "sum": requests * latency_s}
    none = {"avgcount": 0, "sum": 0.0}
    return {
        "osd": {"op_r": 0, "op_w": requests, "op_r_latency": none, "op_w_latency": took,
                "op_wip": 2, "recovery_ops": requests // 10},
        "bluestore": {"commit_lat": took, "bluestore_stored": 100, "bluestore_allocated": 60},
    }  # fmt: skip


def image(writes: int, latency_s: float) -> Any:
    """The counters of the image's client."""
    took = {"avgcount": writes, "sum": writes * latency_s}
    return {"rd": 0, "wr": writes, "rd_latency": {"avgcount": 0, "sum": 0.0}, "wr_latency": took,
            "active": 3}  # fmt: skip


def reading(*requests: int, client: Any = None, lost: str = "") -> Reading:
    """Two hosts of two OSDs each; those of even number take 10 ms, the others 20 ms."""
    osds = {f"osd.{n}": osd(each, 0.02 if n % 2 else 0.01) for n, each in enumerate(requests)}
    return Reading({**osds, **({lost: None} if lost else {})}, client)


def values(last: Reading, now: Reading) -> Values:
    """By subject and metric, over two seconds."""
    found = sample_cluster(LAB, last, now, 2.0)
    return {(each.subject, each.metric): each.value for each in found}


def test_a_host_is_its_osds_together_and_a_latency_counts_by_requests() -> None:
    """300 writes of 10 ms and 100 of 20 ms take 12.5 ms on average."""
    found = values(reading(0, 0, 0, 0), reading(300, 100, 20, 0))
    assert found["osd.0", "writes_per_s"] == 150
    assert found["host1", "writes_per_s"] == 200
    assert found["host1", "write_latency_s"] == pytest.approx(0.0125)
    assert found["host1", "commit_latency_s"] == pytest.approx(0.0125)
    assert found["host2", "write_latency_s"] == pytest.approx(0.01)
    assert found["host1", "queue_length"] == 4
    assert found["host1", "recovery_per_s"] == 20
    assert found["host1", "allocated_bytes"] == 120
    assert found["osd.3", "write_latency_s"] is None


def test_a_pool_has_the_requests_of_its_image_as_the_client_sees_them() -> None:
    """Its space is that of all copies; without an answer of the client there are no requests."""
    last, now = reading(0, 0, 0, 0, client=image(0, 0)), reading(9, 9, 9, 9, client=image(8, 0.03))
    found = values(last, now)
    assert found[POOL, "writes_per_s"] == 4
    assert found[POOL, "write_latency_s"] == pytest.approx(0.03)
    assert found[POOL, "queue_length"] == 3
    assert (found[POOL, "stored_bytes"], found[POOL, "allocated_bytes"]) == (400, 240)
    silent = sample_cluster(LAB, reading(0, 0, 0, 0), now, 2.0)
    [why] = {each.missing_because for each in silent if each.subject == POOL and each.value is None}
    assert why == NO_CLIENT


def test_what_holds_an_osd_that_does_not_answer_is_not_known() -> None:
    """Its host is null, and so is the whole; other hosts go on."""
    last, now = reading(0, 0, 0, 0), reading(10, 10, 10, 10, lost="osd.3")
    found = values(last, now)
    assert found["host2", "writes_per_s"] is None
    assert found["osd.2", "writes_per_s"] == 5
    assert found["host1", "writes_per_s"] == 10
    [whole] = {each.missing_because for each in sample_osds("", [(1, 1), (1, None)], 2.0)}
    assert whole == SILENT_AMONG
    assert [*sample_osds("", [], 2.0)] == []


TICKS = server.TICKS_PER_S


def _process(proc: Path, pid: int, place: Path, user: int, waited: int = 0) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cwd").unlink(missing_ok=True)
    (folder / "cwd").symlink_to(place)
    numbers = ["S", "1", *["0"] * 9, str(user), "0", str(waited), "0", *["0"] * 4, "7"]
    (folder / "stat").write_text(f"{pid} (postgres: a b) {' '.join(numbers)}\n")


def test_processes_in_the_data_directory_count(tmp_path: Path) -> None:
    """What a child has used goes to the parent that waited for it, and is not lost.

    A server beside it on the volume, and one whose directory's name begins alike, are others.
    """
    proc, volume = tmp_path / "proc", tmp_path / "volume"
    data, other, alike = (volume / name for name in ("data", "restored", "data-2"))
    for each in (data, other, alike):
        each.mkdir(parents=True)
    clock = FakeClock()
    collector = server.sample_server(data, proc, clock)
    _process(proc, 10, data, user=5 * TICKS)
    _process(proc, 11, data / "base", user=1 * TICKS)
    for pid, place in ((12, tmp_path), (13, other), (14, alike)):
        _process(proc, pid, place, user=0)
    assert collector.sample() == []
    clock.sleep_s(2.0)
    for each in (proc / "11").iterdir():
        each.unlink()
    (proc / "11").rmdir()
    _process(proc, 10, data, user=6 * TICKS, waited=2 * TICKS)
    for pid, place in ((12, tmp_path), (13, other), (14, alike)):
        _process(proc, pid, place, user=100 * TICKS)
    [found] = collector.sample()
    assert found.value == pytest.approx(1.0)


def test_without_a_process_nothing_is_said_to_be_zero(tmp_path: Path) -> None:
    """It is missing, with its reason."""
    (tmp_path / "proc").mkdir()
    collector = server.sample_server(tmp_path, tmp_path / "proc", clock := FakeClock())
    assert collector.sample() == []
    clock.sleep_s(1.0)
    assert collector.sample() == [Sample("", "cpu_share", None, server.NO_PROCESS)]
