"""A study becomes ordered steps; the machine is not asked."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stithy.plan.cost import (
    certain,
    costs_of_short_windows,
    memory_bytes,
    space_by_candidate,
    total_s,
)
from stithy.plan.expand import expand, master_candidate, nulled
from stithy.plan.steps import Plan, derive_seed, window_id
from stithy.search import ResponseTarget
from support.studies import study


def kinds(plan: Plan, candidate: str) -> list[str]:
    """The kinds of a candidate's steps, in order."""
    return [step.kind for step in plan.steps if step.candidate == candidate]


def plan_of(*changes: tuple[str, str]) -> Plan:
    """The plan of the small study after some changes."""
    return expand(study(*changes))


ONCE = ("ramp_up", "repeat: 1\n  ramp_up")


def test_each_candidate_is_provisioned_measured_checked_and_torn_down() -> None:
    """The master candidate also loads the database and keeps its master copy."""
    plan = plan_of(ONCE)
    windows = ["restore", "window"] * 2
    assert kinds(plan, "memory") == ["provision", *windows, "check", "tear-down"]
    assert kinds(plan, "disk") == [
        *["provision", "prepare", "check", "calibrate", "snapshot"],
        *[*windows, "check", "tear-down"],
    ]


def test_the_full_checks_follow_all_windows() -> None:
    """The databases are still there then, and how many windows come is not known before."""
    steps = plan_of(("[1, 4]", "[1, 4, 13]"), ("ramp_up", "repeat: 3\n  ramp_up")).steps
    checks = [step for step in steps if step.at_end]
    assert [step.id for step in checks] == ["check-end-disk", "check-end-memory"]
    later = steps[steps.index(checks[0]) :]
    assert not any(each.kind == "window" for each in later)


def test_every_window_starts_from_a_restore() -> None:
    """Of the same window, directly before it."""
    windows = [each for each in pairwise(plan_of().steps) if each[1].kind == "window"]
    assert windows
    for before, step in windows:
        assert before.kind == "restore"
        assert before.window == step.window


def test_ids_are_unique() -> None:
    """A journal is matched to a plan by them."""
    steps = plan_of(("[1, 4]", "[1, 4, 13]"), ("ramp_up", "repeat: 5\n  ramp_up")).steps
    assert len({step.id for step in steps}) == len(steps)


def test_the_same_study_and_seed_give_the_same_plan() -> None:
    """And another seed another order or other draws."""
    assert plan_of() == plan_of()
    assert plan_of(("study:", "seed: 2\nstudy:")) != plan_of()


