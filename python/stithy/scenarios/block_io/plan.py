"""Block I/O: what storage can do before a database uses it, by profiles of fio.

A file as large as the study says is written once on each candidate, or a block device is written
as far as that; of several volumes a file each. Each window runs a pattern of a profile on all of
them at once, as fast as it goes or at a rate; patterns and candidates are measured in rounds, in
each of them the maxima first.
"""

from collections.abc import Iterator, Mapping, Sequence

from stithy.fio import FIO, library
from stithy.fio.load import ROUNDS, ROUNDS_MOST, WrittenData, find_least_saved, plan
from stithy.needs import OwnProgram
from stithy.plan import cost, scenario
from stithy.plan.scenario import PlannedScenario, Scene
from stithy.plan.steps import Block, Cost, Step, WindowPlan, make_step_id
from stithy.point import Point, Value
from stithy.scenarios.block_io.keys import MIB, BlockIoSpec
from stithy.scenarios.block_io.values import (
    MAXIMUM,
    RATE,
    convert_to_amount,
    count_on_volumes,
    merge_volumes,
)
from stithy.storage.provider import ROLES, Role
from stithy.study.load_keys import Load
from stithy.study.model import Study

NAME = "block-io"
PROFILE = "profile"

SLACK_BYTES = 64 * MIB
"""What a file system takes for itself beside the files."""


def find_spec(study: Study) -> BlockIoSpec:
    """The keys of the scenario."""
    assert isinstance(study.scenario.spec, BlockIoSpec)  # read by it
    return study.scenario.spec


def sum_target_bytes(study: Study) -> int:
    """How much of each volume is written: as much as any window uses."""
    return max(find_spec(each).size_bytes for each in study.variants)


def is_laid_out(study: Study) -> tuple[Role, ...]:
    """The volumes that are written: all that any window uses."""
    return merge_volumes([find_spec(each).volumes for each in study.variants])


def is_data_laid_out(study: Study) -> WrittenData:
    """What the targets hold before the first window: as little to save as any window's data."""
    return find_least_saved(find_spec(each).least_data for each in study.variants)


def _read_back(study: Study, scene: Scene) -> Iterator[Step]:
    size = sum_target_bytes(study) * len(is_laid_out(study))
    for name in study.candidates:
        taken = cost.estimate_writing(size, scene.held, scene.count_pages(name))
        yield Step(make_step_id("read-back", name), "read-back", name, taken, at_end=True)


def _order_by_maximum(point: Point) -> float:
    """Shares are of the maximum, so that is known before any of them."""
    return float(point.values.get(RATE, MAXIMUM) != MAXIMUM)


def _order_by_rate(point: Point) -> float:
    return convert_to_amount(point.values.get(RATE, MAXIMUM))


class BlockIoScenario(PlannedScenario):
    """Profiles of fio run on each candidate's volumes."""

    name = NAME
    needs = (OwnProgram(name="stithy-hammer", why="it makes the baseline checks"), FIO)
    sections = ()
    keys = BlockIoSpec
    metric = "fio.iops"
    has_block_devices = True
    less_room = "a smaller `scenario.block-io.size`, or fewer `volumes`"

    def list_factors(self, spec: BlockIoSpec, _: Load | None) -> Mapping[str, Sequence[Value]]:
        found: list[Value] = []
        for name in spec.profiles:
            patterns = library.find(name).patterns
            one = len(patterns) == 1
            found += [name] if one else [f"{name}/{each.name}" for each in patterns]
        return {PROFILE: found, **({RATE: (MAXIMUM, *spec.rates)} if spec.rates else {})}

    def count_needed_bytes(self, study: Study) -> dict[Role, int]:
        """The files, and a little for their file system; of candidates that differ the most."""
        size, roles = sum_target_bytes(study), is_laid_out(study)
        held = [count_on_volumes(roles, each.sources) for each in study.candidates.values()]
        return {
            role: size * max(each.get(role, 0) for each in held) + SLACK_BYTES for role in ROLES
        }

    def leaves_devices(self, study: Study) -> bool:
        return find_spec(study).precondition == "none"

    def plan_steps(self, study: Study, scene: Scene) -> Iterator[Step]:
        yield from scenario.plan_provisions(study, scene)
        spec = find_spec(study)
        # Of a file and of a device the same is written.
        before = plan(spec.precondition, spec.precondition_matrix, is_device=False)
        size = before.count_written_bytes(sum_target_bytes(study)) * len(is_laid_out(study))
        for name in study.candidates:
            held, pages = scene.held, scene.count_pages(name)
            yield Step(
                make_step_id("lay-out", name),
                "lay-out",
                name,
                cost.estimate_writing(size, held, pages),
            )
            if before.patterns:
                round_s = (spec.precondition_test_s + 2) * len(before.patterns)
                taken = Cost(ROUNDS * round_s, ROUNDS_MOST * round_s, held, pages)
                yield Step(make_step_id("precondition", name), "precondition", name, taken)
        first = _order_by_rate if find_spec(study).stop_at_s else _order_by_maximum
        yield from scenario.plan_windows(
            study, scene, self.plan_windows, self.plan_around, in_rounds=True, first=first
        )
        yield from _read_back(study, scene) if spec.verify else ()
        yield from scenario.tear_downs(study, scene)

    def plan_windows(
        self, study: Study, block: Block, *, tried: bool = False
    ) -> Iterator[WindowPlan]:
        spec = find_spec(study.at(block.point))
        return scenario.list_windows(block, spec.ramp_up_s, spec.duration_s, ("fio",), tried=tried)

    def plan_around(self, _: Study, scene: Scene, window: WindowPlan) -> Iterator[Step]:
        yield from scenario.plan_baseline_check(scene, window)
        work_s = window.ramp_up_s + window.duration_s
        taken = Cost(work_s + 2, work_s + 60, scene.held, scene.count_pages(window.candidate))
        spared = scenario.may_be_spared(scene, window)
        yield Step(window.id, "window", window.candidate, taken, window, if_undecided=spared)


PLUGINS = (BlockIoScenario(),)
