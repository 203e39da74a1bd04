"""What limited a window: each rule, all rules together, levels and stalls."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stithy.analysis.analyze import judge_run
from stithy.analysis.bottlenecks.judge import SEVERAL, UNKNOWN, judge, judge_level
from stithy.analysis.bottlenecks.observation import Cpus, DeviceUse, LevelGrowth, LinkUse, Reached
from stithy.analysis.bottlenecks.observe import (
    Ability,
    ObservedTables,
    count_pool_users,
    observe_windows,
    read_ability,
)
from stithy.analysis.bottlenecks.rules import RULES
from stithy.analysis.bottlenecks.stalls import (
    ServerStall,
    estimate_stalled_shares,
    explain_stalls,
    find_stalled_seconds,
)
from stithy.analysis.instruments import Headroom
from stithy.engines.engine import declaration
from stithy.results.files import read_run
from stithy.results.layout import RunDirectory
from support.drawn import context_built
from support.hosts import with_hosts
from support.sample_observation import disk, observed, sessions
from support.sample_run import Shape, build_run, rewrite, window_id

Row = dict[str, Any]

TWO_ROLES = (DeviceUse("data", 0.3, 1.0, 0.5), DeviceUse("log", 0.6, 1.0, 0.0))
FULL: Row = {"server": Cpus(2, 0.95), "host": Cpus(2, 0.95), "others_cpus": 0.7}
WORK = {"places": 2, "under_way": 2.0, "server": Cpus(4, 0.375)}
SEEN = {"emulated": True, "drives": (Reached("a", "IOPS", 0.4), Reached("b", "bandwidth", 0.85))}


@pytest.mark.parametrize(("rule", "changes", "share"), [
    ("demand", {"places": 100, "paced": True, "under_way": 51.0, "server": Cpus(2, 0.0)}, 0.49),
    ("demand", {**WORK, "growth": LevelGrowth(4, 1.2, 0.49)}, 0.0),
    ("demand", {**WORK, "growth": LevelGrowth(4, 1.5, 0.5)}, 0.75),
    ("demand", {**WORK, "others_cpus": 0.5}, 0.5),
    ("demand", {"server": None, "host": Cpus(4, 0.9), "sessions": sessions(cpu=1.0)}, 0.25),
    ("demand", {"is_open": True, "backlog_share": 0.01}, 0.99),
    ("demand", {"is_open": True, "backlog_share": 0.011}, 0.0),
    ("device-latency", {"sessions": sessions(device=3.0), "devices": disk(0.95, 0.2)}, 0.05),
    ("device-latency", {"sessions": sessions(device=1.6, log=2.0), "devices": disk(0.27)},
     0.27 * 1.6 / 3.6),
    ("device-latency", {"sessions": None, "devices": disk(0.9, 8.0, 2.4)}, 0.6),
    ("log", {"sessions": sessions(device=1.6, log=2.0), "devices": disk(0.27)},
     0.27 * 2.0 / 3.6),
    ("log", {"sessions": sessions(device=1.0, log=3.0), "devices": TWO_ROLES}, 0.9 * 3 / 4),
    ("log", {"places": 1, "sessions": sessions(3, log=0.9), "devices": disk(0.3)}, 0.3),
    ("locks", {"sessions": sessions(locks=2.4, log=1.0)}, 0.6),
    ("locks", {"places": 1, "sessions": sessions(16, locks=0.1)}, 0.1),
    ("pool", {"places": 8, "pool_waiting": 6.0}, 0.75),
    ("driver", {"late": "the hammer was late"}, 1.0),
    ("driver", {"headroom": Headroom(1.0, 0.55, 0.45)}, 0.55),
    ("driver", {"sessions": sessions(cpu=1.0)}, 0.75),
    ("driver", {"sessions": sessions(cpu=1.0), "pool_waiting": 2.5}, 0.05),
    ("emulation", {"emulated": True}, 0.0),
    ("host-cpu", {"host": Cpus(4, 0.93)}, 0.93),
    ("server-cpu", {**FULL, "sessions": sessions(cpu=3.5, log=0.5)}, 0.95),
    ("host-cpu", {**FULL, "sessions": sessions(cpu=3.5, log=0.5)}, 0.95),
    ("host-cpu", {**FULL, "sessions": sessions(cpu=0.4, locks=0.3)}, 0.95),
    ("server-cpu", {**FULL, "server": Cpus(2, 0.79)}, 0.79),
    ("storage-cpu", {"storage_hosts": (Cpus(8, 0.4, "a"), Cpus(8, 0.9, "b"))}, 0.9),
    ("network", {"link": LinkUse(1.25e8, 0.84)}, 0.84),
    ("device-rate", SEEN, 0.85),
    ("device-rate", {"emulated": True, "drives": (Reached("a", "IOPS", 1.3),)}, 1.0),
    ("device-rate", {"devices": disk(0.79)}, 0.79),
])  # fmt: skip
def test_a_rule_tells_how_much_was_reached(rule: str, changes: Row, share: float) -> None:
    """As a share of the users' time, of the CPUs', of a profile, or of what the driver can do."""
    answer: Any = RULES[rule].judge(observed(**changes))
    assert answer.share == pytest.approx(share), answer.because


NO_CPU, NO_BLOCK = {"cpu": "no cpu"}, {"block": "no block"}
FEW = "3 wait samples are too few for a share of their time"
OTHERS = "busy 95 % of the time, up to 35 % by other programs"


@pytest.mark.parametrize(("rule", "changes", "because"), [
    ("demand", {"paced": True, "under_way": None}, "the window has no response times"),
    ("demand", {"is_open": True}, "the window has no transactions"),
    ("log", {"places": 1, "sessions": sessions(3, log=0.9), "devices": disk(0.7)}, FEW),
    ("locks", {"places": 1, "sessions": sessions(16, locks=0.4)},
     "16 wait samples are too few for a share of their time"),
    ("driver", {"headroom": Headroom(1.0, None, None)}, "the driver headroom is not proven"),
    ("checkpoints", {"stalled_share": None}, "checkpoints were not sampled"),
    ("host-cpu", {"host": None, "unseen": NO_CPU}, "no cpu"),
    ("server-cpu", {**FULL, "sessions": sessions(log=3.5, cpu=0.5), "devices": disk()},
     f"the database's CPUs were {OTHERS}"),
    ("host-cpu", {**FULL, "is_open": True, "under_way": 0.4, "sessions": sessions(cpu=0.4)},
     f"the host's CPUs were {OTHERS}"),
    ("host-cpu", {**FULL, "sessions": None}, f"the host's CPUs were {OTHERS}"),
    ("device-rate", {"devices": disk(0.99)},
     "vda was in use 99 % of the time, and its maximum rate is not known"),
    ("device-rate", {"devices": (), "unseen": NO_BLOCK}, "no block"),
    ("network", {"link": LinkUse(1.25e8, None)}, "the network of the load driver was not sampled"),
    ("device-rate", {"emulated": True, "devices": disk(0.3)},
     "what the drives' profiles allow is not known"),
])  # fmt: skip
def test_a_rule_that_saw_too_little_says_so(rule: str, changes: Row, because: str) -> None:
    """Missing is neither idle nor full."""
    answer: Any = RULES[rule].judge(observed(**changes))
    assert (answer.share, answer.because) == (None, because)


def test_a_scaled_drive_can_do_a_part_of_what_its_profile_says() -> None:
    """As many requests at a time as the whole one; a disk that spins serves one."""
    text = "channels = 4\n[cap]\nread_iops = 800\nwrite_bytes_per_s = 0\n"
    assert read_ability(text, 8.0) == Ability({"read_iops": 100.0}, 4)
    assert read_ability("[disk]\nrpm = 7200\n", 1.0) == Ability({}, 1)
    assert read_ability("cap = [", 1.0) is None


def test_rules_that_do_not_apply_have_no_answer() -> None:
    """No emulated drive, no CPUs of the server's own, no device, no shared connections."""
    nothing = {"slowed": "late", "server": None, "devices": (), "pool_waiting": None}
    silent = {name for name, rule in RULES.items() if rule.judge(observed(**nothing)) is None}
    silent_ones = {"emulation", "server-cpu", "device-rate", "pool", "storage-cpu", "network"}
    assert silent == silent_ones


