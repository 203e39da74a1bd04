"""What is worked out of samples and histograms: means, weights, percentiles, curves, cells."""

from collections.abc import Mapping, Sequence

import polars as pl
import pytest

from stithy.analysis.measures import Value, measure_percentile_of_drives, measure_series
from stithy.analysis.series import Sampled, sample_run
from stithy.metrics import map_weights, parse_quantity
from stithy.results.hlog import LoggedHistogram
from stithy.results.tables import SERIES, STOPPED, make_schema
from support.hlog import histogram
from support.points import at

WINDOWS = pl.DataFrame({
    "window_id": ["w", "v"], "candidate": "a", "point": "users=4", "block": [0, 1],
    "measure_from_s": 100.0, "measure_to_s": 104.0,
})  # fmt: skip
Series = Mapping[tuple[str, str, str], Sequence[float | None]]


def samples(series: Series, window: str = "w", instance: str = "") -> pl.DataFrame:
    """Of (collector, subject, metric), a value each second from the measurement's first on."""
    rows = [
        {"window_id": window, "at_s": 101.0 + at, "second": float(at), "collector": collector,
         "instance": instance, "subject": subject, "metric": metric, "unit": "", "value": value,
         "missing_because": None if value is not None else f"{STOPPED}it fell"}
        for (collector, subject, metric), values in series.items()
        for at, value in enumerate(values)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=make_schema(SERIES))


LATENCY: Series = {
    ("block", "vda", "reads_per_s"): [9.0, None, 1.0, 0.0],
    ("block", "vda", "read_latency_s"): [0.01, 0.5, 0.2, 0.7],
}
PARTS: Series = {
    ("drive", "sata.data:read", "answers_per_s"): [5.0],
    ("drive", "sata.log:read", "answers_per_s"): [1.0],
    ("drive", "sata.log:write", "answers_per_s"): [7.0],
}
CPUS: Series = {("cpu", "", "user_share"): [0.4], ("cpu", "server", "user_share"): [0.9]}
TWO: Series = {("block", "a", "queue_length"): [3.0], ("block", "b", "queue_length"): [8.0]}


@pytest.mark.parametrize(("series", "quantity", "number"), [
    (CPUS, "cpu.user_share", 0.4), (CPUS, "cpu.user_share of server", 0.9),
    (PARTS, "drive.answers_per_s of read", 6.0), (PARTS, "drive.answers_per_s of log", 8.0),
    (PARTS, "drive.answers_per_s", 13.0), (TWO, "block.queue_length", 8.0),
    (LATENCY, "block.read_latency_s", 0.029), (LATENCY, "block.reads_per_s", 10 / 3),
    (LATENCY, "block.reads_per_s of vdb", None), (PARTS, "cpu.user_share", None),
    ({("block", "vda", "reads_per_s"): [8.0] * 4 + [99.0]}, "block.reads_per_s", 8.0),
])  # fmt: skip
def test_a_quantity_is_the_mean_of_its_samples(
    series: Series, quantity: str, number: float | None
) -> None:
    """The whole before its parts, sums or the largest of several, latencies by their requests."""
    kept = sample_run([samples(series)], WINDOWS, map_weights())
    found = measure_series(kept, parse_quantity(quantity)).windows.get("w", Value(None))
    assert found.number == (None if number is None else pytest.approx(number))


def _of_tenants() -> Sampled:
    """Two tenants whose servers differ in everything, on one machine, in window `w`."""
    first: Series = {
        ("database", "", "commits_per_s"): [10.0], ("database", "Lock", "waiting_sessions"): [1.0],
        ("database", "CPU", "waiting_sessions"): [2.0], LAST: [50.0],
    }  # fmt: skip
    second: Series = {
        ("database", "", "commits_per_s"): [90.0], ("database", "Lock", "waiting_sessions"): [7.0],
        LAST: [101.0, 103.0], ("cgroup", "", "used_bytes"): [None],
    }  # fmt: skip
    sampler: Series = {("sampler", "", "cpu_s"): [0.25]}
    asking: Series = {("sampler", "database", "cpu_s"): [0.5]}
    parts = [samples(CPUS), samples(sampler), samples(asking, "w", "tenant-1"),
             samples(first, "w", "tenant-1"), samples(second, "w", "tenant-2")]  # fmt: skip
    return sample_run([pl.concat(parts)], WINDOWS, map_weights())


LAST = ("database", "", "last_checkpoint_at_s")


