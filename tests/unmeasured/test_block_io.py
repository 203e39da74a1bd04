"""Block I/O from study to report, by the real fio on a directory: cut off, resumed, reported."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest

from fakes.agents import FakeAgents
from stithy.activities.hammer.report import list_agents
from stithy.analysis.evidence import Evidence
from stithy.cli.app import run
from stithy.clock import SystemClock
from stithy.errors import InfrastructureError, InvalidMeasurement
from stithy.metrics import Quantity
from stithy.report.context import Context, make_context
from stithy.results.files import read_run
from stithy.run.events import StepStarted
from stithy.run.session import Stop
from stithy.scenarios.block_io.report.seconds import sum_io_seconds
from support.faked_run import FakedRun
from support.places import DISK, a_place
from support.reported import write_undrawn_report

pytestmark = pytest.mark.usefixtures("own_state")

TEXT = """study: What does this directory do?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
scenario:
  block-io: {profiles: [sql, commit-log/one-writer], size: 16 MiB, ramp_up: 0 s, duration: 2 s,
             repeat: 1}
"""


@pytest.fixture
def disk() -> Iterator[Path]:
    """A directory on a disk, where direct I/O works."""
    if shutil.which("fio") is None:
        pytest.skip("fio was not found: install fio")
    with a_place(DISK) as place:
        yield place


def _faked(text: str, disk: Path, results: Path) -> FakedRun:
    """A run whose candidates are on a disk, and whose results are not: each is synced."""
    return FakedRun(results, text=text.replace("{root}", str(disk)), clock=SystemClock())


def _run_cut_at_third_window(faked: FakedRun) -> list[str]:
    """Run to the third window, resume to the end, and return what began before."""
    started: list[str] = []

    def stop_at_the_third(event: object) -> None:
        if isinstance(event, StepStarted) and event.step.kind == "window":
            started.append(event.step.id)
            if len(started) == 3:
                faked.stop.signal()

    faked.on_event = stop_at_the_third
    assert faked.run().end == "interrupted"
    faked.on_event, faked.stop = lambda event: None, Stop()
    assert faked.resume().end == "finished"
    return started


SWEEP = """study: What does each rate cost?
candidates: {a: {path: "{root}/a"}, b: {path: "{root}/b"}}
scenario:
  block-io: {profiles: [four-corners/random-read-4k], rate: ["0.5%", "1%", "200%"], stop_at: 1 us,
             size: 16 MiB, threads: 1, queue_depth: 1, workers: 2, ramp_up: 0 s, duration: 1 s,
             repeat: 1}
"""


def test_a_cut_sweep_keeps_its_maxima(disk: Path, tmp_path: Path) -> None:
    """Each candidate's rates are shares of its own; beyond stop_at higher ones are left out."""
    faked = _faked(SWEEP, disk, tmp_path)
    _run_cut_at_third_window(faked)
    evidence = make_context(read_run(faked.out)).evidence
    found = {(window.candidate, window.point.values["rate"]): window for window in evidence.windows}
    assert set(found) == {(name, rate) for name in "ab" for rate in ("max", "0.5%")}
    for name in "ab":
        maximum = found[name, "max"].values["fio.iops", "all"]["value"]
        asked = found[name, "0.5%"].values["fio.asked_iops", "all"]["value"]
        assert asked == pytest.approx(0.005 * maximum)


VERIFIED = """study: Is everything there that was written?
candidates: {b: {path: "{root}/b"}}
scenario:
  block-io: {profiles: [oltp-8k], size: 16 MiB, verify: true, submission: {submission},
             rate: [300], ramp_up: 0 s, duration: 1 s, repeat: 1}
"""


@pytest.mark.parametrize(("fault", "said"), [
    ("damaged", "a block is not what was written there"),
    ("lost", "older than what was written there last"),
])  # fmt: skip
def test_damaged_or_lost_blocks_fail_the_study(
    disk: Path, tmp_path: Path, fault: str, said: str
) -> None:
    """By checksums and generations, after the last window; as an invalid measurement.

    Lost are all writes since the first window: whole blocks, in their places. That nothing is found
    where nothing was done is among what the test of all volumes shows.
    """
    submission = "sync" if fault == "damaged" else "async"
    faked = _faked(VERIFIED.replace("{submission}", submission), disk, tmp_path)
    before: list[bytes] = []

    def spoil(event: object) -> None:
        if not isinstance(event, StepStarted):
            return
        targets = list((disk / "b").rglob("target"))
        if event.step.kind == "window" and fault == "lost" and not before:
            before.append(targets[0].read_bytes())
        if event.step.id == "read-back-b":
            with targets[0].open("r+b") as file:
                file.seek(0 if before else 5 * 4096)
                file.write(before[0] if before else b"x" * 512)

    faked.on_event = spoil
    outcome = faked.run()
    assert isinstance(outcome.error, InvalidMeasurement)
    assert said in str(outcome.error)
    assert not any((disk / name).exists() for name in "ab")


