"""What a study with several datasets costs, and which window begins with which."""

from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.plan.cost import sum_space
from stithy.plan.expand import expand
from stithy.study.load import parse_study
from stithy.study.model import Study
from support.running import write_study

PLACES = {"a": Path("/var/tmp/a"), "b": Path("/var/tmp/b")}


def study(root: Path, vary: str, **load: str) -> Study:
    """A small study with what varies."""
    path = write_study(root / "study.yaml", PLACES, users=(2,), vary=vary, load=load)
    return parse_study("study.yaml", path.read_bytes())


def test_a_volume_has_room_for_the_largest_and_the_keeper_for_all(tmp_path: Path) -> None:
    """Each is loaded, checked and kept before any window; a window costs what its own does."""
    plan = expand(study(tmp_path, "{workload.warehouses: [1, 40]}"))
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
    found = study(tmp_path, vary, rate="10/s")
    [dataset] = expand(found).datasets
    slow = expand(study(tmp_path, "{load.connections: [3, 7]}", rate="10/s"))
    assert dataset.growth_bytes > 50 * slow.datasets[0].growth_bytes
    assert found.connections_max == 7
    metric = expand(study(tmp_path, "{load.pace.think: [1 s, 2 s]}")).question
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
        study(tmp_path, vary)
