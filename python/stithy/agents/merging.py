"""What several hammers did together, as one of them would say it.

Counts are added and distributions are merged. Times are those of the run's clock, and seconds count
from the first hammer's start. What cannot be known of all together is None.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path

from stithy.agents.serving import LOGS, AgentAnswer, LogKind
from stithy.results.convert import add_second
from stithy.results.hlog import decode, encode, merge
from stithy.wire.hammer import Driven
from stithy.wire.messages import (
    AnyMessage,
    CommitGaps,
    ConnectionCounts,
    DriverCost,
    ErrorCount,
    LedgerWritten,
    PackedHistogram,
    Proof,
    RunSummary,
    SecondMessage,
    TransactionTotal,
    Warning,
    parse_message,
)

TIMES = ("started_at_s", "measure_from_s", "measure_to_s", "ended_at_s")


@dataclass(frozen=True)
class AgentPart:
    """What one agent answered; its clock is `offset_s` ahead of the run's."""

    name: str
    offset_s: float
    answer: AgentAnswer

    @property
    def messages(self) -> tuple[AnyMessage, ...]:
        """Its hammer's messages, in the run's time."""
        return tuple(
            correct_time(parse_message(text), self.offset_s) for text in self.answer.messages
        )

    @cached_property
    def driven(self) -> Driven | None:
        """The same in its parts, which are parsed once; None without a summary."""
        heard = self.messages
        summary = next((message for message in heard if isinstance(message, RunSummary)), None)
        if summary is None:
            return None
        if (ledger := summary.ledger) is not None and ledger.problem is not None:
            told = ledger.model_copy(update={"problem": f"{self.name}: {ledger.problem}"})
            summary = summary.model_copy(update={"ledger": told})
        seconds = tuple(message for message in heard if isinstance(message, SecondMessage))
        warnings = tuple(
            message.model_copy(update={"text": f"{self.name}: {message.text}"})
            for message in heard
            if isinstance(message, Warning)
        )
        return Driven(seconds, warnings, summary)


def correct_time(message: AnyMessage, offset_s: float) -> AnyMessage:
    """Give a message the time of a clock that is behind by `offset_s`."""
    if isinstance(message, SecondMessage):
        return message.model_copy(update={"at_s": message.at_s - offset_s})
    if isinstance(message, RunSummary):
        times = {name: vars(message)[name] - offset_s for name in TIMES}
        from_s = message.gaps.longest_from_s - offset_s
        gaps = message.gaps.model_copy(update={"longest_from_s": from_s})
        return message.model_copy(update={**times, "gaps": gaps})
    return message


def merge_driven(parts: Sequence[Driven]) -> Driven:
    """Merge what all hammers of a window said."""
    began_s = parts[0].summary.started_at_s
    whole: dict[int, SecondMessage] = {}
    for message in (second for part in parts for second in part.seconds):
        had = whole.get(message.second)
        moved = message.model_copy(update={"at_s": began_s + message.second})
        whole[message.second] = moved if had is None else add_second(had, [message])
    warnings = tuple(warning for part in parts for warning in part.warnings)
    summary = merge_summaries([part.summary for part in parts])
    return Driven(tuple(whole[second] for second in sorted(whole)), warnings, summary)