UNPROVEN = Headroom(1.0, None, None)
PAUSES = {"places": 8, "paced": True, "host": Cpus(2, 1.0)}
CAPPED = {"places": 100, "paced": True, "under_way": 4.0, "server": Cpus(2, 0.1)}
WAITING = {"emulated": True, "sessions": sessions(device=3.9), "devices": disk(1.0)}
BLIND: Row = {
    "sessions": None, "host": None, "server": None, "devices": (), "stalled_share": None,
    "headroom": Headroom(None, None, None), "unseen": dict.fromkeys(("cpu", "block"), "gone"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "kind", "also"), [
    ({"server": Cpus(2, 0.95), "sessions": sessions(log=2.6), "devices": disk()},
     "server-cpu", ["log"]),
    ({**WAITING, "drives": (Reached("data", "IOPS", 0.85),)}, "device-rate",
     ["device-latency"]),
    ({**WAITING, "drives": (Reached("data", "IOPS", 0.75),)}, "device-latency", []),
    ({"server": Cpus(2, 0.5)}, SEVERAL, []),
    ({"headroom": UNPROVEN}, UNKNOWN, []),
    ({"headroom": UNPROVEN, "server": Cpus(2, 0.9)}, "server-cpu", []),
    ({**PAUSES, "under_way": 0.5}, "demand", ["host-cpu"]),
    ({**PAUSES, "under_way": 2.0}, "host-cpu", ["demand"]),
    ({**PAUSES, "under_way": 0.5, "late": "late"}, "driver", ["demand", "host-cpu"]),
    ({"stalled_share": 0.1}, "checkpoints", []),
    ({"stalled_share": 0.099}, SEVERAL, []),
    (BLIND, UNKNOWN, []),
])  # fmt: skip
def test_the_tightest_bound_limits(changes: Row, kind: str, also: list[str]) -> None:
    """What the throughput proves comes first; a rule that could not speak hides none that holds."""
    found = judge(observed(**changes))
    assert (found.kind, [each.rule for each in found.also]) == (kind, also)
    assert ("driver" in {each.rule for each in found.silent}) == ("headroom" in changes)


