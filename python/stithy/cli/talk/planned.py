"""How a plan is shown: to people its steps and what it needs, to programs every field of it."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby

from stithy.activity import get_factor, get_level_factor
from stithy.analysis.cost import price_candidate
from stithy.cli.talk.prospects import Outlook
from stithy.cli.talk.prospects import make_text as outlook_text
from stithy.cli.talk.prospects import make_values as outlook_values
from stithy.cli.talk.render import make_table
from stithy.metrics import parse_quantity
from stithy.plan.additional import count_windows_most
from stithy.plan.cost import (
    QUIET_S,
    bound_memory_bytes,
    estimate_again_s,
    explain_short_windows,
    list_certain,
    list_times,
    sum_s,
    sum_space,
)
from stithy.plan.sensitivity import SHARE
from stithy.plan.steps import Plan, Question, Step
from stithy.point import format_value
from stithy.registry import plugins
from stithy.report.sections.cost import describe_years
from stithy.report.words.wording import format_quantity
from stithy.restores.method import get_restore
from stithy.run.activity import StepKind
from stithy.run.equip import describe_profile_tables, describe_profiles
from stithy.run.forecast import Forecast
from stithy.run.preflight import Preflight
from stithy.search import Search
from stithy.study.database import write_sentences
from stithy.study.document import write_yaml
from stithy.study.model import Study
from stithy.study.network import KEY
from stithy.study.primary import BLOCKS_LEAST
from stithy.study.sections import USUAL, get_workload
from stithy.units import format_duration, format_percent, format_size
from stithy.workloads import words


def make_json(
    study: Study,
    plan: Plan,
    tried: Sequence[Step] = (),
    expected: Outlook | None = None,
    corner: Plan | None = None,
) -> dict[str, object]:
    """The plan for programs: every field of every step, the totals, and the answers to expect.

    `tried` are the steps of one level of a search. `corner`: the plan of a run with varied drives,
    where those are asked for.
    """
    return {
        "schema_version": 1,
        "study": study.study,
        **asdict(plan),
        "totals": {
            **list_times(plan.steps),
            "time_s_block_again": estimate_again_s(plan.steps),
            "memory_bytes": bound_memory_bytes(plan),
            "space_bytes": sum_space(plan),
        },
        "search_most": _sum_search(plan, tried),
        "sensitivity": (
            {"runs_least": 1, "runs_most": 2, **list_times(corner.steps)} if corner else None
        ),
        "short_windows": list(_describe_short(study)),
        "durability_given_up": [asdict(point) for point in study.given_up],
        "prospects": outlook_values(expected) if expected else None,
        "profile_words": describe_profiles(study),
        "costs": _list_costs(study),
    }


def _list_costs(study: Study) -> list[dict[str, object]]:
    """What each candidate costs in a year, as far as the study states it."""
    if study.cost is None:
        return []
    yearly = (price_candidate(study.cost, name) for name in study.candidates)
    currency = study.cost.currency
    return [{**asdict(each), "total": each.total, "currency": currency} for each in yearly]


def _sum_search(plan: Plan, tried: Sequence[Step]) -> dict[str, object] | None:
    if plan.search is None:
        return None
    windows = count_windows_most(plan.search)
    time_s, time_s_max = sum_s(tried)
    return {
        "levels": plan.search.levels_most,
        "windows_each": windows,
        "time_s": windows * time_s,
        "time_s_max": windows * time_s_max,
    }


def make_text(
    study: Study,
    plan: Plan,
    tried: Sequence[Step] = (),
    expected: Outlook | None = None,
    corner: Plan | None = None,
    *,
    all_steps: bool = False,
) -> str:
    """The plan for people: what the whole of it and each candidate need, then the steps.

    A line for each level; with `all_steps` one for each step.
    """
    parts = [
        study.study,
        *([f"Scenario: {study.scenario}"] if study.scenario.name != USUAL else []),
        "\n".join(filter(None, [_describe_users(study), _describe_question(study, plan)])),
        *_describe_varied(study),
        *([f"Restore before each window: {plan.restore}"] if plan.restore else []),
        *(["\n".join(lost)] if (lost := write_sentences(study.given_up)) else []),
        _describe_totals(study, plan),
        *([outlook_text(expected)] if expected else []),
        *(["\n".join(describe_years(study.cost, study.candidates))] if study.cost else []),
        _describe_candidates(study, plan),
        *describe_profile_tables(study),
        _describe_steps(plan) if all_steps else _fold_steps(plan),
    ]
    if plan.search is not None:
        parts.append(_describe_search(plan.search, tried))
    elif plan.limit is not None:
        parts.append(
            f"Response-time target: {plan.limit.text}; the report shows how many users meet it."
        )
    if corner is not None:
        # What varied drives take beside the times above.
        least_s, most_s = sum_s(list_certain(corner.steps))[0], sum_s(corner.steps)[1]
        parts.append(
            "Sensitivity: the question is measured again, with every assumed number of the "
            f"drives {format_percent(SHARE)} worse\nfor the better candidate; if none is better, "
            f"once for each. Each time adds about {format_duration(round(least_s))}, at most "
            f"{format_duration(round(most_s))}."
        )
    if study.given_load and study.load.ledger:
        parts.append(LEDGERS)
    if short := _describe_short(study):
        parts.append("\n".join(short))
    return "\n\n".join(parts)


def _describe_short(study: Study) -> tuple[str, ...]:
    if study.given_load is None:
        return ()
    return explain_short_windows(study.load.ramp_up_s, study.load.duration_s)


def describe_known(plan: Plan, forecast: Forecast) -> str:
    """Where the likely times come from."""
    kinds = dict.fromkeys(step.sort for step in plan.steps)
    unknown = [kind for kind in kinds if not forecast.knows(kind)]
    if len(unknown) == len(kinds):
        return "Likely times are estimates: there was no earlier run on this machine."
    if unknown:
        return f"Likely times are those of earlier runs here; estimates: {', '.join(unknown)}."
    return "Likely times are those of earlier runs on this machine."


def describe_checks(checked: Preflight) -> str:
    """What the checks of this machine found; the problems themselves are errors."""
    count = len(checked.problems.found)
    if count:
        found = "1 problem prevents" if count == 1 else f"{count} problems prevent"
        head = f"This machine was checked: {found} a run (see the error below)."
    else:
        head = "This machine was checked: a run can start."
    databases = checked.equipped.databases if checked.equipped else {}
    every = {engine: database.installation for engine, database in databases.items()}
    server = [f"Database: {engine} {found}" for engine, found in every.items() if found.version]
    return "\n".join([head, *server, *(f"warning: {warning}" for warning in checked.warnings)])


def _describe_users(study: Study) -> str:
    if study.given_load is None:
        return ""
    load = study.load
    if load.is_idle:
        return words.IDLE
    is_open = load.is_open
    loads = [variant.load for variant in study.variants]
    paces = {(load.pace, load.rate_per_s, load.arrivals) for load in loads}
    loop = words.describe_loop(
        "rate" if is_open else load.pace.kind, load.pace.think_s, load.rate_per_s, load.arrivals,
        varied=("pace",) if len(paces) > 1 else (),
    )  # fmt: skip
    several = len({variant.load.connections for variant in study.variants}) > 1
    pool = (
        words.SEVERAL_POOLS if several else words.describe_pool(load.connections, is_open=is_open)
    )
    # What the workload's own keys say, as far as it is the same at all points.
    every = [variant.options for variant in study.variants]
    same = (name for name in every[0] if len({text[name] for text in every}) == 1)
    own = get_workload(study.workload.name).in_words({name: every[0][name] for name in same})
    away = [f"from {len(load.agents)} agents"] if load.agents else []
    away += words.describe_network(load.network, varied=KEY in study.vary)
    return ", ".join([f"{loop[0].upper()}{loop[1:]}", pool, *own, *away])


def _describe_question(study: Study, plan: Plan) -> str:
    asked = plan.question
    if asked is None and len(study.candidates) > 1:
        return "Question: which candidate serves more users. A search answers it without a verdict."
    if asked is None:
        return "Nothing is compared: there is a single candidate."
    text = f"{describe_asked(asked)}\n"
    place = "point" if len(study.factors) > 1 else "level"
    if study.repeat is not None:
        few = f"; a verdict needs {BLOCKS_LEAST}" if study.repeat < BLOCKS_LEAST else ""
        return f"{text}Blocks at every {place}: {study.repeat}, as the study says{few}."
    windows = [step.window for step in plan.steps if step.window]
    points = {window.point for window in windows}
    lasting = {window.point for window in windows if window.block == asked.blocks_most - 1}
    also = f", and at {len(lasting) - 1} compared with it" if len(lasting) > 1 else ""
    once = f"; one block at every other {place}" if points - lasting else ""
    return (
        f"{text}Blocks at this {place}{also}: {asked.blocks_least} to {asked.blocks_most}, until "
        f"the question is decided{once}."
    )


def describe_asked(asked: Question) -> str:
    """Describe what decides the study: by what, where, of whom, beyond which margin."""
    pair = asked.candidates
    of = f"{pair[1]} against {pair[0]}" if pair else "the slowest against the fastest candidate"
    derived = " (derived: the study names no metric)" if "metric" in asked.derived else ""
    quantity = parse_quantity(asked.metric)
    least = quantity.known.negligible
    margin = (
        format_percent(asked.margin_share) if least is None else format_quantity(quantity, least)
    )
    return (
        f"Primary question{derived}: {quantity.noun} at "
        f"{asked.point.in_words()}, {of}, margin {margin}."
    )


def _describe_varied(study: Study) -> list[str]:
    others = {key: values for key, values in study.factors.items() if not get_factor(key).counts}
    if not others:
        return []
    lines = [f"{key}: {', '.join(map(format_value, values))}" for key, values in others.items()]
    return ["\n".join(["Varied, in rounds of one block at each point:", *lines])]


LEDGERS = (
    "Each window keeps a commit ledger in the results directory. With `stithy run --out`, name a "
    "directory on\nanother device than the candidates'. The run and its report say if they share "
    "one."
)
"""Where ledgers go; on which device that is only the machine knows, which is not asked here."""


def _describe_steps(plan: Plan) -> str:
    points = [step.window.point for step in plan.steps if step.window]
    of = get_level_factor().name if all(point.others == () for point in points) else "point"
    header = ["step", "what", of, "block", "likely", "at most", "space"]
    rows = [_make_row(number, step) for number, step in enumerate(plan.steps, start=1)]
    return make_table(["", *header], rows, "><<>>>>>")


def _fold_steps(plan: Plan) -> str:
    """A line for each level, as far as its blocks follow each other; and what is around them."""
    several = any(step.window and step.window.point.others for step in plan.steps)
    of = "points" if several else get_level_factor().name
    header = ["steps", "what", of, "blocks", "windows", "likely", "at most", "space"]
    rows, number = [], 1
    for _, group in groupby(plan.steps, key=partial(_get_group, several=several)):
        steps = list(group)
        rows.append(_make_folded_row(number, steps))
        number += len(steps)
    return make_table(header, rows, "><>>>>>>")


def _get_group(step: Step, *, several: bool) -> tuple[object, bool]:
    point = step.window.point if step.window else None
    return (point is not None if several else point, step.if_undecided)


def _make_folded_row(first: int, steps: Sequence[Step]) -> list[str]:
    windows = [step for step in steps if step.kind == "window"]
    blocks = sorted({step.window.block for step in windows if step.window})
    time_s, time_s_max = sum_s(steps)
    known = [_describe_step(step) for step in windows] or [
        _describe_by_method(step) or plugins(StepKind)[step.kind].in_short for step in steps
    ]
    what = ", ".join(dict.fromkeys(known))
    points = {step.window.point for step in steps if step.window}
    is_varied = any(point.others for point in points)
    at = str(len(points)) if is_varied else "".join(f"{point.level:,}" for point in points)
    return [
        f"{first}-{first + len(steps) - 1}" if len(steps) > 1 else str(first),
        what,
        at,
        "" if not blocks else f"{blocks[0]}-{blocks[-1]}" if len(blocks) > 1 else str(blocks[0]),
        str(len(windows)) if windows else "",
        format_duration(round(time_s)),
        format_duration(round(time_s_max)),
        format_size(max(step.cost.space_bytes for step in steps)),
    ]


def _make_row(number: int, step: Step) -> list[str]:
    window = step.window if step.kind == "window" else None
    return [
        str(number),
        step.id,
        _describe_step(step),
        window.point.brief if window else "",
        str(window.block) if window else "",
        format_duration(round(step.cost.time_s)),
        format_duration(round(step.cost.time_s_max)),
        format_size(step.cost.space_bytes),
    ]


def _describe_step(step: Step) -> str:
    if step.window and step.kind == "window":
        ramp_up, duration = step.window.ramp_up_s, step.window.duration_s
        text = f"ramp-up {format_duration(ramp_up)}, measure {format_duration(duration)}"
        return f"{text}, if undecided" if step.if_undecided else text
    what = _describe_by_method(step) or plugins(StepKind)[step.kind].in_plan
    return f"{what}, if undecided" if step.if_undecided else what


def _describe_by_method(step: Step) -> str | None:
    if step.method is None:
        return None
    method = get_restore(step.method)
    return method.restore_step if step.window else method.keep_step


def _describe_candidates(study: Study, plan: Plan) -> str:
    rows = []
    for name, space in sum_space(plan).items():
        candidate = study.candidates[name]
        written = candidate.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
        notes = ["the database is loaded here"] if name == plan.master_candidate else []
        if image := plan.image_bytes.get(name):
            notes.append(f"emulated in {format_size(image)} of memory")
        rows.append([name, write_yaml(written), format_size(space), ", ".join(notes)])
    if plan.master_candidate is not None:
        several = len(plan.datasets) > 1
        kept = f", with {len(plan.datasets)} master copies" if several else ", with the master copy"
        kept = kept if plan.masters_bytes else ""
        rows.append(["", f"the results{kept}", format_size(plan.masters_bytes), ""])
    return make_table(["candidate", "storage", "space", ""], rows, "<<><")


def _describe_totals(study: Study, plan: Plan) -> str:
    least, asked = list_certain(plan.steps), plan.question
    memory = bound_memory_bytes(plan)
    lines = [
        _format_amount(plan.steps) + (f"; memory at most {format_size(memory)}" if memory else "")
    ]
    if asked is not None and len(least) < len(plan.steps):
        lines.insert(0, f"Decided after {asked.blocks_least} blocks: {_format_amount(least)}")
        lines[1] = f"Undecided to the end: {lines[1]}"
    if study.quiet.wait_s:
        short, long = (format_duration(min(s, study.quiet.wait_s)) for s in (QUIET_S, math.inf))
        lines.append(f"Each block waits for a quiet machine, {short} to {long}; this is included.")
    if block_s := estimate_again_s(plan.steps):
        lines.append(
            "These times do not include repeats: a block with an invalid window is measured a "
            f"second time,\nwhich takes about {format_duration(round(block_s))}."
        )
    return "\n".join(lines)


def _describe_search(search: Search, tried: Sequence[Step]) -> str:
    windows = count_windows_most(search)
    time_s, time_s_max = sum_s(tried)
    begun = "; it begins with the results of the levels above" if search.listed else ""
    several = len({step.window.point for step in tried if step.window}) > 1
    point = " and point" if several else ""
    return (
        f"Search: {search.limit}, from {search.users_least:,} to {search.users_most:,} users"
        f"{begun}.\nIt adds at most {search.levels_most} levels and {windows} windows per "
        f"candidate{point}, with two windows at each end of the bracket:\nabout "
        f"{format_duration(round(windows * time_s))}, at most "
        f"{format_duration(round(windows * time_s_max))}. Windows that disagree or are invalid add "
        "more."
    )


def _format_amount(steps: Sequence[Step]) -> str:
    time_s, time_s_max = sum_s(steps)
    windows = sum(step.kind == "window" for step in steps)
    return (
        f"{len(steps)} steps, {windows} of them windows: "
        f"about {format_duration(round(time_s))}, at most {format_duration(round(time_s_max))}"
    )