def test_planning_does_not_look_at_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths need not exist, and nobody asks whether they do."""
    made = study(("/var/tmp/stithy", "/no/such/place"))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the machine was looked at")

    for name in ("exists", "stat", "is_dir", "resolve", "open"):
        monkeypatch.setattr(Path, name, refuse)
    assert expand(made).steps


@pytest.mark.parametrize(
    ("disk", "memory", "expected"),
    [
        ("/var/tmp/stithy", "/dev/shm/stithy", "disk"),
        ("/dev/shm/stithy", "/var/tmp/stithy", "memory"),
        ("/dev/shm/one", "/run/two", "disk"),
    ],
)
def test_the_database_is_loaded_on_the_first_candidate_that_is_not_memory(
    disk: str, memory: str, expected: str
) -> None:
    """Where all are memory, on the first."""
    read = study(
        ("{path: /var/tmp/stithy}", f"{{path: {disk}}}"),
        ("memory: {path: /dev/shm/stithy}", f"memory: {{path: {memory}}}"),
    )
    assert master_candidate(read) == expected


def test_all_candidates_have_the_same_room_which_is_that_of_the_database() -> None:
    """The bound that volumes are checked against before anything starts."""
    plan = plan_of()
    working = plan.database_bytes + plan.growth_bytes
    assert space_by_candidate(plan) == {"disk": working, "memory": working}
    drives = plan_of(
        ("{path: /var/tmp/stithy}", "{drive: a}"), ("{path: /dev/shm/stithy}", "{drive: b}")
    )
    assert drives.image_bytes["disk"] == drives.image_bytes["memory"] > 0
    provisions = [step for step in plan.steps if step.kind == "provision"]
    assert {each.candidate: each.cost.space_bytes for each in provisions} == space_by_candidate(
        plan
    )


def test_more_warehouses_users_and_time_need_more() -> None:
    """Estimates grow with what they estimate."""
    small = plan_of()
    assert plan_of(("warehouses: 2", "warehouses: 20")).database_bytes > small.database_bytes
    assert plan_of(("[1, 4]", "[1, 8]")).growth_bytes > small.growth_bytes
    assert total_s(plan_of(("3 s", "30 s")).steps)[0] > total_s(small.steps)[0]


def test_the_write_ahead_log_counts_as_the_settings_have_it() -> None:
    """`max_wal_size` is the largest part of a small database."""
    settings = "1 GiB\n  settings: {max_wal_size: 4GB}"
    more = plan_of(("1 GiB", settings)).database_bytes - plan_of().database_bytes
    assert more == pytest.approx(3 * 2**30 * 1.2)


def test_log_files_are_kept_for_all_that_the_longest_window_may_write() -> None:
    """With users who do not pause that is all that the log may hold; more is recycled meanwhile."""
    free = plan_of()
    assert free.log_bytes == pytest.approx(2**30 * 1.2)
    thinking = plan_of(("[1, 4]", "[1, 4]\n  pace: {think: 2 s}"))
    window_s = 1.2 * 4 / 2 * (1 + 3)
    assert thinking.log_bytes == pytest.approx(window_s * 64 * 1024, rel=0.3)
    # Each restore copies them.
    [long, short] = [total_s(each.steps)[0] for each in (free, thinking)]
    assert long > short + 5


def test_a_volume_in_memory_adds_to_the_memory_that_a_run_takes() -> None:
    """Its pages are charged to the server."""
    plan = plan_of()
    assert memory_bytes(plan) == 2**30 + space_by_candidate(plan)["memory"]
    assert memory_bytes(plan_of(("/dev/shm/stithy", "/srv/stithy"))) == 2**30


def test_likely_times_are_below_their_bounds() -> None:
    """Every step."""
    assert all(0 < step.cost.time_s < step.cost.time_s_max for step in plan_of().steps)


def test_users_who_think_or_share_connections_write_less() -> None:
    """The room that a window needs follows from what its users can do at most."""
    free = plan_of(("[1, 4]", "[1, 400]")).growth_bytes
    pooled = plan_of(("[1, 4]", "[1, 400]\n  connections: 2")).growth_bytes
    thinking = plan_of(("[1, 4]", "[1, 400]\n  pace: {think: 2 s}")).growth_bytes
    keyed = plan_of(("[1, 4]", "[1, 400]\n  pace: keyed\n  users_per_warehouse: 200"))
    slow = plan_of(("[1, 4]", "[1, 400]\n  rate: 10/s")).growth_bytes
    assert free > pooled > thinking > keyed.growth_bytes > slow


def test_the_driver_is_calibrated_once_unless_the_study_wants_it_not() -> None:
    """Before the master copy is made; numbers of users take as long again as rates."""
    steps = plan_of().steps
    [step] = [each for each in steps if each.kind == "calibrate"]
    assert steps[steps.index(step) + 1].kind == "snapshot"
    paced = plan_of(("ramp_up", "pace: keyed\n  ramp_up"), ("warehouses: 2", "warehouses: 20"))
    [longer] = [each for each in paced.steps if each.kind == "calibrate"]
    assert longer.cost.time_s == 2 * step.cost.time_s
    without = plan_of(("ramp_up", "calibrate: false\n  ramp_up")).steps
    assert not any(each.kind == "calibrate" for each in without)


def test_comparing_ledgers_takes_time() -> None:
    """After each window."""
    plain, kept = plan_of(), plan_of(("ramp_up", "ledger: true\n  ramp_up"))
    windows = sum(step.kind == "window" for step in plain.steps)
    assert total_s(kept.steps)[0] - total_s(plain.steps)[0] == pytest.approx(2.0 * windows)


def test_the_level_of_the_question_gets_blocks_until_it_is_decided_and_comes_last() -> None:
    """Four in any case; what comes after them is marked as left out once it is decided."""
    plan = plan_of(("[1, 4]", "[4, 1]"), ("study:", "primary: {blocks: 6}\nstudy:"))
    windows = [step for step in plan.steps if step.kind == "window"]
    blocks = [(step.window.users, step.window.block) for step in windows if step.window]
    assert blocks == [
        (1, 0), (1, 0), *[(4, block) for block in range(6) for _ in "ab"],
    ]  # fmt: skip
    for step in plan.steps:
        sure = step.window is None or step.window.block < 4
        assert step.if_undecided is not sure
    # Two blocks: a canary, and of two candidates a restore and a window.
    assert len(certain(plan.steps)) == len(plan.steps) - 2 * (1 + 2 * 2)


def test_each_block_begins_with_a_canary() -> None:
    """It concerns no candidate, and is left out with its block."""
    plan = plan_of(("study:", "primary: {blocks: 6}\nstudy:"))
    canaries = [step for step in plan.steps if step.kind == "baseline-check"]
    assert [(step.window.users, step.window.block) for step in canaries if step.window] == [
        (1, 0), *[(4, block) for block in range(6)],
    ]  # fmt: skip
    for step in canaries:
        following = plan.steps[plan.steps.index(step) + 1]
        assert (following.kind, following.window) == ("restore", step.window)
        assert step.candidate is None
        assert step.if_undecided == following.if_undecided


def test_four_blocks_at_most_are_four_blocks() -> None:
    """Nothing is left out, and other levels have their one."""
    plan = plan_of(("study:", "primary: {blocks: 4, users: 1}\nstudy:"))
    assert certain(plan.steps) == list(plan.steps)
    assert sum(step.kind == "window" for step in plan.steps) == 2 * (1 + 4)


def test_a_fixed_number_of_blocks_is_kept_at_every_level() -> None:
    """In the order written, whatever the question is."""
    plan = plan_of(("ramp_up", "repeat: 2\n  ramp_up"), ("study:", "primary: {users: 1}\nstudy:"))
    levels = [step.window.users for step in plan.steps if step.kind == "window" and step.window]
    assert levels == [1] * 4 + [4] * 4
    assert certain(plan.steps) == list(plan.steps)


def test_a_null_study_measures_two_volumes_that_are_alike() -> None:
    """Each is provisioned, checked and torn down, and has its room."""
    plan = expand(study(ONCE), null=True)
    names = {step.window.candidate for step in plan.steps if step.window}
    assert names == {"disk", "disk-again"}
    assert {step.candidate for step in plan.steps if step.kind != "baseline-check"} == names
    assert [step.kind for step in plan.steps].count("provision") == 2
    assert plan.null
    assert plan.question is not None
    assert plan.question.candidates == ("disk", "disk-again")
    assert list(space_by_candidate(plan)) == ["disk", "disk-again"]


def test_a_single_candidate_has_no_question() -> None:
    """And one block a level."""
    plan = plan_of(("  memory: {path: /dev/shm/stithy}\n", ""))
    assert plan.question is None
    assert sum(step.kind == "window" for step in plan.steps) == 2


def test_the_first_candidate_stays_and_gets_its_like() -> None:
    """The question names no pair any more: it would name a candidate that is gone."""
    read = study(("study:", "primary: {candidates: [memory, disk], users: 1}\nstudy:"))
    alone = nulled(read)
    assert list(alone.candidates) == ["disk", "disk-again"]
    first, second = (candidate.spec for candidate in alone.candidates.values())
    assert second == first.model_copy(update={"path": Path("/var/tmp/stithy-again")})
    assert nulled(alone) == alone
    assert alone.primary.candidates is None
    assert alone.primary.users == 1


def test_an_emulated_drive_gets_another_of_the_same_profile() -> None:
    """Whatever the lines say holds for both; a run seeds each by its name."""
    alone = nulled(study(("{path: /var/tmp/stithy}", "{drive: generic-nvme, size: 4 GiB}")))
    first, second = alone.candidates.values()
    assert first == second
    plan = expand(alone, null=True)
    assert len(set(plan.image_bytes.values())) == 1 == len(plan.image_bytes) - 1


def test_a_null_study_has_no_thresholds() -> None:
    """They name candidates that it does not measure, and would be told as not judged."""
    threshold = "thresholds: [memory.nopm_at_4 > 2 * disk.nopm_at_4]\nworkload:"
    asked = study(("workload:", threshold))
    assert asked.thresholds
    assert nulled(asked).thresholds == ()


def test_the_limit_of_a_search_stays_as_one_that_is_drawn() -> None:
    """Nothing is searched for, and what was measured is held against it all the same."""
    find = "  users: [1, 4]\n  find: max users with p95 of new-order ≤ 1 s\n"
    alone = nulled(study(("  users: [1, 4]\n", find)))
    assert alone.load.find is None
    assert alone.load.limit == ResponseTarget("p95", "new-order", 1.0)


NAME = st.from_regex(r"[a-z0-9][a-z0-9-]{0,12}", fullmatch=True)


WINDOW = st.tuples(NAME, st.integers(1, 10**5), st.integers(0, 999))


def test_an_id_says_what_the_window_is() -> None:
    """It is also the name of the window's directory."""
    assert window_id("disk", 4, 0) == "w-disk-u4-b0"


