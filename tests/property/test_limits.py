"""What limits a window: more of a thing never makes it less of a limit."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stithy.analysis.bottlenecks.judge import judge
from stithy.analysis.bottlenecks.observation import (
    Cpus,
    DeviceUse,
    LinkUse,
    Observation,
    Reached,
    Sessions,
)
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.instruments import Headroom
from support.sample_observation import sessions

share = st.floats(0.0, 1.0)
some = st.floats(0.0, 20.0)


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    """Any window, everything of which was watched."""
    paced = draw(st.booleans())
    places = draw(st.integers(1, 200))
    groups = {name: draw(some) for name in ("cpu", "device", "log", "locks", "client", "other")}
    return Observation(
        "w", places, False, paced, draw(share) * places if paced else float(places),
        Headroom(1.0, draw(share), None), draw(st.none() | some), None,
        sessions(draw(st.integers(1, 90)), **groups), Cpus(4, draw(share)), Cpus(2, draw(share)),
        (DeviceUse("vda", draw(share), draw(some), draw(some)),),
        tuple(Reached("data", "bandwidth", each) for each in draw(st.lists(share, max_size=2))),
        draw(st.booleans()), stalled_share=draw(share),
        storage_hosts=(Cpus(8, draw(share), "a"),),
        link=draw(st.none() | st.builds(LinkUse, st.just(1e8), share)),
    )  # fmt: skip


def _more(seen: Observation, rule: str, by: float) -> Observation:
    """More of what a rule looks at, everything else as it was."""
    assert isinstance(seen.sessions, Sessions)
    if rule in ("device-latency", "log", "locks"):
        group = rule.removesuffix("-latency")
        groups = {**seen.sessions.by_group, group: seen.sessions.by_group[group] + by * seen.places}
        return replace(seen, sessions=replace(seen.sessions, by_group=groups))
    assert seen.host is not None
    assert seen.server is not None
    changes: dict[str, dict[str, Any]] = {
        "server-cpu": {"server": Cpus(2, min(1.0, seen.server.used_share + by))},
        "host-cpu": {"host": Cpus(4, min(1.0, seen.host.used_share + by))},
        "storage-cpu": {
            "storage_hosts": tuple(
                replace(e, used_share=min(1.0, e.used_share + by)) for e in seen.storage_hosts
            )
        },
        "device-rate": {"drives": tuple(replace(e, share=e.share + by) for e in seen.drives)},
        "network": {"link": seen.link and LinkUse(1e8, (seen.link.used_share or 0.0) + by)},
        "pool": {"pool_waiting": None if seen.pool_waiting is None else seen.pool_waiting + by},
        "checkpoints": {"stalled_share": (seen.stalled_share or 0.0) + by},
        "demand": {"under_way": (seen.under_way or 0.0) * (1 - by)} if seen.paced else {},
        "driver": {"late": "it was late"},
        "emulation": {"slowed": "it was late"},
    }
    return replace(seen, **changes[rule])


@given(seen=observations(), by=share, rule=st.sampled_from(list(RULES)))
def test_more_of_a_thing_never_takes_it_from_the_limits(
    seen: Observation, by: float, rule: str
) -> None:
    """What held goes on to hold, and what limited stays at least as tight."""
    before, after = judge(seen), judge(_more(seen, rule, by))
    then = {each.rule: each for each in before.judged}.get(rule)
    now = {each.rule: each for each in after.judged}.get(rule)
    if then is not None and then.holds:
        assert now is not None
        assert now.holds
        assert (now.share or 0.0) >= (then.share or 0.0) - 1e-9


@given(seen=observations())
def test_what_limits_is_the_largest_share_that_holds(seen: Observation) -> None:
    """Of those that the throughput proves, if there are any; no rule both holds and is silent.

    Or one to which that one yields.
    """
    found = judge(seen)
    holding = [each for each in found.judged if each.holds]
    proven = [each for each in holding if each.is_proven]
    shares = [each.share or 0.0 for each in proven or holding]
    assert (found.by is None) == (not holding)
    if found.by is not None:
        largest = [each for each in proven or holding if each.share == max(shares)]
        yielded = {name for each in largest for name in RULES[each.rule].yields_to}
        assert found.by.share == max(shares) or found.by.rule in yielded
    assert not set(found.also) & set(found.silent)


ALONE = {
    "sessions": "locks", "host": "host-cpu", "server": "server-cpu", "stalled_share": "checkpoints",
}  # fmt: skip
"""What is not watched, and a rule that rests on it alone."""


@given(seen=observations(), gone=st.sampled_from(list(ALONE)))
def test_what_is_not_watched_is_never_taken_for_none_of_it(seen: Observation, gone: str) -> None:
    """The rule does not say that it does not hold."""
    unseen = {"cpu": "gone", "database": "gone"}
    judged = judge(replace(seen, **{gone: None}, unseen=unseen)).judged  # type: ignore[arg-type]  # any of several fields
    assert ALONE[gone] not in {each.rule for each in judged if each.holds is not None}