def merge_summaries(parts: Sequence[RunSummary]) -> RunSummary:
    """Merge the summaries of all hammers of a window; times are the first one's."""
    first = parts[0]
    names = [total.name for total in first.transactions]
    totals = [
        _merge_totals(
            [total for part in parts for total in part.transactions if total.name == name]
        )
        for name in names
    ]
    return first.model_copy(
        update={
            "ended_at_s": max(part.ended_at_s for part in parts),
            "woke_late_s": _find_worst([part.woke_late_s for part in parts]),
            "first_late_s": _find_worst([part.first_late_s for part in parts]),
            "complete": all(part.complete for part in parts),
            "users": sum(part.users for part in parts),
            "transactions": tuple(totals),
            "commits": sum(part.commits for part in parts),
            "rollbacks": sum(part.rollbacks for part in parts),
            "lateness": _merge_packed(part.lateness for part in parts),
            "suppressed_arrivals": _add_known([part.suppressed_arrivals for part in parts]),
            "backlog": sum(part.backlog for part in parts),
            "proof": _merge_proofs([part.proof for part in parts]),
            "errors": _merge_errors(error for part in parts for error in part.errors),
            "driver": _merge_costs([part.driver for part in parts]),
            "connections": _merge_connections([part.connections for part in parts]),
            "gaps": merge_gaps(parts),
            "ledger": _merge_written([part.ledger for part in parts if part.ledger is not None]),
        }
    )


def _merge_totals(parts: Sequence[TransactionTotal]) -> TransactionTotal:
    waits = [part.pool_wait for part in parts if part.pool_wait is not None]
    counts = ("committed", "rolled_back", "errors", "retries")
    return parts[0].model_copy(
        update={
            **{count: sum(vars(part)[count] for part in parts) for count in counts},
            "response": _merge_packed(part.response for part in parts),
            "service": _merge_packed(part.service for part in parts),
            "pool_wait": _merge_packed(waits) if waits else None,
        }
    )


def _merge_packed(parts: Iterable[PackedHistogram]) -> PackedHistogram:
    whole = merge(map(decode, parts))
    assert whole is not None  # there is at least one hammer
    return encode(whole)


