"""What agents did is merged: histograms, counts, times and ledgers."""

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.hammer import START_S, FakeHammer
from stithy.agents.ledgers import MARK, join_ledgers, read_batches
from stithy.agents.merging import (
    TIMES,
    AgentPart,
    bound_unlisted_s,
    correct_time,
    merge_driven,
    merge_gaps,
    merge_summaries,
    write_logs,
)
from stithy.agents.serving import AgentAnswer
from stithy.errors import InfrastructureError
from stithy.results.convert import make_second_rows, make_transaction_rows, read_latencies
from stithy.results.hlog import LoggedHistogram, decode, encode
from stithy.wire.hammer import Driven
from stithy.wire.jobs import RunRequest, UserShare, WorkloadChoice
from stithy.wire.messages import AnyMessage, ErrorCount, OwnGaps, Proof, RunSummary
from support.hlog import HALF, histogram, log
from support.hlog import encode as encode_otherwise

REQUEST = RunRequest(
    seed=1, users=6, ramp_up_s=1.0, duration_s=2.0, share=UserShare(number=0, of=3)
)


def _driven() -> Driven:
    return FakeHammer().run(WorkloadChoice(name="order-entry"), REQUEST)


def _summary(**changes: object) -> RunSummary:
    return _driven().summary.model_copy(update=changes)


@given(st.dictionaries(st.integers(0, 40_000), st.integers(1, 2**40), max_size=30))
def test_a_histogram_is_read_as_it_was_written(counts: dict[int, int]) -> None:
    """Also as another writer of the format has it."""
    made = LoggedHistogram(counts, HALF, 0)
    assert decode(encode(made)) == made == decode(encode_otherwise(made))


def test_counts_are_added_and_histograms_merged() -> None:
    """So three hammers that did the same did three times as much, in the same times."""
    one = _driven()
    three = merge_driven([one, one, one])
    assert (three.summary.users, three.summary.complete) == (18, True)
    (alone,), (together,) = (
        [row for row in make_transaction_rows("w", of.summary) if row["transaction"] == "payment"]
        for of in (one, three)
    )
    assert together["committed"] == 3 * alone["committed"]
    assert together["response_p95_s"] == alone["response_p95_s"]
    assert decode(three.summary.lateness).count == 3 * decode(one.summary.lateness).count
    (second,) = three.seconds
    assert [kind.committed for kind in second.transactions] == [30] * 5
    live = {(kind.live_p50_s, kind.live_p95_s, kind.live_p99_s) for kind in second.transactions}
    assert live == {(None, None, None)}


def test_the_times_of_a_clock_that_is_ahead_become_those_of_the_run() -> None:
    """A hammer on a host whose clock is 2 s ahead says all of its times 2 s too late."""
    driven = _driven()
    (second,), summary = driven.seconds, driven.summary
    assert correct_time(second, 2.0) == second.model_copy(update={"at_s": second.at_s - 2.0})
    corrected = correct_time(summary, 2.0)
    assert isinstance(corrected, RunSummary)
    assert [getattr(summary, name) - getattr(corrected, name) for name in TIMES] == [2.0] * 4
    assert corrected.gaps.longest_from_s == summary.gaps.longest_from_s - 2.0


def test_who_counted_last_has_counted_all() -> None:
    """Each counts before anyone begins, and again when its own users have ended."""

    def proof(after: int | None) -> Proof:
        return Proof(before=10, after=after, acknowledged=4, in_doubt=1, in_doubt_found=1)

    merged = merge_summaries([_summary(proof=proof(after)) for after in (15, 22, 18)]).proof
    assert merged == Proof(before=10, after=22, acknowledged=12, in_doubt=3, in_doubt_found=3)
    assert (
        merge_summaries([_summary(proof=proof(after)) for after in (15, None)]).proof.after is None
    )


def test_one_that_ended_early_makes_all_incomplete() -> None:
    """And errors of one code are counted together."""
    error = ErrorCount(kind="other", code="23505", text="key (1)", count=2)
    parts = [
        _summary(woke_late_s=0.02), _summary(complete=False, errors=(error, error)),
        _summary(errors=(error,), woke_late_s=0.01),
    ]  # fmt: skip
    merged = merge_summaries(parts)
    assert (merged.complete, merged.woke_late_s, merged.first_late_s) == (False, 0.02, None)
    assert merged.errors == (error.model_copy(update={"count": 6}),)


def _own_gaps(ends_ms: set[int], begin_ms: int, most: int) -> tuple[OwnGaps, float]:
    """List the longest gaps of one hammer in two seconds, and its longest, as the hammer would."""
    edges = [begin_ms, *sorted(at for at in ends_ms if begin_ms < at < begin_ms + 2000)]
    pairs = zip(edges, [*edges[1:], begin_ms + 2000], strict=True)
    gaps = sorted(((to - at) / 1000, (at - begin_ms) / 1000) for at, to in pairs)
    listed = sorted((from_s, length_s) for length_s, from_s in gaps[-most:])
    above_s = gaps[-most - 1][0] if len(gaps) > most else 0.0
    own = OwnGaps(
        above_s=above_s, from_s=tuple(from_s for from_s, _ in listed),
        length_s=tuple(length_s for _, length_s in listed),
        users=encode(histogram(round(gaps[-1][0] * 1e6))),
    )  # fmt: skip
    return own, gaps[-1][0]


