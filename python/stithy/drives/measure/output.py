"""What fio wrote, as an answer: a pure function of its json+ output.

A sample, much shortened:

    fio: this platform does not support …
    {
      "fio version" : "fio-3.33",
      "jobs" : [ { "jobname" : "point", "error" : 0,
                   "read" : { "total_ios" : 2, "io_bytes" : 8192, "runtime" : 1000, "iops_max" : 2,
                              "bw_max" : 8, "lat_ns" : { "mean" : 75.5, "N" : 2,
                              "bins" : { "71" : 1, "80" : 1 } } },
                   "sync" : { "lat_ns" : { "N" : 0 } } } ]
    }
"""

import json
from collections.abc import Mapping
from typing import Any

from stithy.drives.measure.measurement import Answer, Histogram, Served
from stithy.drives.measure.points import Point
from stithy.errors import InfrastructureError

MS_PER_S = 1000.0
NS_PER_S = 1e9


def parse(text: str, point: Point, where: str) -> Answer:
    """The answer to a point; `where` names what was measured in messages.

    Raises InfrastructureError where fio failed, or its output lacks what was asked for.
    """
    document, around = _document(text, where)
    job = document["jobs"][0]
    if job["error"] or document.get("global error"):
        raise _failed(f"fio failed: {around or job['error']}", where)
    runtime_s = max(job[kind]["runtime"] for kind in ("read", "write")) / MS_PER_S
    answer = Answer(
        read=_served(job["read"], job["read"]["lat_ns"], runtime_s),
        write=_served(job["write"], job["write"]["lat_ns"], runtime_s),
        flush=_served({}, job["sync"]["lat_ns"], runtime_s),
    )
    asked = {
        "read": point.read_share > 0,
        "write": point.read_share < 1,
        "flush": point.flushed_every > 0,
    }
    for kind, is_asked in asked.items():
        if is_asked and getattr(answer, kind) is None:
            problem = f"fio told no histogram of {kind} for {point.name}"
            raise _failed(f"{problem}{f': {around}' if around else ''}", where)
    return answer if point.flushed_every else answer.model_copy(update={"flush": None})


def _document(text: str, where: str) -> tuple[Mapping[str, Any], str]:
    """The JSON document in fio's output, and what fio said around it."""
    begin = 0 if text.startswith("{\n") else text.find("\n{\n") + 1
    try:
        document, end = json.JSONDecoder().raw_decode(text, begin)
        around = f"{text[:begin].strip()} {text[end:].strip()}".strip()
        if document["jobs"]:
            return document, around
    except (ValueError, KeyError, TypeError) as error:
        raise _failed(f"fio wrote no result: {text.strip()[:300]!r}", where) from error
    raise _failed(f"fio measured nothing: {around}", where)


def _served(
    counters: Mapping[str, Any], latency: Mapping[str, Any], runtime_s: float
) -> Served | None:
    """None where there were none."""
    bins = {int(time_ns): count for time_ns, count in latency.get("bins", {}).items() if count}
    if not bins or runtime_s <= 0:
        return None
    counted = sum(bins.values())
    histogram = Histogram(
        counts_by_ns=dict(sorted(bins.items())), sum_s=latency["mean"] / NS_PER_S * counted
    )
    moved_bytes = counters.get("io_bytes", 0)
    return Served(
        latency=histogram,
        moved_bytes=moved_bytes,
        duration_s=runtime_s,
        # Half seconds that are not over are not told; short runs have none at all.
        iops_max=max(counters.get("iops_max", 0), counted / runtime_s),
        bytes_per_s_max=max(counters.get("bw_max", 0) * 1024.0, moved_bytes / runtime_s),
    )


def _failed(problem: str, where: str) -> InfrastructureError:
    return InfrastructureError(
        problem,
        where=where,
        remedy="look in the kernel's log for errors of the device, then measure again",
    )