FULL = """study: What becomes of a disk that fills up?
candidates: {a: {path: "{root}/small/a"}, b: {path: "{root}/b"}}
scenario:
  block-io: {profiles: [sql], size: 32 MiB, ramp_up: 0 s, duration: 1 s, repeat: 1}
"""


@pytest.mark.needs_root
def test_a_filled_disk_ends_the_run(disk: Path) -> None:
    """There was room when the run began; others take it. The message says where, and what helps."""
    small = disk / "small"
    small.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=192m", "tmpfs", str(small)]
    if subprocess.run(words, capture_output=True).returncode:
        pytest.skip("this root may not mount")
    try:
        faked = FakedRun(disk, text=FULL, clock=SystemClock())

        def fill(event: object) -> None:
            if isinstance(event, StepStarted) and event.step.id == "lay-out-a":
                left = shutil.disk_usage(small).free - 8 * 2**20
                (small / "of-others").write_bytes(bytes(left))

        faked.on_event = fill
        outcome = faked.run()
        assert isinstance(outcome.error, InfrastructureError)
        assert "No space left on device" in str(outcome.error)
        assert "make room" in outcome.error.remedy
        assert [path.name for path in small.iterdir()] == ["of-others"]
        assert not (disk / "b").exists()
    finally:
        subprocess.run(["umount", str(small)], check=True)


REPLAY = """study: What does our I/O get here?
candidates: {a: {path: "{root}/a"}}
scenario:
  block-io: {profiles: ["{root}/db.iolog"], size: 16 MiB, ramp_up: 0 s, duration: 2 s, repeat: 1}
"""


