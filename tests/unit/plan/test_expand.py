"""A study becomes ordered steps with their costs and datasets; the machine is not asked."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stithy.errors import UserError
from stithy.plan.cost import bound_memory_bytes, explain_short_windows, sum_s, sum_space
from stithy.plan.expand import choose_master_candidate, expand, nullify_study
from stithy.plan.sensitivity import check, list_profiles, narrow_study
from stithy.plan.steps import Plan, write_question
from stithy.scenarios.load import plan as scenario_load
from stithy.search import ResponseTarget
from stithy.study.load import StudyFile, parse_study
from stithy.study.model import Study
from support.running import write_study
from support.studies import load, primary, study, study_text, workload

Change = tuple[str, str]


def plan_of(*changes: Change) -> Plan:
    """The plan of the small study after some changes."""
    return expand(study(*changes))


def test_each_candidate_is_provisioned_measured_checked_and_torn_down() -> None:
    """The master candidate also loads the database, is calibrated, and keeps its master copy."""
    plan = plan_of(load("repeat: 1"))
    kinds = {
        name: [step.kind for step in plan.steps if step.candidate == name]
        for name in ("disk", "memory")
    }
    windows = ["restore", "window", "restore", "window", "check", "tear-down"]
    loading = ["prepare", "check", "calibrate", "snapshot"]
    assert kinds == {"memory": ["provision", *windows], "disk": ["provision", *loading, *windows]}
    assert plan_of() == plan_of() != plan_of(("study:", "seed: 2\nstudy:"))
    without = plan_of(load("calibrate: false")).steps
    assert not any(each.kind == "calibrate" for each in without)


def test_a_plan_that_loses_a_window_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever names it: one of two windows would silently not be measured."""
    name = "stithy.plan.scenario.make_window_id"
    monkeypatch.setattr(name, lambda candidate, point, block: f"w-{candidate}")
    with pytest.raises(ValueError, match="two steps have one id"):
        plan_of()


def test_every_window_starts_from_a_restore_and_every_block_from_a_baseline_check() -> None:
    """Of the same window, directly before it; full checks follow all windows, ids are unique."""
    steps = plan_of(("[1, 4]", "[1, 4, 13]"), load("repeat: 3")).steps
    assert len({step.id for step in steps}) == len(steps)
    assert all(0 < step.cost.time_s < step.cost.time_s_max for step in steps)
    assert [step.id for step in steps if step.at_end] == ["check-end-disk", "check-end-memory"]
    last = max(number for number, step in enumerate(steps) if step.kind == "window")
    assert last < min(number for number, step in enumerate(steps) if step.at_end)
    before = {step.id: each for each, step in pairwise(steps)}
    for step in steps:
        if step.kind == "window":
            assert (before[step.id].kind, before[step.id].window) == ("restore", step.window)
        if step.kind == "restore" and step.window:
            starts = before[step.id].kind == "baseline-check"
            assert starts is (step.window.position == 0)
            assert not starts or before[step.id].window == step.window


@pytest.mark.parametrize("key", [
    "vary: {database.memory: [256 MiB, 1 GiB]}",
    "scenario: {noisy-neighbour: {rate: [100], size: 16 MiB}}",
])  # fmt: skip
def test_what_is_compared_at_the_questions_level_has_its_blocks(key: str) -> None:
    """All of them are spared together, with what is around them; one block is enough elsewhere."""
    plan = plan_of(primary("{users: 4, blocks: 6}"), ("study:", f"{key}\nstudy:"))
    steps = [(step, step.window) for step in plan.steps if step.window]
    windows = Counter((each.point.level, str(each.point), each.candidate) for step, each in steps
                      if step.kind == "window")  # fmt: skip
    assert {(users, count) for (users, _, _), count in windows.items()} == {(1, 1), (4, 6)}
    assert len(windows) == 8
    for step, each in steps:
        assert step.if_undecided == (each.block >= 4), step.id