@given(
    ends_ms=st.lists(st.sets(st.integers(0, 2100), max_size=40), min_size=2, max_size=5),
    begins_ms=st.lists(st.integers(0, 60), min_size=5, max_size=5),
    most=st.integers(1, 60),
)
def test_a_gap_of_all_is_what_gaps_of_each_have_in_common(
    ends_ms: list[set[int]], begins_ms: list[int], most: int
) -> None:
    """It is that between all successes in one list, or as much longer as is said."""
    parts = []
    for ends, begin_ms in zip(ends_ms, begins_ms, strict=False):
        own, user_s = _own_gaps(ends, begin_ms, most)
        gaps = _summary().gaps.model_copy(update={"own": own, "user_max_s": user_s})
        from_s = START_S + begin_ms / 1000
        parts.append(_summary(gaps=gaps, measure_from_s=from_s, measure_to_s=from_s + 2))
    from_ms, to_ms = max(begins_ms[: len(parts)]), min(begins_ms[: len(parts)]) + 2000
    known = sorted(at for ends in ends_ms for at in ends if from_ms < at < to_ms)
    lengths = [to - at for at, to in zip([from_ms, *known], [*known, to_ms], strict=True)]
    merged = merge_gaps(parts)
    beyond_s = max(lengths) / 1000 - merged.longest_s
    assert -1e-5 < beyond_s < bound_unlisted_s(parts, merged.longest_s) + 1e-5
    if bound_unlisted_s(parts, merged.longest_s) == 0:
        begun = [at for at, length in zip([from_ms, *known], lengths, strict=True)
                 if length == max(lengths)]  # fmt: skip
        assert any(abs(merged.longest_from_s - START_S - at / 1000) < 1e-5 for at in begun)
    longest = [part.gaps.user_max_s or 0.0 for part in parts]
    assert merged.user_max_s == max(longest)
    assert merged.user_p99_s is not None
    assert abs(merged.user_p99_s - max(longest)) <= 0.002 * max(longest)


def test_times_are_those_of_the_run(tmp_path: Path) -> None:
    """Clocks of agents are corrected, and the logs of all have the first one's seconds."""
    line = f"Tag=payment,{{}},1.000,2.000,{encode(histogram(2000, 3000))}\n"
    parts = []
    for name, ahead_s in (("a", 0.001), ("b", -0.0015)):
        own = _driven()
        said: list[AnyMessage] = [*own.seconds, own.summary]
        messages = [correct_time(message, -ahead_s).model_dump_json() for message in said]
        text = log(line.format(f"{START_S + ahead_s:.3f}")).encode()
        answer = AgentAnswer(tuple(messages), {"response": zlib.compress(text)})
        parts.append(AgentPart(name, ahead_s, answer))
    whole = merge_driven([driven for part in parts if (driven := part.driven)])
    assert abs(whole.summary.started_at_s - START_S) < 1e-6
    write_logs(tmp_path / "hammer", parts)
    latencies = read_latencies(tmp_path / "hammer")
    rows = make_second_rows("w", whole.seconds, latencies)
    assert [row["response_p50_s"] for row in rows if row["transaction"] == "payment"] == [0.002]
    assert sum(interval.histogram.count for interval in latencies.response) == 4


HEAD = b'{"workload":"oltp","loaded":{},"run_seed":7}'
PAYLOADS = st.lists(st.binary(min_size=1, max_size=60), max_size=5)


def _frame(payload: bytes) -> bytes:
    """Frame a payload as docs/reference/ledger.md says."""
    length = struct.pack("<I", len(payload))
    return length + struct.pack("<I", zlib.crc32(length + payload)) + payload


def _write(path: Path, payloads: list[bytes], end: bytes = b"") -> Path:
    path.write_bytes(MARK + b"".join(map(_frame, [HEAD, *payloads])) + end)
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(PAYLOADS, min_size=1, max_size=4), room=st.integers(0, 40))
def test_the_whole_has_one_head_and_every_batch(
    tmp_path: Path, parts: list[list[bytes]], room: int
) -> None:
    """Each agent's in its order; room that was never used is none of them."""
    paths = [
        _write(tmp_path / str(number), payloads, bytes(room))
        for number, payloads in enumerate(parts)
    ]
    join_ledgers(tmp_path / "whole", paths)
    head, *batches = read_batches(tmp_path / "whole")
    assert head == _frame(HEAD)
    assert batches == [_frame(payload) for payloads in parts for payload in payloads]
    assert not list(tmp_path.glob("*.begun"))


def test_damage_is_no_torn_end(tmp_path: Path) -> None:
    """A full disk tears the last batch; anything else that changed bytes is named."""
    whole = _write(tmp_path / "whole", [b"one", b"two"]).read_bytes()
    part = tmp_path / "part"
    for cut in range(len(whole) - len(_frame(b"two")), len(whole)):
        part.write_bytes(whole[:cut])
        assert len(list(read_batches(part))) == 2
    for at in (0, len(MARK) + 4, len(whole) - len(_frame(b"two")) - 1):
        part.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InfrastructureError, match="damaged"):
            list(read_batches(part))