LOCKED = {"places": 24, "under_way": 24.0, "server": Cpus(1, 0.1)}


@pytest.mark.parametrize(("changes", "kind", "share", "is_result"), [
    (CAPPED, "demand", 0.02, False),
    ({"places": 4, "server": Cpus(8, 0.4), "sessions": sessions(device=0.8, cpu=3.2)}, "demand",
     0.2, True),
    ({"places": 32, "under_way": 32.0, "pool_waiting": 30.0, "server": Cpus(1, 0.1),
      "sessions": sessions(log=1.8, cpu=0.2), "devices": disk()}, "pool", 0.9, True),
    ({**LOCKED, "sessions": sessions(locks=21.6, log=1.2, cpu=0.2)}, "locks", 0.95, True),
    ({**LOCKED, "sessions": sessions(locks=21.6, log=0.048, cpu=1.2)}, "locks",
     0.002 + 0.9 * 0.048, False),
    (BLIND, UNKNOWN, None, True),
], ids=["pauses", "a fifth", "behind a pool", "behind locks", "locks alone", "unseen"])  # fmt: skip
def test_storage_had_a_part_of_the_time(
    changes: Row, kind: str, share: float | None, is_result: bool
) -> None:
    """Who waits for a connection or a lock may wait for the storage of who has it."""
    found = judge(observed(**changes))
    assert found.kind == kind
    assert found.storage_share == (None if share is None else pytest.approx(share))
    assert found.is_storage_result is is_result


