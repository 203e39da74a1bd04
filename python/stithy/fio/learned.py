"""An I/O profile learned from requests that storage really served.

Reads, writes, and writes that a flush follows are a stream each: with its sizes, places, share of
random ones, requests under way while it is busy, and those that arrive at once. Rates are told
beside the profile: a database pauses, which a closed loop does not.
"""

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from stithy.errors import UserError
from stithy.fio.profile import format_size, round_percents

Operation = Literal["read", "write", "flush"]
OPERATIONS: tuple[Operation, ...] = ("read", "write", "flush")
REQUESTS_LEAST = 100
"""Own: shares of fewer are chance."""

RARE_SHARE = 0.005
"""Own: what is rarer counts as its nearest neighbour; fio knows whole percents."""

RECENT = 64
"""Own: a request that begins where one of so many before it ended is sequential."""

ZONES = 20
EVEN_POINTS = 2
"""Own: accesses are even where no zone differs from the mean by more percentage points."""

REGION_SHARE_LEAST = 0.01

WRITER_BUSY_MOST = 0.25
"""Own: one that waits for flushes begins no write meanwhile, and fio's own way takes time, too."""

MET_SHARE = 0.25
"""Of a batch that fio gives at once a request meets so many: half of the batch has been served when
its last request arrives. Own, measured (benches/NOTES.md)."""

BATCHED_FROM, MET_LEAST = 3.0, 4.0
"""Own: requests come in batches where they meet more than so many times those that are under way at
any moment, and more than a few. Independent ones meet as many."""


SUBMITTED = "A trace does not say who submitted: jobs that wait, but for batches and sequences."
UNTIMED = (
    "The trace has no latencies: each stream has one request outstanding, so measure it at a rate."
)


class Request(NamedTuple):
    """A request; `latency_s` is None where the trace does not say."""

    arrived_s: float
    operation: Operation
    offset_bytes: int
    length_bytes: int
    latency_s: float | None
    device: str = ""


@dataclass(frozen=True)
class LearnedServed:
    """What storage did of one operation."""

    count: int
    per_s: float
    mean_s: float | None


@dataclass(frozen=True)
class Learned:
    """A profile as a file's text, and what was seen.

    `rate_per_s`: reads and writes a second. `span_bytes`: what they touched, first to last.
    `caution`: what a person must know of the profile.
    """

    text: str
    rate_per_s: float
    span_bytes: int
    served: Mapping[Operation, LearnedServed]
    caution: str | None = None


def has_latencies(requests: Iterable[Request]) -> bool:
    """Whether a trace has latencies."""
    return any(request.latency_s is not None for request in requests)


def learn(requests: Iterable[Request], source: str) -> Learned:
    """The profile of all of them. Raises UserError where there are too few."""
    ordered = sorted(requests)
    moved = [request for request in ordered if request.operation != "flush"]
    if len(moved) < REQUESTS_LEAST:
        problem = f"{len(moved)} reads and writes are too few to learn from"
        remedy = f"trace at least {REQUESTS_LEAST}, over the time that is typical"
        raise UserError(problem, where=source, remedy=remedy)
    duration_s = max(ordered[-1].arrived_s - ordered[0].arrived_s, 1e-9)
    first = min(each.offset_bytes for each in moved)
    span = max(each.offset_bytes + each.length_bytes for each in moved) - first
    streams = {name: found for name, found in _divide_by_kind(ordered).items() if found}
    flushes = len(ordered) - len(moved)
    seen = f"{len(moved):,} requests and {flushes:,} flushes in {duration_s:.1f} s"
    served = {}
    for operation in OPERATIONS:
        mine = [each for each in ordered if each.operation == operation]
        known = [each.latency_s for each in mine if each.latency_s is not None]
        mean_s = sum(known) / len(known) if known else None
        served[operation] = LearnedServed(len(mine), len(mine) / duration_s, mean_s)
    commits = streams.get("commits", [])
    writers = _count_writers(commits, served["flush"], duration_s) if commits else 1
    caution = None if has_latencies(moved) else UNTIMED
    parts = [_write_head(source, seen, len(moved) / duration_s, span, caution)]
    parts += [
        _learn_stream(name, found, first, span, len(found) / len(moved), writers)
        for name, found in streams.items()
    ]
    parts += [f'[[source]]\nkeys = ["*"]\ntext = "{_quote(source)}: {seen}."\n']
    return Learned("\n".join(parts), len(moved) / duration_s, span, served, caution)


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _write_head(
    source: str, seen: str, rate_per_s: float, span_bytes: int, caution: str | None
) -> str:
    more = "".join(f"{each}\n" for each in (SUBMITTED, caution) if each)
    return (
        f'title = "Learned from {_quote(source)}"\n'
        f'note = """\n{seen.capitalize()}: {rate_per_s:.0f} reads and writes a second, over '
        f'{span_bytes:,} bytes of the drive.\n{more}"""\n\n[[pattern]]\nname = "learned"\n'
    )


