"""The scenario backup: with and without in the same rounds, as often, with room for it."""

from collections import Counter
from itertools import pairwise

import pytest

from fakes.machine import FakeMachine
from stithy.engines.backup import BackupOptions
from stithy.engines.engine import get_engine
from stithy.errors import UserError
from stithy.plan.cost import sum_space
from stithy.plan.expand import expand
from stithy.plan.steps import Plan, WindowPlan
from stithy.point import OFF, ON
from stithy.run.preflight import list_cautions
from stithy.scenarios.backup.keys import BACKUP, CYCLES_MOST, MAXIMUM, RATE
from stithy.scenarios.backup.plan import PLUGINS, find_spec, has_no_backup, list_proven
from stithy.study.agents import list_agents
from support.studies import load, primary, problems, refused, study, study_text

ASKED = primary("{users: 4, blocks: 6}")


NO_USERS = ("load:\n  users: [1, 4]\n  ramp_up: 2 s\n  duration: 3 s\n", "load: {repeat: 2}\n")
USERS_WAIT = "during: {users: [1, 4]}"
SHARES = "during: {rate: [50%, 80%]}"


def scenario(keys: str) -> tuple[str, str]:
    """A change that names the scenario with these keys."""
    return "study:", f"scenario: {{backup: {{{keys}}}}}\nstudy:"


def windows(plan: Plan) -> list[WindowPlan]:
    """All windows in their order."""
    return [step.window for step in plan.steps if step.kind == "window" and step.window]


def blocks(plan: Plan, users: int, backup: str) -> list[tuple[int, int, tuple[str, ...], bool]]:
    """Of the first candidate's windows at a point: block, seed, activities, and if it is spared."""
    return [
        (step.window.block, step.window.seed, step.window.activities, step.if_undecided)
        for step in plan.steps
        if step.kind == "window" and step.window is not None and step.candidate == "disk"
        and (step.window.point.level, step.window.point.values[BACKUP]) == (users, backup)
    ]  # fmt: skip


def test_the_default_method_is_the_engines_first() -> None:
    """PostgreSQL's own backup of files."""
    assert find_spec(study(scenario(USERS_WAIT), ASKED)).method == "basebackup"


def test_windows_with_and_without_backups_have_the_same_blocks_users_and_end() -> None:
    """Only what happens beside the users differs, so that the difference is that of backups."""
    plan = expand(study(scenario(f"{USERS_WAIT}, cycles: 2"), ASKED))
    off, on = blocks(plan, 4, OFF), blocks(plan, 4, ON)
    assert [(block, seed, spared) for block, seed, _, spared in off] == [
        (block, seed, spared) for block, seed, _, spared in on
    ]
    assert len(on) == 6
    assert [spared for *_, spared in on] == [False] * 4 + [True] * 2
    assert {activities for _, _, activities, _ in off} == {("hammer",)}
    assert {activities for _, _, activities, _ in on} == {("hammer", "backup")}
    assert len(blocks(plan, 1, ON)) == len(blocks(plan, 1, OFF)) == 1


def test_rates_are_shares_of_a_maximum_that_is_measured_once_before_all_of_them() -> None:
    """Without backups and back to back; all candidates get shares of the lowest unless each its
    own.
    """
    assert expand(study(scenario(""))) == expand(study(scenario(SHARES)))
    for of, expected in ((", of: own", [("disk",), ("memory",)]), ("", [("disk", "memory")])):
        plan = expand(study(scenario(f"during: {{rate: [50%, 80%]{of}}}"), ASKED))
        every = windows(plan)
        first = [each for each in every if each.point.values[RATE] == MAXIMUM]
        assert every[: len(first)] == first
        assert {(each.block, each.point.values[BACKUP]) for each in first} == {(0, OFF)}
        assert sorted((each.candidate, each.point.level) for each in first) == [
            ("disk", 1), ("disk", 4), ("memory", 1), ("memory", 4),
        ]  # fmt: skip
        assert all(each.rate_share is None and each.activities == ("hammer",) for each in first)
        later = every[len(first) :]
        assert {(each.point.values[RATE], each.rate_share) for each in later} == {
            ("50%", 0.5), ("80%", 0.8),
        }  # fmt: skip
        assert sorted({each.maximum_of for each in later}) == expected
        at = {each.point.level: str(each.point) for each in first}
        assert all(each.maximum_at == at[each.point.level] for each in later)
        assert plan.question is not None
        assert str(plan.question.point) == "users=4, rate=80%, backup=on"
        assert plan.question.metric == "p95"