def _add_known(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _find_worst(times_s: Sequence[float | None]) -> float | None:
    return max((time_s for time_s in times_s if time_s is not None), default=None)


def _merge_proofs(parts: Sequence[Proof]) -> Proof:
    """All hammers counted before anyone began; who counted last counted after all had ended."""
    before, after = ([vars(part)[name] for part in parts] for name in ("before", "after"))
    return Proof(
        before=None if None in before else min(before),
        after=None if None in after else max(after),
        acknowledged=sum(part.acknowledged for part in parts),
        in_doubt=sum(part.in_doubt for part in parts),
        in_doubt_found=_add_known([part.in_doubt_found for part in parts]),
    )


def _merge_errors(errors: Iterable[ErrorCount]) -> tuple[ErrorCount, ...]:
    known: dict[tuple[str, str], ErrorCount] = {}
    for error in errors:
        key = (error.kind, error.code or error.text)
        had = known.get(key)
        count = error.count + (had.count if had else 0)
        known[key] = (had or error).model_copy(update={"count": count})
    return tuple(known.values())


def _merge_costs(parts: Sequence[DriverCost]) -> DriverCost:
    delays = [part.run_queue_delay_s for part in parts]
    nice = [part.nice for part in parts]
    return DriverCost(
        cpu_s=sum(part.cpu_s for part in parts),
        run_queue_delay_s=None if None in delays else sum(filter(None, delays)),
        nice=None if None in nice else max(level for level in nice if level is not None),
    )


def _merge_connections(parts: Sequence[ConnectionCounts]) -> ConnectionCounts:
    return ConnectionCounts(
        opened=sum(part.opened for part in parts),
        lost=sum(part.lost for part in parts),
        reopened=sum(part.reopened for part in parts),
        first_success_s=_find_worst([part.first_success_s for part in parts]),
    )


def _merge_written(parts: Sequence[LedgerWritten]) -> LedgerWritten | None:
    if not parts:
        return None
    slowest_s = [part.slowest_sync_s for part in parts if part.slowest_sync_s is not None]
    return LedgerWritten(
        acknowledged=sum(part.acknowledged for part in parts),
        size_bytes=sum(part.size_bytes for part in parts),
        syncs=sum(part.syncs for part in parts),
        slowest_sync_s=max(slowest_s, default=None),
        problem=next((part.problem for part in parts if part.problem is not None), None),
    )


def merge_gaps(parts: Sequence[RunSummary]) -> CommitGaps:
    """Find the times in which nobody succeeded: what gaps of all hammers have in common.

    The longest is exact if none that a hammer did not list can be longer (`bound_unlisted_s`).
    """
    gaps = [part.gaps for part in parts]
    if len(parts) == 1:
        return gaps[0]
    common, begin_s = reduce(_find_common, map(_list_gaps, parts)), parts[0].measure_from_s
    from_s, to_s = max(common, key=lambda gap: gap[1] - gap[0], default=(begin_s, begin_s))
    users = decode(_merge_packed(own.users for of in gaps if (own := of.own)))
    most_s = max((of.user_max_s for of in gaps if of.user_max_s is not None), default=None)
    p50_s, p99_s = (
        None if most_s is None else min(most_s, users.percentile_s(percent) or 0.0)
        for percent in (50, 99)  # a histogram gives the end of a bucket
    )
    return CommitGaps(
        longest_s=to_s - from_s, longest_from_s=from_s,
        user_p50_s=p50_s, user_p99_s=p99_s, user_max_s=most_s,
    )  # fmt: skip


_Gaps = list[tuple[float, float]]
"""When each began and ended, Unix time, in order; those of one list do not overlap."""


def _list_gaps(part: RunSummary) -> _Gaps:
    own, zero_s = part.gaps.own, part.measure_from_s
    assert own is not None  # as there are several hammers
    pairs = zip(own.from_s, own.length_s, strict=True)
    return [(zero_s + from_s, zero_s + from_s + length_s) for from_s, length_s in pairs]


def _find_common(one: _Gaps, other: _Gaps) -> _Gaps:
    found: _Gaps = []
    n = m = 0
    while n < len(one) and m < len(other):
        from_s, to_s = max(one[n][0], other[m][0]), min(one[n][1], other[m][1])
        if from_s < to_s:
            found.append((from_s, to_s))
        if one[n][1] < other[m][1]:
            n += 1
        else:
            m += 1
    return found


def bound_unlisted_s(parts: Sequence[RunSummary], longest_s: float) -> float:
    """Bound by how much the longest gap of all may be longer: by one that was too short to list."""
    above_s = [part.gaps.own.above_s for part in parts if part.gaps.own is not None]
    return max(0.0, max(above_s, default=0.0) - longest_s)


def write_logs(stem: Path, parts: Sequence[AgentPart]) -> None:
    """Write the interval logs of all agents as those of one, by the first one's seconds.

    A second and type may have several lines then, which add up.
    """
    drivens = [part.driven for part in parts]
    starts = [driven.summary.started_at_s for driven in drivens if driven]
    shifts = [starts[0] - start - part.offset_s for part, start in zip(parts, starts, strict=True)]
    for kind in LOGS:
        texts = [part.answer.logs.get(kind) for part in parts]
        known = [
            (zlib.decompress(text).decode("ascii"), shift)
            for text, shift in zip(texts, shifts, strict=True)
            if text is not None
        ]
        if known:
            write_log(stem, kind, known)


def write_log(stem: Path, kind: LogKind, texts: Sequence[tuple[str, float]]) -> None:
    """Write one log of several, each moved in time by some seconds."""
    head = [line for line in texts[0][0].splitlines() if line[:1] in ("#", '"')]
    lines: list[tuple[float, str]] = []
    for text, shift_s in texts:
        for line in text.splitlines():
            tag, _, rest = line.partition(",") if line.startswith("Tag=") else ("", "", line)
            start, _, values = rest.partition(",")
            if line[:1] not in ("#", '"', ""):
                at_s = float(start) + shift_s
                lines.append((at_s, ",".join(filter(None, (tag, f"{at_s:.3f}", values)))))
    body = [line for _, line in sorted(lines)]
    stem.parent.mkdir(parents=True, exist_ok=True)
    path = stem.with_name(f"{stem.name}.{kind}.hlog")
    path.write_text("\n".join([*head, *body, ""]), encoding="ascii")