def test_what_limited_a_level_is_what_limited_most_of_its_windows() -> None:
    """CPUs are the mean of all; storage is told where all know it; what is missing is named."""
    full, fuller = (judge(observed(server=Cpus(1, used))) for used in (0.9, 0.96))
    capped = judge(observed(**CAPPED))
    cause: Any = judge_level([full, capped, fuller])
    assert (cause.limit, cause.windows, cause.windows_all) == ("server-cpu", 2, 3)
    assert cause.share == pytest.approx(0.93)
    assert (cause.cpus, cause.is_full) == ("server-cpu", False)
    assert cause.cpus_share == pytest.approx((0.9 + 0.1 + 0.96) / 3)
    assert judge_level([]) is None
    cause = judge_level([full, judge(observed(server=Cpus(1, 0.81)))])
    assert cause.is_full
    cause = judge_level([capped, replace(capped, storage_share=None)])
    assert (cause.storage_share, cause.is_storage_result, cause.is_cap) == (None, True, True)
    cause = judge_level([judge(observed(headroom=UNPROVEN))])
    assert (cause.limit, cause.says) == ("unknown", "the load driver could not be judged")
    cause = judge_level([judge(observed())])
    assert (cause.limit, cause.share) == ("several", 0.5)


OVER = (100.5, "last_checkpoint_at_s", 50.0)
"""A checkpoint that was over before the window."""


def _rows(names: str, rows: Sequence[Any]) -> pl.DataFrame:
    kinds = {name: pl.Float64 if name in ("at_s", "value") else pl.String for name in names.split()}
    return pl.DataFrame(rows, schema=kinds, orient="row").with_columns(window_id=pl.lit("w"))


def _checkpoints(*rows: tuple[float, str, float]) -> pl.DataFrame:
    return _rows("at_s metric value", rows)


def _seconds(*done: int) -> pl.DataFrame:
    return pl.DataFrame({
        "window_id": "w", "transaction": "all", "phase": "measure", "committed": done,
        "at_s": [100.0 + second for second in range(len(done))], "rolled_back": 0, "waiting": 6,
    })  # fmt: skip


USUAL = [100] * 5


@pytest.mark.parametrize(("samples", "done", "lost"), [
    ([OVER, (106.0, "last_checkpoint_at_s", 103.0)], [100] * 3 + [10] * 2 + USUAL, 0.18),
    ([(100.2, "checkpoint_buffers_per_s", 9.0), OVER,
      (105.0, "checkpoint_buffers_per_s", 900.0)], [100] * 4 + [0] + USUAL, 0.1),
    ([OVER, (104.0, "last_checkpoint_at_s", 102.0)],
     [100, 100, 60, 60, 100, 100, 100, 0, 0, 100], 0.0),
    ([OVER], [0, 0], 0.0),
    ([], [100, 0], None),
], ids=["within", "while it writes", "dips and after", "nothing done", "not sampled"])  # fmt: skip
def test_checkpoints_cost_stalls(samples: list[Any], done: list[int], lost: float | None) -> None:
    """Of the usual; a dip is no stall, a stall at another time not its doing, missing not none."""
    found = estimate_stalled_shares(_checkpoints(*samples), _seconds(*done))
    assert found == ({} if lost is None else {"w": pytest.approx(lost)})


def _waits(event: str, value: float = 4.0) -> tuple[str, str, str, float, float]:
    return "database", event, "waiting_sessions_by_event", 105.4, value


FLUSHES = tuple(
    ("block", "vda", metric, 100.5 + second, stalled if second == 6 else usual)
    for second in range(10)
    for metric, usual, stalled in (("flushes_per_s", 100.0, 2.0), ("flush_latency_s", 0.002, 0.4))
)
"""A device whose flushes took 0.4 s in the second after the stall."""