def test_settings_of_backups_and_rates_have_the_blocks_of_the_question_and_one_maximum() -> None:
    """What the frontier compares; the maximum is that of no setting."""
    vary = ("study:", "vary: {scenario.backup.compression: [none, lz4]}\nstudy:")
    plan = expand(study(scenario(SHARES), ASKED, vary))
    counted = Counter(each.point for each in windows(plan) if each.point.level == 4)
    maximum = [count for point, count in counted.items() if point.values[RATE] == MAXIMUM]
    assert maximum == [2]
    assert sorted(counted.values()) == [2, *[12] * 6], "at each rate once without, and with both"


def test_whatever_else_varies_has_the_blocks_of_the_question() -> None:
    """Not only settings of backups: with backups and without, at each memory."""
    vary = ("study:", "vary: {database.memory: [512 MiB, 1 GiB]}\nstudy:")
    plan = expand(study(scenario(USERS_WAIT), ASKED, vary))
    counted = Counter(each.point for each in windows(plan))
    assert [count for point, count in counted.items() if point.level == 4] == [12] * 4
    assert {count for point, count in counted.items() if point.level == 1} == {2}


FRONTIER = "scenario.backup.processes: [2, 1, 4], scenario.backup.compression: [none, lz4, zstd]"


def test_a_combination_that_the_method_cannot_have_is_left_out_and_said() -> None:
    """The others are measured; the maximum is that of the first of them."""
    varied = ("study:", f"vary: {{{FRONTIER}}}\nstudy:")
    asked = study(scenario(SHARES), ASKED, varied)
    assert set(asked.impossible.values()) == {
        "basebackup uses several processes only with `compression: zstd`"
    }
    measured = {
        (point.values["scenario.backup.processes"], point.values["scenario.backup.compression"])
        for point in asked.points if point.values[BACKUP] == ON
    }  # fmt: skip
    assert measured == {(1, "none"), (1, "lz4"), (1, "zstd"), (2, "zstd"), (4, "zstd")}
    every = windows(expand(asked))
    assert {each.maximum_at for each in every if each.rate_share} == {
        f"users={users}, rate=max, backup=off, scenario.backup.processes=2, "
        "scenario.backup.compression=zstd"
        for users in (1, 4)
    }  # fmt: skip
    said = next(list_cautions(asked, FakeMachine()))
    assert said.startswith("4 combinations of `vary` cannot be had and will not be measured: base")


@pytest.mark.parametrize(("engine", "method"), [
    ("postgresql", "pgbackrest"), ("mariadb", "copy"), ("mariadb", "chain"), ("sqlite", "online"),
    ("sqlserver", "native"), ("postgresql", "dump"), ("mariadb", "dump"), ("mysql", "dump"),
])  # fmt: skip
def test_an_agent_makes_what_is_read_through_a_server(engine: str, method: str) -> None:
    """Another host has no files of this one, and what a server does itself has no client."""
    options = BackupOptions(agent="host-b")
    because = get_engine(engine).get_backup(method).explain_refusal(options)
    assert (because is None) == (method == "dump")
    assert because is None or because.startswith(f"{method} has no `agent`: ")


def test_backups_have_an_agent_of_their_own_and_may_vary_it() -> None:
    """All that a study names are found; an agent does one thing at a time, as its place says."""
    keys = f"{USERS_WAIT}, agent: host-b"
    vary = ("study:", "vary: {scenario.backup.agent: [none, host-b, host-c]}\nstudy:")
    load = ("  ramp_up", "  agents: [host-a]\n  ramp_up")
    asked = study(scenario(USERS_WAIT), vary, load)
    assert list_agents(asked) == ("host-a", "host-b", "host-c")
    steps = [step.id for step in expand(asked).steps if step.kind == "try-agents"]
    assert len(steps) == len(asked.candidates)
    assert not any(step.kind == "try-agents" for step in expand(study(scenario(USERS_WAIT))).steps)
    taken = ("  ramp_up", "  agents: [host-b]\n  ramp_up")
    (found,) = problems(study_text(scenario(keys), taken))
    assert "host-b, which makes backups: an agent does one thing at a time" in str(found)
    assert "agents: [host-b]" in found.excerpt


