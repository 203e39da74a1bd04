"""Noisy neighbours as a scenario: its keys, points and steps, what they need, when they worked."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.machine import FakeMachine
from stithy.errors import PreconditionError, UserError
from stithy.plan.expand import expand, suggest_less_room, sum_needed_bytes
from stithy.run.preflight import check_memory, check_needs
from stithy.scenarios.noisy_neighbour.activity import NeighbourAnalyticScan
from stithy.scenarios.noisy_neighbour.beside import NeighbourCycle
from stithy.scenarios.noisy_neighbour.declared import WHOLE, list_work_times, name_cycle
from stithy.scenarios.noisy_neighbour.plan import PLUGINS
from stithy.study.load import parse_study
from stithy.study.model import Study
from stithy.study.problems import StudyError


def made(keys: str, memory: str = "256 MiB", more: str = "", engine: str = "postgresql") -> Study:
    """A study of two directories."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
        f"scenario: {{noisy-neighbour: {{{keys}}}}}\n"
        f"database: {{engine: {engine}, memory: {memory}}}\n"
        "workload: {name: order-entry, warehouses: 1}\n"
        "load: {users: [2], duration: 10 s, ramp_up: 2 s, repeat: 2}\n"
        f"{more}"
    )
    return parse_study("study.yaml", text.encode())


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("name", ["bulk-load", "analytic-scan"])
def test_an_engine_without_the_work_of_a_neighbour_is_refused_before_the_run(name: str) -> None:
    """Nothing but a run's end would tell that no cycle was done."""
    study = made(f"aggressor: {name}", engine="memory")
    with pytest.raises(UserError, match="memory can neither load nor scan") as caught:
        expand(study)
    assert caught.value.where == "scenario.noisy-neighbour.aggressor"


def test_each_block_has_the_tenants_alone_and_beside_each_rate_of_the_neighbour() -> None:
    """In rounds; the neighbour is in no window of the tenants alone, and the load is the same."""
    plan = expand(made("tenants: 3, rate: [800/s, 12000/min]"))
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    beside = {each.point.values["neighbour"]: each.activities for each in windows}
    both = ("tenants", "neighbour-block-io")
    assert beside == {0: ("tenants",), 200: both, 800: both}
    assert [each.block for each in windows] == [0] * 6 + [1] * 6
    assert {each.instances for each in windows} == {3}
    assert plan.question is not None
    assert plan.question.point.values["neighbour"] == 800
    kinds = [step.kind for step in plan.steps]
    assert kinds[:5] == [
        "provision",
        "provision",
        "lay-out-neighbour",
        "lay-out-neighbour",
        "prepare",
    ]


@pytest.mark.parametrize(("keys", "levels"), [
    ("aggressor: backup, instances: [2, 1]", [1, 2]),
    ("aggressor: bulk-load, workers: [4]", [4]),
    ("aggressor: analytic-scan, connections: [1, 8]", [1, 8]),
    ("aggressor: backup", [1]),
])  # fmt: skip
def test_an_aggressor_with_databases_of_its_own_is_laid_out_once_the_dataset_is_loaded(
    keys: str, levels: list[int]
) -> None:
    """And has its intensities as points, beside the tenants alone."""
    study = made(f"tenants: 3, {keys}")
    plan = expand(study)
    kinds = [step.kind for step in plan.steps]
    assert kinds.index("snapshot") < kinds.index("lay-out-neighbour") < kinds.index("restore")
    windows = [step.window for step in plan.steps if step.kind == "window" and step.window]
    assert sorted({each.point.values["neighbour"] for each in windows}) == [0, *levels]
    named = keys.split(",")[0].removeprefix("aggressor: ")
    beside = {each.activities for each in windows if each.point.values["neighbour"]}
    assert beside == {("tenants", f"neighbour-{named}")}