def test_the_database_is_loaded_on_the_first_candidate_that_is_not_memory() -> None:
    """Where all are memory, on the first; images of drives lie in memory, too."""
    for disk, memory, expected in (
        ("path: /var/tmp/stithy", "path: /dev/shm/stithy", "disk"),
        ("path: /dev/shm/stithy", "path: /var/tmp/stithy", "memory"),
        ("path: /dev/shm/one", "path: /run/two", "disk"),
        ("drive: gp3", "path: /var/tmp/stithy", "memory"),
    ):
        old, new = "memory: {path: /dev/shm/stithy", "memory: {" + memory
        found = choose_master_candidate(study(("path: /var/tmp/stithy", disk), (old, new)))
        assert found == expected


def test_all_candidates_have_the_same_room_which_is_that_of_the_database() -> None:
    """Checked before anything starts; a volume in memory, or an image, adds to the memory."""
    plan = plan_of()
    working = plan.database_bytes + plan.datasets[0].growth_bytes
    assert sum_space(plan) == {"disk": working, "memory": working}
    provisions = [step for step in plan.steps if step.kind == "provision"]
    assert [each.cost.space_bytes for each in provisions] == [working] * 2
    assert bound_memory_bytes(plan) == 2**30 + working
    assert bound_memory_bytes(plan_of(("/dev/shm/stithy", "/srv/stithy"))) == 2**30
    more = plan_of(("/dev/shm/stithy", "/srv/stithy, memory: 3 GiB"))
    used = {step.candidate: step.cost.memory_bytes for step in more.steps if step.kind == "window"}
    assert used == {"disk": 2**30, "memory": 3 * 2**30}
    to_drives = ("path: /var/tmp/stithy", "drive: a"), ("path: /dev/shm/stithy", "drive: b")
    images = plan_of(*to_drives).image_bytes
    assert images["disk"] == images["memory"] > 0


def growth(*lines: str) -> int:
    """What the longest window of 400 users with these lines may add to the database."""
    homes = workload("users_per_warehouse: 200") if "pace: keyed" in lines else ("1 GiB", "1 GiB")
    return plan_of(("[1, 4]", "[1, 400]"), load(*lines), homes).datasets[0].growth_bytes


def test_estimates_grow_with_what_they_estimate() -> None:
    """Warehouses, log, ledgers, time; users who think, queue or come at a rate write less."""
    small = plan_of()
    assert plan_of(("warehouses: 2", "warehouses: 20")).database_bytes > small.database_bytes
    assert (
        growth() > growth("connections: 2") > growth("pace: {think: 2 s}") > growth("pace: keyed")
    )
    assert growth("pace: keyed") > growth("rate: 10/s")
    log = plan_of(("1 GiB", "1 GiB\n  settings: {max_wal_size: 4GB}")).database_bytes
    assert log - small.database_bytes == pytest.approx(3 * 2**30 * 1.2)
    own = plan_of(("/dev/shm/stithy", "/dev/shm/stithy, settings: {max_wal_size: 4GB}"))
    assert own.database_bytes == log, "the master copy has files for the largest log"
    time_s = sum_s(small.steps)[0]
    windows = sum(step.kind == "window" for step in small.steps)
    kept = plan_of(load("ledger: true"))
    assert sum_s(kept.steps)[0] - time_s == pytest.approx(2.0 * windows)
    longer_s = sum_s(plan_of(("3 s", "30 s")).steps)[0] - time_s
    assert longer_s == pytest.approx(27 * windows)
    paced = plan_of(load("pace: keyed"), ("warehouses: 2", "warehouses: 20"))
    taken = [
        [s.cost.time_s for s in each.steps if s.kind == "calibrate"] for each in (small, paced)
    ]
    assert taken[1] == [2 * taken[0][0]], "numbers of users take as long again as rates"


def test_log_files_are_kept_for_all_that_the_longest_window_may_write() -> None:
    """With users who do not pause that is all that the log may hold; each restore copies them."""
    free, thinking = plan_of(), plan_of(load("pace: {think: 2 s}"))
    assert free.datasets[0].log_bytes == pytest.approx(2**30 * 1.2)
    assert thinking.datasets[0].log_bytes == pytest.approx(
        1.2 * 4 / 2 * (1 + 3) * 64 * 1024, rel=0.3
    )
    assert sum_s(free.steps)[0] > sum_s(thinking.steps)[0] + 5
    shown = [explain_short_windows(*each) for each in ((30, 60), (29, 60), (30, 59), (29, 59))]
    assert [len(each) for each in shown] == [0, 1, 1, 2], "what is short is told by itself"


