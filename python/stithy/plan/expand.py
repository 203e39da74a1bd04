"""From a study to its plan: decisions only, the machine is not asked."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from stithy.errors import UserError
from stithy.plan import cost
from stithy.plan.scenario import DatabaseScene, Scene, find_scenario, sum_inside_bytes
from stithy.plan.steps import Dataset, Plan, Step, WindowPlan, write_question
from stithy.point import Point
from stithy.restores.method import get_restore
from stithy.search import WIDTH_PERCENT, Search
from stithy.storage.provider import ROLES, Role, SetAside
from stithy.study.candidates import Candidate, RoleSources
from stithy.study.engines import ENGINE
from stithy.study.load import StudyFile, place_key
from stithy.study.load_keys import LEVELS_KEY
from stithy.study.model import Study
from stithy.study.sections import get_workload
from stithy.workloads.workload import Workload


def expand(study: Study, *, null: bool = False) -> Plan:
    """The plan of a study: the same study gives the same plan, byte for byte.

    `null`: its first candidate against itself.
    """
    study = nullify_study(study) if null else study
    scene, images = _make_scene(study)
    steps = tuple(find_scenario(study).plan_steps(study, scene))
    windows = {(step.window.candidate, step.window.point) for step in steps if step.window}
    lost = [pair for pair in product(study.candidates, study.points) if pair not in windows]
    if lost or len({step.id for step in steps}) < len(steps):
        raise ValueError(f"no window is planned for {lost}, or two steps have one id")
    return Plan(
        seed=study.seed,
        steps=steps,
        **_describe_database(study, scene),
        image_bytes=images,
        question=scene.question,
        null=null,
        search=_search(study),
        limit=study.load.response_limit if study.given_load else None,
    )


def expand_file(file: StudyFile) -> Plan:
    """Make the plan of the study of a file. Raises UserError, at the place in the file."""
    try:
        return expand(file.study, null=file.null)
    except UserError as error:
        raise place_key(file, error) from error


def _search(study: Study) -> Search | None:
    """The search, made at each setting of what varies between bounds that all of them have."""
    if study.given_load is None:
        return None
    every = [variant.search for variant in study.variants]
    known = [each for each in every if each is not None]
    return min(known, key=lambda search: search.users_most, default=None)


def surround_groups(
    study: Study, groups: Iterable[Iterable[WindowPlan]], *, null: bool = False
) -> Iterator[tuple[Step, ...]]:
    """The steps of each group of windows that the plan does not have: with the restores before.

    They cost what those of planned windows cost.
    """
    study = nullify_study(study) if null else study
    scene, _ = _make_scene(study)
    plan_around = find_scenario(study).plan_around
    for windows in groups:
        yield tuple(step for window in windows for step in plan_around(study, scene, window))


def sum_needed_bytes(study: Study) -> dict[Role, int]:
    """What each role of a candidate may come to hold, bytes; the same for all.

    The data's share is all of a database, its log too: it is loaded in one place, whatever the
    roles.
    """
    if study.given_database is not None:
        datasets = _list_datasets(study)
        method = get_restore(study.database.restore)
        inside = sum_inside_bytes(method, [size for _, size in datasets])
        roles: Counter[Role] = Counter()
        for number in range(1, study.instances + 1):
            own = study.derive_point(Point(()), number)
            sizes = [size for dataset, size in datasets if dataset.has(own)]
            roles.update(cost.sum_role_bytes(study, sizes, inside))
        more = find_scenario(study).count_added_bytes(study, roles["data"])
        return {role: size + more.get(role, 0) for role, size in roles.items()}
    needed = find_scenario(study).count_needed_bytes(study)
    return {role: needed.get(role, 0) for role in ROLES}


def suggest_less_room(study: Study) -> str:
    """With what the study would need less room, as a remedy names it; empty if nothing is known."""
    if study.given_database is not None:
        fewer = "fewer tenants, " if study.instances > 1 else ""
        return f"{fewer}fewer {_find_workload(study).units} or shorter windows"
    return find_scenario(study).less_room


def leaves_devices_as_found(study: Study) -> bool:
    """Whether devices without a file system keep what they hold until the first window."""
    return find_scenario(study).leaves_devices(study)


def find_data_bytes(study: Study) -> int | None:
    """The size of the smallest loaded database without its write-ahead log; None without one."""
    if study.given_database is None:
        return None
    return min(size.data_bytes for _, size in _list_datasets(study))


def choose_master_candidate(study: Study) -> str:
    """The candidate on whose volume the database is loaded, once.

    The first in the study file whose provider does not say that its volume is likely memory. If all
    are, the first.
    """
    nothing = dict.fromkeys(ROLES, 0)
    in_memory = find_likely_memory_backed(study) | {
        name for name, each in study.candidates.items() if sum_image_bytes(each, nothing)
    }
    lasting = [name for name in study.candidates if name not in in_memory]
    return next(iter(lasting or study.candidates))


def find_likely_memory_backed(study: Study) -> frozenset[str]:
    """The candidates of which the provider says, from their lines alone, that they are memory."""
    every = study.candidates.items()
    return frozenset(name for name, of in every if of.kind.is_likely_memory(of.spec))


def _make_scene(study: Study) -> tuple[Scene, dict[str, int]]:
    needed = sum_needed_bytes(study)
    every = {
        name: sum_image_bytes(each, needed) + sum_daemons_bytes(each)
        for name, each in study.candidates.items()
    }
    images = {name: size for name, size in every.items() if size}
    common: dict[str, Any] = {
        "needed_bytes": needed,
        "memory_backed": find_likely_memory_backed(study),
        "images_bytes": sum(images.values()),
        "question": write_question(study, tuple(study.candidates)),
        "wait_s": study.quiet.wait_s,
    }
    if study.given_database is None:
        return Scene(**common), images
    scene = DatabaseScene(
        **common,
        master_candidate=choose_master_candidate(study),
        workload=_find_workload(study),
        datasets=_list_datasets(study),
        memory_bytes={
            name: study.servers
            * max(of.give_database(name).memory_bytes for _, of in study.own_settings)
            for name in study.candidates
        },
        loading_memory_bytes=study.database.memory_bytes,
    )
    return scene, images


def _describe_database(study: Study, scene: Scene) -> dict[str, Any]:
    """What a plan says of the database; nothing where there is none."""
    if not isinstance(scene, DatabaseScene):
        return {}
    return {
        "master_candidate": scene.master_candidate,
        "datasets": tuple(dataset for dataset, _ in scene.datasets),
        "restore": study.database.restore,
    }


def _list_datasets(study: Study) -> list[tuple[Dataset, cost.DatabaseSizes]]:
    every = (*study.vary, *study.scenario.keys.list_differing())
    keys = [key for key in every if _changes_data(study, key)]
    found: dict[Point, list[Study]] = {}
    for point, variant in study.own_settings:
        factors = Point(tuple(factor for factor in point.factors if factor[0] in keys))
        found.setdefault(factors, []).append(variant)
    datasets = []
    for factors, variants in found.items():
        size = cost.estimate_sizes(study, _find_workload(study), variants)
        name, sizes = factors.slug or study.workload.name, (size.database_bytes, size.growth_bytes)
        datasets.append((Dataset(name, factors, *sizes, size.log_bytes), size))
    return datasets


def _changes_data(study: Study, key: str) -> bool:
    section, _, name = key.partition(".")
    if key == ENGINE:
        return True
    return section == "workload" and name.partition(".")[0] not in _find_workload(study).run_keys


def _find_workload(study: Study) -> Workload:
    return get_workload(study.workload.name)


AGAIN = "-again"


def nullify_study(study: Study) -> Study:
    """The study with its first candidate and its like; its question names no pair.

    It demands nothing and costs nothing: thresholds ask for what a null study cannot say. Nor does
    it search: what a search finds has no interval that could hold a difference; its limit stays, as
    one that is drawn. A nulled study stays as it is. Raises UserError where nothing but a search is
    left.
    """
    if not study.points:
        raise UserError(
            "the study lists no level, so a candidate cannot be compared with itself",
            where="--null",
            remedy=f"give `{LEVELS_KEY}` a level beside `load.find`",
        )
    load = study.given_load
    if load is not None:
        kept = {
            "find": None,
            "find_within": None,
            "find_width": WIDTH_PERCENT,
            "limit": load.response_limit,
        }
        load = load.model_copy(update=kept)
    name, candidate = next(iter(study.candidates.items()))
    primary = study.primary.model_copy(update={"candidates": None})
    return study.model_copy(
        update={
            "candidates": {name: candidate, f"{name}{AGAIN}": _make_like(candidate)},
            "primary": primary,
            "thresholds": (),
            "cost": None,
            "given_load": load,
            "power": study.power and study.power.narrow_to(name),
            "collect": study.collect and study.collect.narrow_to(name),
        }
    )


def make_null_file(file: StudyFile) -> StudyFile:
    """The study file of a null study."""
    return replace(file, study=nullify_study(file.study), null=True)


def _make_like(candidate: Candidate) -> Candidate:
    found = replace(candidate, spec=candidate.kind.make_like(candidate.spec, AGAIN))
    others = {role: _make_like(each) for role, each in found.sources.items() if each is not found}
    if not others:
        return found
    roles = {"roles": RoleSources.model_validate(others)}
    return replace(found, spec=found.spec.model_copy(update=roles))


def sum_image_bytes(candidate: Candidate, needed_bytes: Mapping[Any, int]) -> int:
    """The memory that a candidate's storage takes besides the server's, by its lines alone, bytes.

    `sum_needed_bytes`: what each role may come to hold.
    """
    return sum(
        source.kind.count_image_bytes(source.spec, _shift_needed(needed_bytes, role))
        for role, source in candidate.sources.items()
    )


def sum_daemons_bytes(candidate: Candidate) -> int:
    """The memory that a candidate's storage takes for its own processes, bytes."""
    return sum(
        source.kind.count_daemons_bytes(source.spec) for source in candidate.sources.values()
    )


def _shift_needed(needed_bytes: Mapping[Any, int], role: Role) -> dict[Any, int]:
    """What roles come to hold for a source that holds one of them as if it were the data."""
    return {**needed_bytes, "data": needed_bytes[role]}


def set_aside(candidate: Candidate, needed_bytes: Mapping[Any, int]) -> Mapping[str, SetAside]:
    """Give what a candidate sets aside, by the role of each volume, by its lines alone."""
    return {
        role: source.kind.set_aside(source.spec, _shift_needed(needed_bytes, role))
        for role, source in candidate.sources.items()
    }