def test_a_trace_is_a_profile_with_times(
    disk: Path, tmp_path: Path, undrawn: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """From study to report; what was asked is what the trace has in the time of the window."""
    lines = [f"{i * 5000} /x {'write' if i % 4 else 'read'} {i * 8192} 8192" for i in range(400)]
    (disk / "db.iolog").write_text("\n".join(["fio version 3 iolog", *lines]))
    faked = _faked(REPLAY, disk, tmp_path)
    assert faked.run().end == "finished"
    for window in make_context(read_run(faked.out)).evidence.windows:
        of = {name: window.values[f"fio.{name}", "all"]["value"] for name in
              ("iops", "asked_iops", "bytes_per_s", "cpu_s")}  # fmt: skip
        assert of["asked_iops"] == pytest.approx(200, rel=0.02)
        assert of["bytes_per_s"] == pytest.approx(8192 * of["iops"], rel=1e-6)
        assert of["cpu_s"] is None or of["cpu_s"] > 0  # fio counts no time of so few requests
    assert run(["report", str(faked.out), "--format", "md,json"]) == 0
    capsys.readouterr()


SEVERAL = """study: What do three volumes at once?
candidates:
  a: {path: "{root}/a", roles: {log: {path: "{root}/log"}}}
  b: {path: "{root}/b"}
scenario:
  block-io: {profiles: [oltp-8k], volumes: [data, data, log], workers: 2, threads: 2,
             size: 16 MiB, verify: true, ramp_up: 0 s, duration: 2 s, repeat: 1}
"""


FILES = {
    "a": {"a/data/target", "a/data/target-2", "log/log/target"},
    "b": {"b/data/target", "b/data/target-2", "b/log/target"},
}


def _targets(window: Path, root: Path) -> set[str]:
    """The files that a window's job files name, below the directory of the test."""
    jobs = window.glob("fio/run/*/job.fio")
    words = [line for job in jobs for line in job.read_text().splitlines()]
    files = (word.partition("=")[2] for word in words if word.startswith("filename="))
    return {str(Path(file).relative_to(root)) for file in files}


def test_all_volumes_are_used_at_once(disk: Path, tmp_path: Path) -> None:
    """What fio's own documents of all volumes count is what the histograms hold."""
    faked = _faked(SEVERAL, disk, tmp_path)
    assert faked.run().end == "finished"
    context = make_context(read_run(faked.out))
    assert len(context.evidence.windows) == 2
    for window in context.evidence.windows:
        root = faked.out / "windows" / window.id
        assert _targets(root, disk) == FILES[window.candidate]
        texts = [path.read_text() for path in root.glob("fio/run/*/fio.json")]
        assert len(texts) == 6
        (sides,) = zip(*([json.loads(text)["jobs"][0]] for text in texts), strict=True)
        own = [side[way]["lat_ns"]["bins"] for side in sides for way in ("read", "write")]
        counted = sum(sum(each.values()) for each in own)
        kept = pl.read_parquet(root / "histograms.parquet").filter(pl.col("transaction") == "all")
        assert kept["count"].sum() == counted > 0
        assert window.values["fio.iops", "all"]["count"] == counted
        volumes = context.run.detail("io_volumes", window.id).to_dicts()
        whole = [volume for volume in volumes if volume["operation"] == "all"]
        assert [each["volume"] for each in whole] == ["data", "data-2", "log"]
        assert sum(each["requests"] for each in whole) == counted
        assert min(each["iops"] for each in whole) > 0
        (stream,) = context.run.detail("io_streams", window.id).to_dicts()
        assert (stream["engine"], stream["submitters"], stream["outstanding"]) == ("psync", 12, 12)
        assert window.values["fio.outstanding", "all"]["value"] == 12
        # Those who wait for a CPU ask for nothing.
        assert 4 < window.values["fio.in_flight", "all"]["value"] < 1.15 * 12
        seconds = pl.read_parquet(root / "io_seconds.parquet")["requests"].sum()
        # A submitter's rates are cut off to whole requests, and its last second may have no row.
        assert 0 < seconds < 1.01 * counted
    (written,) = write_undrawn_report(faked.out, ("json",))
    document = json.loads(written.read_text())
    shown = document["sections"]["volumes"]["tables"]["volumes"]
    assert {each["volume"] for each in shown} == {"data", "data-2", "log"}
    assert not any((disk / name).exists() for name in ("a", "b", "log"))


BY_AGENTS = """study: What do three hosts together?
candidates: {a: {path: "{root}/a"}}
scenario:
  block-io: {profiles: [sql], agents: [h1, h2, h3], workers: 3, size: 16 MiB, ramp_up: 0 s,
             duration: 1 s, repeat: 1}
"""


@pytest.mark.parametrize("lost", [{}, {"h2": "its process ended"}], ids=["whole", "lost"])
def test_agents_run_fio_as_one_host_does(
    disk: Path, tmp_path: Path, lost: Mapping[str, str], undrawn: None
) -> None:
    """Each beside the whole in its row and the report; nothing of a window that lacks one."""
    faked = _faked(BY_AGENTS, disk, tmp_path)
    faked.agents = FakeAgents(faked.hammer, ("h1", "h2", "h3"), lost)
    outcome = faked.run()
    context = make_context(read_run(faked.out))
    window, rows = context.evidence.windows[0], list_agents(context)
    assert [row["missing_because"] for row in rows] == [None, lost.get("h2"), None]
    if lost:
        assert "agent h2: its process ended" in window.row["missing_because"]
        return
    assert outcome.end == "finished"
    detail = context.run.detail("agents", window.id)
    assert detail["requests"].sum() == window.values["fio.iops", "all"]["count"] > 0
    assert len(list((faked.out / "windows" / window.id).glob("fio/run/worker-*/job.fio"))) == 3
    assert min(row["iops"] for row in rows) > 0
    (written,) = write_undrawn_report(faked.out, ("json",))
    assert len(json.loads(written.read_text())["sections"]["agents"]["tables"]["agents"]) == 3
    assert not (disk / "a").exists()


def _identities(evidence: Evidence, outstanding: int) -> None:
    """IOPS x block size = bandwidth, and IOPS x mean latency = requests outstanding."""
    for window in evidence.windows:
        of = {name: window.values[f"fio.{name}", "all"]["value"] for name in
              ("iops", "bytes_per_s", "mean_s")}  # fmt: skip
        assert of["bytes_per_s"] == pytest.approx(8192 * of["iops"], rel=1e-6)
        if window.point.values["profile"] == "sql":
            # Those who wait for a CPU ask for nothing.
            assert outstanding / 3 < of["iops"] * of["mean_s"] < 1.15 * outstanding


def _seconds_are_those_of_the_window(context: Context) -> None:
    """Each request is in one second. Their latencies add up, but for half a request a second.

    So many may be counted in the second beside their own. Here that is far less than 1 %.
    """
    for window in context.evidence.windows:
        known = sum_io_seconds(context.run.detail("io_seconds", window.id).to_dicts())
        mean = window.values["fio.mean_s", "all"]
        assert sum(each.requests for each in known) == mean["count"]
        total_s = sum(each.requests * (each.mean_s or 0.0) for each in known)
        assert total_s / mean["count"] == pytest.approx(mean["value"], rel=0.01)


def test_block_io_is_cut_and_resumed(
    disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every window has rates, percentiles and seconds that agree with each other."""
    faked = _faked(TEXT, disk, tmp_path)
    started = _run_cut_at_third_window(faked)
    context = make_context(read_run(faked.out))
    assert len(context.evidence.windows) == 4
    assert len(set(started[:2])) == 2  # which were measured once
    _identities(context.evidence, outstanding=26)
    first = context.evidence.windows[0]
    seconds = pl.read_parquet(faked.out / "windows" / first.id / "io_seconds.parquet")
    assert seconds["requests"].sum() > 0
    _seconds_are_those_of_the_window(context)
    merged = context.evidence.level_of(first.candidate, first.point, Quantity("fio.p50"))
    own = first.values["fio.p50", "all"]["value"]
    assert merged is None or merged == pytest.approx(own)
    assert run(["report", str(faked.out), "--format", "html,md,json,pdf"]) == 0
    text = (faked.out / "report.md").read_text()
    assert "What was measured" in text
    assert "Second by second" in text
    capsys.readouterr()
    for to in ("csv", "bencher", "go-bench", "openmetrics"):
        assert run(["export", str(faked.out), "--to", to]) in (0, 5)
    assert not any((disk / name).exists() for name in "ab")