def test_the_alone_point_is_measured_as_often_as_the_point_of_the_question() -> None:
    """Else most blocks would have nothing to be compared with."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
        "scenario: {noisy-neighbour: {rate: [100, 200]}}\n"
        "database: {engine: postgresql, memory: 256 MiB}\n"
        "workload: {name: order-entry, warehouses: 1}\nload: {users: [2]}\n"
        "primary: {blocks: 6}\n"
    )
    plan = expand(parse_study("study.yaml", text.encode()))
    blocks = [step.window for step in plan.steps if step.kind == "window" and step.window]
    alone, most = (
        {each.block for each in blocks if each.point.values["neighbour"] == level}
        for level in (0, 200)
    )
    assert alone == most == set(range(6))


def test_what_a_study_varies_has_the_blocks_of_the_question() -> None:
    """Alone and beside the neighbour that it asks about, at each limit; all may be spared."""
    text = (
        "study: x?\ncandidates: {a: {path: /var/tmp/a}, b: {path: /var/tmp/b}}\n"
        "scenario: {noisy-neighbour: {rate: [100]}}\n"
        "database: {engine: postgresql, memory: 256 MiB}\n"
        "workload: {name: order-entry, warehouses: 1}\nload: {users: [1, 2]}\n"
        "primary: {blocks: 6}\nvary: {scenario.noisy-neighbour.limit: [10, 40]}\n"
    )
    steps = expand(parse_study("study.yaml", text.encode())).steps
    windows = [(step.window, step.if_undecided) for step in steps
               if step.kind == "window" and step.window]  # fmt: skip
    counted = Counter(each.point for each, _ in windows)
    asked = {point: count for point, count in counted.items() if point.level == 2}
    assert list(asked.values()) == [12] * 4
    assert {count for point, count in counted.items() if point not in asked} == {2}
    assert all(spared == (each.block > 3) for each, spared in windows)


def test_servers_of_the_aggressor_take_memory_and_room() -> None:
    """Two databases that are backed up have two servers, and copies, backups and restores."""
    two, four = (made(f"tenants: 2, aggressor: backup, instances: [{n}]") for n in (2, 4))
    assert (two.servers, four.servers) == (4, 6)
    assert made("tenants: 2, rate: [9]").servers == 2
    one = made("tenants: 1, rate: [9]")
    copies = sum_needed_bytes(four)["data"] - sum_needed_bytes(two)["data"]
    assert copies == 4 * (sum_needed_bytes(one)["data"] - 320 * 2**20)
    small = FakeMachine(texts={"/proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 900000 kB\n"})
    check_memory(two, small)
    with pytest.raises(PreconditionError, match="6 servers"):
        check_memory(four, small)


def test_room_for_backups_of_the_neighbour_is_what_their_method_says() -> None:
    """One is kept; of a repository two, or a full one and each that is due."""
    text = "tenants: 1, aggressor: backup, volume: backup, every: {every}, {keys}"
    room = {
        keys: sum_needed_bytes(made(text.format(every=every, keys=keys)))["backup"]
        for every, keys in (
            ("4 s", "method: basebackup"),
            ("4 s", "method: pgbackrest"),
            ("4 s", "method: pgbackrest, kind: incremental"),
            ("0 s", "method: pgbackrest, kind: incremental, cycles: 7"),
        )
    }
    first, second, *_ = room.values()
    more = [(size - first) / (second - first) for size in room.values()]
    assert more == [0, 1, 3, 7], "backups beyond the first"


def test_what_a_method_of_backup_cannot_do_is_refused_of_a_neighbour_too() -> None:
    """When the plan is made."""
    with pytest.raises(UserError, match="makes full backups") as caught:
        expand(made("aggressor: backup, kind: incremental"))
    assert caught.value.where == "scenario.noisy-neighbour"


def test_a_limit_by_control_groups_is_refused_where_the_machine_cannot_enforce_it() -> None:
    """Before anything is made; that of block I/O is a rate, which needs no such group."""
    unable = FakeMachine(no_io_limit="no control group here delegates the controller `io`")
    check_needs(made("rate: [9], limit: 5"), unable)
    check_needs(made("aggressor: bulk-load"), unable)
    check_needs(made("aggressor: bulk-load, limit: 4 MiB"), FakeMachine())
    with pytest.raises(PreconditionError, match="the neighbour's `limit`") as caught:
        check_needs(made("aggressor: bulk-load, limit: 4 MiB"), unable)
    assert "delegates" in str(caught.value)


def test_a_share_of_cpu_time_is_of_every_server_and_is_refused_where_it_cannot_be_had() -> None:
    """It is said of the scenario only where it is asked for, and may vary."""
    assert made("rate: [9], cpu_share: 40%").cpu_percent == 40
    assert "cpu_share: 40%" in str(made("rate: [9], cpu_share: 40%").scenario)
    assert "cpu_share" not in str(made("rate: [9]").scenario)
    unable = FakeMachine(no_cpu_share="no control group here delegates the controller `cpu`")
    check_needs(made("rate: [9]"), unable)
    check_needs(made("rate: [9], cpu_share: 40%"), FakeMachine())
    with pytest.raises(PreconditionError, match="the tenants' `cpu_share`"):
        check_needs(made("rate: [9], cpu_share: 40%"), unable)


def test_a_server_has_connections_for_all_who_scan_or_load() -> None:
    """Beside few users, too."""
    assert made("aggressor: analytic-scan, connections: [50]").connections_max == 50
    assert made("rate: [9]").connections_max == 2


def test_room_and_memory_are_those_of_all_tenants_and_of_the_neighbours_file() -> None:
    """One more tenant needs as much again."""
    one, two, three = (
        sum_needed_bytes(made(f"tenants: {n}, rate: [9], size: 32 MiB")) for n in (1, 2, 3)
    )
    assert three["data"] - two["data"] == two["data"] - one["data"]
    elsewhere = sum_needed_bytes(made("tenants: 2, rate: [9], size: 32 MiB, volume: backup"))
    assert two["data"] - elsewhere["data"] == elsewhere["backup"] - two["backup"] == 96 * 2**20
    memory = [
        max(step.cost.memory_bytes for step in expand(made(f"tenants: {n}, rate: [9]")).steps)
        for n in (4, 8)
    ]
    assert memory[1] == 2 * memory[0] == 8 * 256 * 2**20


def test_tenants_that_do_not_fit_into_memory_are_refused_before_anything_is_made() -> None:
    """Together they have more than the machine, though each alone would fit."""
    small = FakeMachine(texts={"/proc/meminfo": "MemTotal: 1048576 kB\nMemAvailable: 900000 kB\n"})
    check_memory(made("tenants: 4, rate: [9]"), small)
    with pytest.raises(PreconditionError) as caught:
        check_memory(made("tenants: 5, rate: [9]"), small)
    assert "5 servers" in str(caught.value)


@pytest.mark.parametrize(
    "keys",
    [
        "rate: []", "rate: [0]", "rate: [5, 5]", "tenants: 0, rate: [5]", "tenants: 65, rate: [5]",
        "rate: [5], profile: nothing", "rate: [5], profile: four-corners",
        "rate: [5], aggressor: noise", "rate: [5], volume: log", "aggressor: [backup]",
        "aggressor: backup, rate: [5]", "aggressor: backup, instances: [0]",
        "aggressor: backup, method: tape", "aggressor: bulk-load, workers: [1, 1]",
        "aggressor: analytic-scan, connections: []", "aggressor: analytic-scan, profile: oltp",
    ],
)  # fmt: skip
def test_what_cannot_be_a_neighbour_is_refused(keys: str) -> None:
    """Each with its place in the file."""
    with pytest.raises(StudyError):
        made(keys)


def test_the_manifest_says_where_the_neighbour_works_unless_that_varies() -> None:
    """The report asks for it, to know the control."""
    assert PLUGINS[0].list_facts(made("rate: [9]")) == {"volume": "data"}
    assert PLUGINS[0].list_facts(made("rate: [9], volume: backup")) == {"volume": "backup"}
    vary = "vary: {scenario.noisy-neighbour.volume: [data, backup]}\n"
    assert PLUGINS[0].list_facts(made("rate: [9]", more=vary)) == {}


def test_fewer_tenants_are_a_way_to_need_less_room() -> None:
    """Each has a copy of the dataset; of one tenant there are no fewer."""
    assert suggest_less_room(made("tenants: 2, rate: [9]")) == (
        "fewer tenants, fewer warehouses or shorter windows"
    )
    assert suggest_less_room(made("tenants: 1, rate: [9]")) == "fewer warehouses or shorter windows"


DIFFER = "aggressor: none, tenants: 3, differ: "
SIZES = "{workload.warehouses: [1, 1, 2], database.memory: [128 MiB, 128 MiB, 1 GiB]}"


def test_tenants_may_differ_in_size_and_memory() -> None:
    """Each size is loaded once; room is that of all, and a plan has no point with a neighbour."""
    study, alike = made(DIFFER + SIZES), made("aggressor: none, tenants: 3")
    plan = expand(study)
    names = [dataset.name for dataset in plan.datasets]
    assert len(names) == len([step for step in plan.steps if step.kind == "prepare"]) == 2
    window = next(step.window for step in plan.steps if step.window and step.kind == "window")
    assert "neighbour" not in window.point.values
    assert window.activities == ("tenants",)
    points = [study.derive_point(window.point, number) for number in (1, 2, 3)]
    assert [plan.dataset_at(point).name for point in points] == [names[0], names[0], names[1]]
    assert [study.at(point).workload.units for point in points] == [1, 1, 2]
    assert [study.at(point).database.memory_bytes >> 20 for point in points] == [128, 128, 1024]
    more = sum_needed_bytes(study)["data"] - sum_needed_bytes(alike)["data"]
    assert 0 < more < sum_needed_bytes(alike)["data"] / 3
    copies = [max(s.cost.time_s for s in expand(each).steps if s.kind == "restore")
              for each in (alike, study)]  # fmt: skip
    assert copies[0] < copies[1]


def test_what_varies_and_in_what_tenants_differ_hold_together() -> None:
    """A key of the scenario at each of its values, the tenants' own at both."""
    keys = "rate: [9], differ: {workload.warehouses: [1, 2]}"
    study = made(keys, more="vary: {scenario.noisy-neighbour.size: [16 MiB, 32 MiB]}\n")
    found = {
        (vars(of.scenario.spec)["size_bytes"] >> 20, of.workload.units)
        for _, of in study.own_settings
    }
    assert found == {(16, 1), (16, 2), (32, 1), (32, 2)}
    assert all(of.scenario.keys.list_differing() for of in study.variants)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        (DIFFER + "{workload.warehouses: [1, 2]}", "2 values"),
        (DIFFER + "{workload.warehouses: [1, 2, none]}", "none"),
        (DIFFER + "{load.users: [1, 2, 3]}", "not a key in which tenants differ"),
        ("aggressor: none, tenants: 1, differ: {workload.warehouses: [2]}", "two of them or more"),
        ("aggressor: backup, instances: [1], differ: {workload.warehouses: [1, 2]}", "unknown key"),
    ],
)
def test_what_tenants_cannot_differ_in_is_refused(keys: str, why: str) -> None:
    """At its key or value: nothing is dropped."""
    with pytest.raises(StudyError) as caught:
        made(keys)
    [problem] = caught.value.problems
    assert why in str(problem)
    assert "scenario.noisy-neighbour" in str(problem)