def _divide_by_kind(ordered: Sequence[Request]) -> dict[str, list[Request]]:
    """By kind; a flush makes the last write before it one that is waited for."""
    committed: set[int] = set()
    last: int | None = None
    for place, each in enumerate(ordered):
        if each.operation == "write":
            last = place
        elif each.operation == "flush" and last is not None:
            committed.add(last)
            last = None
    found: dict[str, list[Request]] = {"reads": [], "writes": [], "commits": []}
    for place, each in enumerate(ordered):
        if each.operation == "read":
            found["reads"].append(each)
        elif each.operation == "write":
            found["commits" if place in committed else "writes"].append(each)
    return found


def _learn_stream(
    name: str,
    found: Sequence[Request],
    first_bytes: int,
    span_bytes: int,
    weight: float,
    writers: int,
) -> str:
    """A stream as the lines of a profile; so many `writers` wait for flushes (see `SUBMITTED`)."""
    way = "read" if name == "reads" else "write"
    at_random = _learn_random_share(found)
    begin, share = _find_region(found, first_bytes, span_bytes)
    depth = estimate_outstanding(found)
    synced = name == "commits"
    batch = 1 if synced else _learn_batch(found)
    is_sync = synced or (batch == 1 and (at_random > 0 or depth == 1))
    lines = [
        "[[pattern.stream]]",
        f'name = "{name}"',
        f"read_share = {1.0 if way == 'read' else 0.0}",
        f"{way}_sizes = {{ {_learn_sizes(found)} }}",
        f"random_share = {at_random}",
        f"jobs = {writers if synced else depth if is_sync else 1}",
        f"iodepth = {1 if is_sync else max(depth, batch)}",
        'submission = "sync"' if is_sync else 'submission = "async"',
        *([f"batch = {batch}"] if batch > 1 else []),
        *(['sync = "fdatasync"'] if synced else []),
        f"weight = {weight:.6f}",
        f"region = {{ offset_share = {begin}, size_share = {share} }}",
    ]
    if zones := _find_hot_spots(found) if at_random else []:
        lines += ["hot_spots = [", *(f"  {zone}," for zone in zones), "]"]
    return "\n".join(lines) + "\n"


def _learn_sizes(found: Sequence[Request]) -> str:
    """Sizes with whole percents, rare ones as their nearest."""
    counts = Counter(each.length_bytes for each in found)
    common = sorted(size for size, count in counts.items() if count / len(found) >= RARE_SHARE)
    kept = common or [counts.most_common(1)[0][0]]
    totals: Counter[int] = Counter()
    for size, count in counts.items():
        totals[min(kept, key=lambda each: abs(each - size))] += count
    percents = round_percents([totals[size] / len(found) for size in kept])
    return ", ".join(
        f"{format_size(size)} = {each / 100}"
        for size, each in zip(kept, percents, strict=True)
        if each
    )