def test_a_null_study_measures_its_first_candidate_against_its_like_and_demands_nothing() -> None:
    """No named pair, no threshold, no search; its limit stays as one that is drawn."""
    find = "  users: [1, 4]\n  find: max users with p95 of new-order ≤ 1 s\n"
    threshold = "thresholds: [memory.nopm_at_4 > 2 * disk.nopm_at_4]\nworkload:"
    asked = primary("{candidates: [memory, disk], users: 1}")
    read = study(asked, ("  users: [1, 4]\n", find), ("workload:", threshold))
    alone, plan = nullify_study(read), expand(read, null=True)
    first, second = (candidate.spec for candidate in alone.candidates.values())
    assert second == first.model_copy(update={"path": Path("/var/tmp/stithy-again")})
    assert nullify_study(alone) == alone
    assert (alone.primary.candidates, alone.primary.level, alone.thresholds) == (None, 1, ())
    assert (alone.load.find, plan.search) == (None, None)
    assert alone.load.limit == ResponseTarget("p95", "new-order", 1.0)
    names = ("disk", "disk-again")
    assert {step.candidate for step in plan.steps if step.kind != "baseline-check"} == {*names}
    assert {step.window.candidate for step in plan.steps if step.window} == {*names}
    assert tuple(sum_space(plan)) == names
    asked_of_both: Any = plan.question
    assert (plan.null, asked_of_both.candidates) == (True, names)
    drives = nullify_study(study(("{path: /var/tmp/stithy}", "{drive: generic-nvme, size: 4 GiB}")))
    one, other = drives.candidates.values()
    assert one == other
    with pytest.raises(UserError, match="no level"):
        expand(study(("  users: [1, 4]\n", find.split("\n", 1)[1])), null=True)


DRIVES = (
    "  disk: {path: /var/tmp/stithy}\n  memory: {path: /dev/shm/stithy}\n",
    "  one: {drive: gp3, scale: 1/2}\n"
    "  two: {drive: io2, roles: {log: {drive: generic-nvme}}}\n"
    "  three: {path: /var/tmp/stithy}\n",
)
MORE = (
    "  duration: 3 s\n",
    "  duration: 3 s\n  find: max users with p95 of all <= 1 s\n"
    "primary: {blocks: 6, candidates: [one, two]}\nthresholds:\n  - one.p95_at_4 <= 1 s\n",
)
ALONE = (DRIVES[0], "  one: {drive: gp3}\n")
BACKUPS = ("study:", "scenario: {backup: {during: {users: [1, 4]}}}\nstudy:")


def test_the_metric_of_a_scenario_is_that_of_its_question_with_a_load_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a failure costs is not asked as throughput."""
    assert _asked(study()).metric == "nopm"
    monkeypatch.setattr(scenario_load.LoadScenario, "metric", "tpm")
    assert _asked(study()).metric == "tpm"
    assert _asked(study(primary("{users: 4, metric: nopm}"))).metric == "nopm"


def _asked(known: Study) -> Any:
    return write_question(known, tuple(known.candidates))


def _sensitivity(*changes: Change, null: bool = False, **assumed: int) -> bytes:
    """The study with which its question is asked again; raises where there is none."""
    content = study_text(*changes).encode()
    known = parse_study("study.yaml", content)
    asked = _asked(known)
    check(StudyFile(Path("study.yaml"), content, known, null=null), asked, assumed)
    pair = asked.candidates or ("one", "two")
    return narrow_study(content, pair, asked, lambda *names: f"/x/{'.'.join(names)}.toml")


def test_the_sensitivity_asks_the_question_alone_again_with_other_profiles() -> None:
    """Its pair and level; what is not the question's stays. One assumed number is enough."""
    content = _sensitivity(DRIVES, MORE, two=1)
    before, found = study(DRIVES, MORE), parse_study("narrowed", content)
    assert list_profiles(content) == {
        "one": {"data": "/x/one.data.gp3.toml"},
        "two": {"data": "/x/two.data.io2.toml", "log": "/x/two.log.generic-nvme.toml"},
    }
    was, now = (_asked(each) for each in (before, found))
    assert replace(now, derived=was.derived) == was
    assert (found.load.users, found.load.find, found.thresholds) == ((4,), None, ())
    for same in ("database", "workload", "seed"):
        assert getattr(found, same) == getattr(before, same)