def test_tenants_that_differ_are_not_loaded_anew() -> None:
    """Other methods restore one dataset into all servers."""
    with pytest.raises(StudyError) as caught:
        made(DIFFER + SIZES, memory="256 MiB, restore: reload")
    assert "tenants that differ" in str(caught.value.problems)


def _span(name: str, from_s: float, to_s: float | None, outcome: str = "done") -> dict[str, Any]:
    return {"name": name, "from_s": from_s, "to_s": to_s, "outcome": outcome}


ALL = _span(WHOLE, 0.0, 60.0)


def test_who_works_in_cycles_worked_in_these_and_who_has_none_from_begin_to_end() -> None:
    """A cycle that failed, or was cut, was work as well; parts of one are no more of it."""
    several = [
        _span(name_cycle(1), 5.0, 9.0), _span(name_cycle(1, "backup"), 5.0, 7.0),
        _span(name_cycle(2), 15.0, 16.0, "failed"), _span(name_cycle(3), 55.0, 60.0, "cut"),
    ]  # fmt: skip
    assert list_work_times([ALL, *several]) == [(5.0, 9.0), (15.0, 16.0), (55.0, 60.0)]
    assert list_work_times([ALL]) == [(0.0, 60.0)]
    assert list_work_times([]) == []


def test_scans_at_once_of_which_only_one_that_failed_is_a_span_worked_all_the_time() -> None:
    """Else isolation would be that of the seconds of the failure."""
    failed = _span(name_cycle(17), 30.0, 31.0, "failed")
    assert list_work_times([ALL, failed]) == [(0.0, 60.0)]
    assert list_work_times([failed]) == [(30.0, 31.0)]


def test_scans_at_fixed_times_are_spans_so_that_their_pauses_are_known() -> None:
    """Of those that follow at once there may be thousands."""
    scan: Any = NeighbourAnalyticScan.__new__(NeighbourAnalyticScan)
    good, bad = NeighbourCycle(0, 5.0, 6.0), NeighbourCycle(0, 5.0, 6.0, failed_because="gone")
    for every_s, spans in ((10.0, [good, bad]), (0.0, [bad])):
        scan.spec, scan.cycles = SimpleNamespace(every_s=every_s), [good, bad]
        expected = ["failed" if one is bad else "done" for one in spans]
        assert [each.outcome for each in scan.spans()] == expected