@pytest.mark.parametrize(("quantity", "number"), [
    ("database.commits_per_s of tenant-1", 10.0), ("database.commits_per_s of tenant-2", 90.0),
    ("database.waiting_sessions of tenant-1", 3.0),
    ("database.waiting_sessions of tenant-1:Lock", 1.0),
    ("database.waiting_sessions of tenant-2:Lock", 7.0),
    ("database.waiting_sessions of tenant-2:CPU", None),
    ("database.commits_per_s of tenant-3", None), ("database.commits_per_s", None),
    ("database.waiting_sessions of Lock", None), ("cpu.user_share", 0.4),
    ("sampler.cpu_s", 0.25),
])  # fmt: skip
def test_a_tenant_has_the_samples_of_its_own_server_and_no_others(
    quantity: str, number: float | None
) -> None:
    """Without a name there is no value, and a reason; the machine's are as ever."""
    asked = parse_quantity(quantity)
    found = measure_series(_of_tenants(), asked).windows.get("w", Value(None))
    assert found.number == number
    assert (found.missing_because is not None) == (asked.of is None and number is None)


def test_samples_of_tenants_are_in_no_table_of_the_whole() -> None:
    """No mean, no checkpoint of a tenant stands where a window's only server would."""
    kept = _of_tenants()
    assert set(kept.means["collector"]) == {"cpu", "sampler"}
    assert kept.checkpoints.is_empty()
    assert kept.of_instances.filter(instance="tenant-2", metric="commits_per_s")["mean"][0] == 90.0
    assert kept.ended.select("collector", "instance").rows() == [("cgroup", "tenant-2")]


def test_missing_samples_are_left_out_and_parts_give_what_the_whole_gives() -> None:
    """Read some windows at a time or all at once; without samples there are empty tables."""
    one, other = samples(LATENCY), samples({**LATENCY, **CPUS}, "v")
    parts = sample_run([other, one], WINDOWS, map_weights())
    whole = sample_run([pl.concat([one, other])], WINDOWS, map_weights())
    for name in ("means", "weighted", "seen", "ended", "checkpoints"):
        assert getattr(parts, name).equals(getattr(whole, name)), name
    row = parts.means.filter(window_id="w", metric="reads_per_s").row(0, named=True)
    assert (row["mean"], row["maximum"], row["samples"]) == (pytest.approx(10 / 3), 9.0, 3)
    assert parts.seen.to_dicts()[1] == {"window_id": "w", "seconds": 4, "steal_share": None}
    assert parts.ended["window_id"].to_list() == ["v", "w"]
    for some, windows in (([], WINDOWS), ([one.clear()], WINDOWS), ([one], WINDOWS.clear())):
        none = sample_run(some, windows, map_weights())
        assert none.means.is_empty()
        assert none.weighted.is_empty()


def test_of_checkpoints_each_beginning_is_kept_when_it_was_told_first() -> None:
    """And the seconds in which one wrote; nothing of other collectors."""
    began, wrote = "last_checkpoint_at_s", "checkpoint_buffers_per_s"
    shown: Series = {
        ("database", "", began): [50.0, 50.0, None, 102.0], ("block", "", began): [1.0],
        ("database", "", wrote): [None, 0.0, 7.0], ("database", "", "commits_per_s"): [9.0],
    }  # fmt: skip
    kept = sample_run([samples(shown)], WINDOWS, {}).checkpoints
    assert kept.select("metric", "value", "at_s").rows() == [
        (wrote, 7.0, 103.0), (began, 50.0, 101.0), (began, 102.0, 104.0),
    ]  # fmt: skip


FAST, SLOW = histogram(*[1000] * 10_000), histogram(*[2000] * 10_000)


def test_a_percentile_of_drives_is_that_of_the_slowest_and_merged_where_all_have_one() -> None:
    """Unless a role is named; part of the windows would be a distribution of something else."""
    asked = parse_quantity("drive.read_p99")
    windows: dict[str, dict[str, LoggedHistogram]] = {
        "w": {"data": FAST, "log": SLOW}, "few": {"data": histogram(*[1000] * 9999)}, "none": {},
    }  # fmt: skip
    cells = {("a", at(4)): ["w"], ("b", at(4)): ["w", "none"]}
    found = measure_percentile_of_drives(windows, cells, asked)
    assert found.windows["w"].number == SLOW.percentile_s(99)
    assert found.levels == {("a", at(4)): SLOW.percentile_s(99)}
    assert found.windows["none"] == Value(None, "no read was answered by an emulated drive")
    assert "needs 10,000 values in each window, and one window has 9,999" in str(
        found.windows["few"].missing_because
    )
    of_data = parse_quantity("drive.read_p99 of data")
    assert measure_percentile_of_drives(windows, {}, of_data).windows[
        "w"
    ].number == FAST.percentile_s(99)
    several = {"w": {"data-1": FAST, "data-2": SLOW, "log": histogram(*[4000] * 10_000)}}
    assert measure_percentile_of_drives(several, {}, of_data).windows[
        "w"
    ].number == SLOW.percentile_s(99)