@pytest.mark.parametrize(("samples", "checkpoint_s", "pooled", "cause"), [
    ((_waits("IO:WALInitWrite", 1.0), _waits("LWLock:WALWrite")), None, {}, "log-file"),
    ((_waits("LWLock:WALWrite"),), (106.0, 105.0), {}, "checkpoint"),
    ((), (108.0, 101.0), {}, "unknown"),
    ((*FLUSHES, _waits("IO:WALSync")), None, {}, "flush"),
    ((_waits("IO:WALSync"),), None, {}, "log"),
    ((_waits("IO:DataFileRead"),), None, {}, "data"),
    ((_waits("Lock:tuple"), _waits("CPU", 1.0)), None, {}, "locks"),
    ((_waits("Lock:tuple", 1.0), _waits("CPU", 3.0)), None, {}, "unknown"),
    ((), None, {"w": 12}, "pool"),
    ((), None, {"w": 13}, "unknown"),
])  # fmt: skip
def test_a_stall_has_the_cause_that_samples_of_its_second_show(
    samples: Sequence[Any], checkpoint_s: Any, pooled: dict[str, int], cause: str
) -> None:
    """The surest first; without a sign none is named, nor a checkpoint that always runs."""
    rows = _rows("collector subject metric at_s value", samples)
    ended = [(checkpoint_s[0], OVER[1], checkpoint_s[1])] if checkpoint_s else []
    seconds = _seconds(*USUAL, 10, *[100] * 4)
    found = explain_stalls(
        seconds, _checkpoints(OVER, *ended), rows, pooled, declaration("postgresql")
    )
    assert found == (ServerStall("w", 105, 0.9, cause),)


def test_seconds_that_chance_leaves_empty_are_no_stall() -> None:
    """Of nine transactions a second none is now and then done by chance; half is no stall."""
    assert find_stalled_seconds(_seconds(9, 9, 0, 9, 9)) == {}
    assert find_stalled_seconds(_seconds(100, 100, 50, 49, 100)) == {"w": {103: 0.51}}


def test_more_waits_for_storage_are_never_a_smaller_part_of_the_users_time() -> None:
    """Also where more sessions wait than there are users, on a device that is always in use."""
    parts = [
        observed(places=10, sessions=sessions(log=log), devices=disk(1.0)).part("log")
        for log in (7.0, 10.0, 17.0)
    ]
    assert parts == [pytest.approx(each) for each in (0.7, 1.0, 1.0)]


def test_shares_of_tenants_are_of_the_time_of_all_their_users(tmp_path: Path) -> None:
    """Of three with four users each. With a neighbour the device's reads are not theirs alone."""
    alone, beside = (window_id("disk", 4, block) for block in (0, 1))
    of_all = {"users": 12, "connections_opened": 9}
    activities = {alone: "hammer", beside: "hammer, neighbour-block-io"}
    changes = {each: {**of_all, "activity": name} for each, name in activities.items()}
    shape = Shape(candidates=("disk",), users=(4,), repeat=2, pool=3, changes=changes)
    context = context_built(tmp_path, shape)
    run = context.run
    tables = ObservedTables(context.sampled, run.seconds, run.surroundings, 2, frozenset(), {})
    found = {each.window_id: each for each in observe_windows(context.evidence, tables)}
    assert [each.places for each in found.values()] == [12, 12]
    assert found[alone].pool_waiting is not None, "nine connections are fewer than twelve users"
    assert count_pool_users(context.evidence) == {alone: 12, beside: 12}
    reads = {name: each.devices[0].reads_under_way for name, each in found.items()}
    assert (reads[alone] or 0) > 0
    assert reads[beside] is None


def test_a_database_elsewhere_is_judged_by_its_exporter(tmp_path: Path) -> None:
    """Its host's CPUs limit, and not this machine's; devices count that are named; gaps do not."""
    far = {"round_trip_s": 0.001}
    names = [window_id("disk", 4, block) for block in (0, 1)]
    shape = Shape(candidates=("disk",), users=(4,), repeat=2, changes=dict.fromkeys(names, far))
    root = build_run(tmp_path / "run", shape).root
    with_hosts(root, role="database", devices=("sda",))
    path = RunDirectory(root).window(names[1]).table("series")
    kept = (pl.col("subject") != "nas") | (pl.col("second") > 12)
    rewrite(path, pl.read_parquet(path).filter(kept))
    found = judge_run(read_run(root)).limited
    seen, unseen = (found[name] for name in names)
    assert seen.by is not None
    assert seen.by.rule == "host-cpu"
    assert seen.by.says.startswith("the CPUs of nas were busy 9")
    cause = judge_level([seen])
    assert cause is not None
    assert cause.of == "nas"
    silent = {each.rule: each.because for each in unseen.silent}
    assert "too few readings" in (silent["host-cpu"] or "")