def _learn_random_share(found: Sequence[Request]) -> float:
    """Of those that begin nowhere where a recent one ended."""
    ends: deque[int] = deque(maxlen=RECENT)
    at_random = 0
    for each in found:
        at_random += each.offset_bytes not in ends
        ends.append(each.offset_bytes + each.length_bytes)
    share = round(at_random / len(found), 2)
    return 0.0 if share <= 0.02 else 1.0 if share >= 0.98 else share


def estimate_outstanding(found: Sequence[Request]) -> int:
    """How many are under way while any is, by Little's law; 1 where latencies are not known."""
    spans = sorted(
        (r.arrived_s, r.arrived_s + r.latency_s) for r in found if r.latency_s is not None
    )
    busy_s, until_s = 0.0, float("-inf")
    for begin_s, end_s in spans:
        busy_s += max(0.0, end_s - max(begin_s, until_s))
        until_s = max(until_s, end_s)
    total_s = sum(end_s - begin_s for begin_s, end_s in spans)
    return max(1, round(total_s / busy_s)) if busy_s > 0 else 1


def _count_writers(commits: Sequence[Request], flush: LearnedServed, duration_s: float) -> int:
    """As many as were at once in a write or its flush, and are idle most of the time."""
    writes_s = sum(commit.latency_s or 0.0 for commit in commits)
    busy_s = writes_s + len(commits) * (flush.mean_s or 0.0)
    return max(estimate_outstanding(commits), math.ceil(busy_s / duration_s / WRITER_BUSY_MOST))


def _learn_batch(found: Sequence[Request]) -> int:
    """How many arrive at once, by how many of their kind they meet under way; 1 by themselves."""
    ends: list[float] = []
    met, whole_s = 0, 0.0
    for each in found:
        if each.latency_s is None:
            return 1
        while ends and ends[0] <= each.arrived_s:
            heappop(ends)
        met += len(ends)
        heappush(ends, each.arrived_s + each.latency_s)
        whole_s += each.latency_s
    duration_s = max(found[-1].arrived_s - found[0].arrived_s, 1e-9)
    mean_met = met / len(found)
    is_batched = mean_met >= max(MET_LEAST, BATCHED_FROM * whole_s / duration_s)
    return round(mean_met / MET_SHARE) if is_batched else 1


def _find_region(
    found: Sequence[Request], first_bytes: int, span_bytes: int
) -> tuple[float, float]:
    begin = min(each.offset_bytes for each in found)
    end = max(each.offset_bytes + each.length_bytes for each in found)
    share = max(REGION_SHARE_LEAST, (end - begin) / span_bytes)
    offset = min((begin - first_bytes) / span_bytes, 1 - share)
    return round(offset, 6), min(round(share, 6), round(1 - round(offset, 6), 6))


def _find_hot_spots(found: Sequence[Request]) -> list[str]:
    """Zones of the stream's region; none where its accesses are even."""
    begin = min(each.offset_bytes for each in found)
    size = max(each.offset_bytes + each.length_bytes for each in found) - begin
    counts = Counter((each.offset_bytes - begin) * ZONES // size for each in found)
    percents = round_percents([counts[zone] / len(found) for zone in range(ZONES)])
    if all(abs(percent - 100 / ZONES) <= EVEN_POINTS for percent in percents):
        return []
    joined = list(_join(percents))
    if len(joined) == 1:
        return []
    return [
        f"{{ access_share = {accesses / 100}, space_share = {zones * 100 // ZONES / 100} }}"
        for accesses, zones in joined
    ]


def _join(percents: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Zones with one percent at least: an empty one belongs to the next that is not."""
    zones = 0
    left = sum(percent > 0 for percent in percents)
    for place, each in enumerate(percents):
        zones += 1
        if each > 0:
            left -= 1
            rest = len(percents) - place - 1
            yield (each, zones + (rest if left == 0 else 0))
            zones = 0