def test_a_value_that_no_combination_can_have_is_refused() -> None:
    """It is wrong by itself, and leaving it out would hide that."""
    varied = ("study:", "vary: {scenario.backup.processes: [1, 2]}\nstudy:")
    with pytest.raises(UserError, match="several processes only with"):
        expand(study(scenario(SHARES), ASKED, varied))


def test_a_question_about_a_combination_that_is_not_measured_is_refused() -> None:
    """Where it says none, it is asked at the study's own values, or at the first that are."""
    varied = ("study:", f"vary: {{{FRONTIER}}}\nstudy:")
    at = "{at: {scenario.backup.processes: 4, scenario.backup.compression: lz4}}"
    assert refused(scenario(SHARES), varied, primary(at)) == ["primary.at"]
    own = study(scenario(f"{SHARES}, processes: 1"), ASKED, varied).asked_point
    assert own.values["scenario.backup.compression"] == "none"
    zstd = study(scenario(f"{SHARES}, processes: 4"), ASKED, varied).asked_point
    assert (zstd.values["scenario.backup.processes"], zstd.values[BACKUP]) == (2, ON)
    assert zstd in study(scenario(f"{SHARES}, processes: 4"), ASKED, varied).points


@pytest.mark.parametrize(
    ("methods", "off"), [("[basebackup, dump]", 2), ("[basebackup, pgbackrest]", 1 + 3)]
)
def test_windows_without_backups_are_measured_once_for_all_settings_of_a_method(
    methods: str, off: int
) -> None:
    """But not where its server archives by them; each with backups has one to be compared with."""
    listed = f"scenario.backup.method: {methods}, scenario.backup.compression: [none, gzip, zstd]"
    varied = ("study:", f"vary: {{{listed}}}\nstudy:")
    points = study(scenario(USERS_WAIT), ASKED, varied).points
    at_four = [each for each in points if each.level == 4]
    assert len([each for each in at_four if each.values[BACKUP] == OFF]) == off
    for point in at_four:
        if point.values[BACKUP] == ON:
            other = has_no_backup(point, points)
            assert other in points
            method = "scenario.backup.method"
            assert (other.level, other.values[method]) == (4, point.values[method])


def test_an_idle_database_has_windows_of_backups_alone() -> None:
    """Nobody works: there is no level, no driver to calibrate, and nothing without backups."""
    idle = study(scenario("during: idle, cycles: 3"), NO_USERS)
    every = windows(expand(idle))
    assert {each.activities for each in every} == {("backup",)}
    assert {str(each.point) for each in every} == {"backup=on"}
    assert {each.ramp_up_s for each in every} == {0.0}
    assert all(step.kind != "calibrate" for step in expand(idle).steps)


def test_what_users_do_and_the_load_must_agree() -> None:
    """Each error is at the key to change."""
    for keys, more, places in (
        ("during: idle", (), ["load.users", "load.ramp_up", "load.duration"]),
        ("during: {rate: 50%}", (load("rate: 5/s"),), ["load.rate"]),
        ("during: {rate: 50%}", (load("pace: keyed"),), ["load.pace"]),
        ("during: {users: 7}", (), ["load.users"]),
        ("during: {rate: 50/s}", (), ["scenario.backup.during"]),
        ("during: {rate: 50%, of: both}", (), ["scenario.backup.during"]),
        ("during: busy", (), ["scenario.backup.during"]),
        ("limit: 0%", (), ["scenario.backup.limit"]),
    ):
        assert refused(scenario(keys), *more) == places, keys


def test_a_run_keeps_the_limit_and_whose_maximum_shares_are_of() -> None:
    """As the report reads them; where there are no shares there is no maximum."""
    for keys, limit, of in (
        ("", 0.2, "slowest"),
        ("limit: 12.5%, during: {rate: 50%, of: own}", 0.125, "own"),
    ):
        assert PLUGINS[0].list_facts(study(scenario(keys))) == {
            "limit_share": limit,
            "shares_of": of,
        }
    for keys in ("during: {users: 4}", "during: idle"):
        more = (NO_USERS,) if "idle" in keys else ()
        assert PLUGINS[0].list_facts(study(scenario(keys), *more)) == {"limit_share": 0.2}, keys