@given(WINDOW, WINDOW)
def test_different_windows_have_different_ids(
    one: tuple[str, int, int], other: tuple[str, int, int]
) -> None:
    """Whatever the candidates are called."""
    assert (one == other) == (window_id(*one) == window_id(*other))


def test_a_seed_never_changes() -> None:
    """Old studies give their old plans; a change here breaks that and must be on purpose."""
    assert derive_seed(1, 4, 0) == 8962321159997215273


@given(st.integers(0, 2**63 - 1), st.integers(), st.text())
def test_a_seed_fits_a_signed_64_bit_column(seed: int, number: int, text: str) -> None:
    """Parquet, JSON and the hammer all hold it exactly."""
    assert 0 <= derive_seed(seed, number, text) < 2**63


def test_windows_of_the_usual_length_cost_nothing() -> None:
    """Nor do longer ones."""
    assert costs_of_short_windows(30.0, 60.0) == ()
    assert costs_of_short_windows(60.0, 600.0) == ()


def test_each_part_that_is_short_is_told_by_itself() -> None:
    """Who shortens only one of them is not told of the other."""
    [ramp_up] = costs_of_short_windows(5.0, 60.0)
    assert "A ramp-up of 5 s instead of 30 s" in ramp_up
    [duration] = costs_of_short_windows(30.0, 15.0)
    assert "Windows of 15 s instead of 1 min" in duration
    assert costs_of_short_windows(5.0, 15.0) == (ramp_up, duration)