def test_a_study_with_nothing_to_vary_has_no_sensitivity() -> None:
    """One sentence, with what to do instead."""
    for changes, null, assumed, problem in (
        ([DRIVES], True, {"one": 1}, "null study"),
        ([ALONE], False, {"one": 1}, "no primary question"),
        ([], False, {}, "no candidate is an emulated drive"),
        ([DRIVES], False, {"one": 0, "two": 0}, "assume no number"),
        ([DRIVES, BACKUPS], False, {"one": 1}, "at a value of `backup`, which the scenario backup"),
    ):
        with pytest.raises(UserError, match=problem):
            _sensitivity(*changes, null=null, **assumed)


PLACES = {"a": Path("/var/tmp/a"), "b": Path("/var/tmp/b")}


def varied(root: Path, vary: str, **load: str) -> Study:
    """A small study with what varies."""
    path = write_study(root / "study.yaml", PLACES, users=(2,), vary=vary, load=load)
    return parse_study("study.yaml", path.read_bytes())


def test_a_volume_has_room_for_the_largest_and_the_keeper_for_all(tmp_path: Path) -> None:
    """Each is loaded, checked and kept before any window; a window costs what its own does."""
    plan = expand(varied(tmp_path, "{workload.warehouses: [1, 40]}"))
    small, large = plan.datasets
    assert [each.name for each in plan.datasets] == ["warehouses1", "warehouses40"]
    assert plan.masters_bytes == small.database_bytes + large.database_bytes
    room = large.database_bytes + large.growth_bytes
    assert sum_space(plan) == {"a": room, "b": room}
    before = [(step.kind, step.dataset) for step in plan.steps if step.dataset]
    of_each = ("prepare", "check", "snapshot")
    assert [each for each in before if each[0] != "calibrate"] == [
        (kind, name) for name in ("warehouses1", "warehouses40") for kind in of_each
    ]
    restores = [step for step in plan.steps if step.kind == "restore" and step.window]
    costs = {plan.dataset_at(s.window.point).name: s.cost.time_s for s in restores if s.window}
    assert costs["warehouses40"] > 2 * costs["warehouses1"]


def test_one_dataset_serves_all_points_that_differ_in_the_load_alone(tmp_path: Path) -> None:
    """It has room for what the busiest of them adds, and connections for the most."""
    vary = "{load.rate: [10/s, 900/s], load.connections: [3, 7]}"
    found = varied(tmp_path, vary, rate="10/s")
    [dataset] = expand(found).datasets
    slow = expand(varied(tmp_path, "{load.connections: [3, 7]}", rate="10/s"))
    assert dataset.growth_bytes > 50 * slow.datasets[0].growth_bytes
    assert found.connections_max == 7
    metric = expand(varied(tmp_path, "{load.pace.think: [1 s, 2 s]}")).question
    assert metric is not None
    assert metric.metric == "p95", "users who think do not say how much is done"


@pytest.mark.parametrize("vary", [
    "{workload.name: [order-entry, other]}",
    "{load.rate: [10/s, 20/s]}",
    "{load.duration: [2 s, 3 s]}",
    "{workload.data.compressible: [50%, 50.0%]}",
    "{workload.warehouses: [1, 9], workload.users_per_warehouse: [1, 5]}",
])  # fmt: skip
def test_what_cannot_be_compared_or_done_is_refused(vary: str, tmp_path: Path) -> None:
    """Alone, or with another value of what else varies."""
    with pytest.raises(UserError):
        varied(tmp_path, vary)
