"""Clusters are sampled per OSD, host and pool, and as a whole."""

from typing import Any

import pytest

from stithy.cluster.layout import POOL, ClusterEntry
from stithy.collectors.cluster import NO_CLIENT, SILENT_AMONG, Reading, sample_cluster, sample_osds

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