def test_room_is_planned_for_the_backup_and_for_what_is_restored() -> None:
    """Before anything is made; without a proof nothing is restored."""
    usual = sum_space(expand(study(load("repeat: 1"))))["disk"]
    proven = sum_space(expand(study(scenario(""), load("repeat: 1"))))["disk"]
    plain = sum_space(expand(study(scenario("verify: false"), load("repeat: 1"))))["disk"]
    assert (plain, proven) == (2 * usual, 3 * usual)


def test_each_candidate_is_proven_at_the_end_unless_the_study_says_otherwise() -> None:
    """After all windows, on a database that nobody changes."""
    for keys, expected in (("", ["disk", "memory"]), ("verify: false", [])):
        kinds = [(step.kind, step.candidate) for step in expand(study(scenario(keys))).steps]
        assert [name for kind, name in kinds if kind == "prove-backup"] == expected
        last = max(place for place, (kind, _) in enumerate(kinds) if kind == "window")
        assert all(kind != "prove-backup" for kind, _ in kinds[:last])


def test_a_method_that_no_engine_has_is_refused() -> None:
    """At its key."""
    assert refused(scenario("method: tape")) == ["scenario.backup.method"]


def test_options_that_the_method_cannot_have_are_refused_before_a_run() -> None:
    """The plan says it, without asking the machine."""
    with pytest.raises(UserError, match="no `bandwidth`"):
        expand(study(scenario("method: dump, bandwidth: 1 MiB")))


def test_a_repository_is_made_before_each_window_with_backups_or_without() -> None:
    """What it costs all the time is no cost of a backup."""
    plan = expand(study(scenario("method: pgbackrest"), ASKED))
    steps = [step for step in plan.steps if step.window is not None]
    for before, step in pairwise(steps):
        if step.kind == "window":
            assert before.kind == "prepare-backup"
            assert (before.window, before.if_undecided) == (step.window, step.if_undecided)
    assert not any(step.kind == "prepare-backup" for step in expand(study(scenario(""))).steps)


def test_room_is_planned_for_all_backups_that_a_method_keeps_and_for_the_log() -> None:
    """A full one beside the next, or one on which each increment builds."""
    once = load("repeat: 1")
    usual = sum_space(expand(study(once)))["disk"]
    room = {
        keys: sum_space(expand(study(scenario(keys), once)))["disk"] - 2 * usual
        for keys in (
            "method: pgbackrest",
            "method: pgbackrest, kind: incremental, cycles: 3",
            "method: pgbackrest, kind: differential, cycles: 3",
        )
    }
    full, increments, differences = room.values()
    log = full - 2 * usual
    assert log > 0
    assert (increments, differences) == (4 * usual + log, 3 * usual + log)


def test_backups_follow_each_other_until_the_end_unless_the_study_gives_their_number() -> None:
    """One alone would leave the faster candidate's users in peace for most of the measurement."""
    for keys, most in (
        ("", CYCLES_MOST), ("cycles: 2", 2),
        ("kind: incremental", 1), ("kind: incremental, cycles: 3", 3),
    ):  # fmt: skip
        method = "method: pgbackrest, " if keys else ""
        assert find_spec(study(scenario(f"{method}{keys}"))).cycles_most == most, keys
    assert find_spec(study(scenario("during: idle"), NO_USERS)).cycles_most == 1


def test_each_method_kind_and_compression_is_proven_once() -> None:
    """However many points have it; the planned time grows with their number."""
    varied = (
        "vary: {scenario.backup.compression: [none, gzip], scenario.backup.cycles: [1, 2]}\nstudy:"
    )
    several = study(scenario(""), ("study:", varied))
    assert [options.compression for _, options in list_proven(several)] == ["none", "gzip"]
    one, two = (
        next(step.cost for step in expand(each).steps if step.kind == "prove-backup")
        for each in (study(scenario("")), several)
    )
    assert two.time_s == pytest.approx(2 * one.time_s)
