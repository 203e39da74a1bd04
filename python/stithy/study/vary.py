"""What a study varies beside its levels: values of its own keys, each combination a point.

`database.memory: [256 MiB, 1 GiB]` measures every level with both. A value is judged as if it stood
at its key.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)

from stithy.activity import get_level_factor
from stithy.names import find_closest
from stithy.point import Point, Value
from stithy.study.engines import ENGINE, SETTINGS, drop_other_engines
from stithy.study.load_keys import LEVELS_KEY, NOT_VARIED, SAME, Load
from stithy.study.problems import Violation, refuse
from stithy.study.sections import get_workload
from stithy.units import make_rule_error

if TYPE_CHECKING:
    from stithy.study.model import Study

VALUES_MOST = 20
POINTS_MOST = 200
EXAMPLE: dict[str, list[str]] = {"database.memory": ["256 MiB", "512 MiB", "1 GiB"]}
MEMORY, CPUS = "database.memory", "database.cpus"


def _read_value(value: Any) -> Value:
    if not isinstance(value, bool | int | float | str):
        raise make_rule_error("not a single value", "a text, a number, true or false")
    text = " ".join(value.split()) if isinstance(value, str) else value
    if text == "" or len(str(text)) > 100:
        raise make_rule_error("not a value", "one line of at most 100 characters")
    return text


def _require_distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    slugs = [Point.of(x=value).slug for value in values]
    refuse(
        Violation("a value given twice", "keep one of them", value, (i,))
        for i, value in enumerate(values)
        if value in values[:i] or slugs[i] in slugs[:i]
    )
    return values


OneValue = Annotated[
    Value, PlainValidator(_read_value), WithJsonSchema({"type": ["string", "number", "boolean"]})
]
Values = Annotated[
    tuple[OneValue, ...],
    Field(strict=False, min_length=2, max_length=VALUES_MOST),
    AfterValidator(_require_distinct),
    WithJsonSchema({
        "type": "array", "minItems": 2, "maxItems": VALUES_MOST,
        "items": {"type": ["string", "number", "boolean"]},
    }),
]  # fmt: skip
Vary = Mapping[str, Values]
"""The values of each key that varies."""


def list_points(own: Mapping[str, Sequence[Value]], vary: Vary) -> tuple[Point, ...]:
    """Every combination: what the scenario varies by itself, at each setting of what else does."""
    return tuple(
        Point((*zip(own, level, strict=True), *zip(vary, setting, strict=True)))
        for setting in product(*vary.values())
        for level in product(*own.values())
    )


def select_combination(study: "Study", point: Point) -> Point:
    """What a study varies, without what its scenario varies by itself."""
    return Point(tuple(factor for factor in point.factors if factor[0] in study.vary))


def find_impossible(study: "Study") -> Mapping[Point, str]:
    """Combinations of what varies that the scenario cannot have, each with the reason."""
    found: dict[Point, str] = {}
    if study.vary and study.given_database is not None:
        for engine, points in _group_by_engine(study, list_points({}, study.vary)):
            found |= study.select_engine(engine).scenario.keys.find_impossible(engine, points)
    return found


def _group_by_engine(
    study: "Study", points: Sequence[Point]
) -> Iterator[tuple[str, Sequence[Point]]]:
    for engine in study.engines:
        yield engine, [point for point in points if point.values.get(ENGINE, engine) == engine]


def list_measured(study: "Study") -> tuple[Point, ...]:
    """Every possible combination, but for points for which another stands; what is first, first."""
    possible = set(study.combinations)
    every = [point for point in list_points(study.own_factors, study.vary)
             if select_combination(study, point) in possible]  # fmt: skip
    spared: list[Point] = []
    if study.vary and study.given_database is not None:
        for engine, points in _group_by_engine(study, every):
            spared += study.select_engine(engine).scenario.keys.list_spared_points(engine, points)
    first = study.scenario.keys.list_first_points(every)
    return (*first, *(each for each in every if each not in spared))


def find_unmeasured_question(study: "Study") -> Iterator[Violation]:
    """A question about a combination that is not measured."""
    if study.primary.at and study.points and (asked := study.asked_point) not in study.points:
        why = study.impossible.get(select_combination(study, asked), "another point stands for it")
        what = f"a combination that is not measured ({why})"
        yield Violation(what, "ask about another", str(asked), ("primary", "at"))


def resolve_study(study: "Study", values: Mapping[str, Value], data: Mapping[str, Any]) -> "Study":
    """The study with these values at their keys; `data` is what it was read from.

    Levels and search are its own at every point; instances are alike. Raises ValidationError where
    a value may not stand there.
    """
    changed = {
        key: each for key, each in data.items() if key not in ("vary", "primary", "thresholds")
    }
    differing, scenario = study.scenario.keys.list_differing(), changed.get("scenario")
    if differing and isinstance(scenario, Mapping):
        changed["scenario"] = {
            name: {key: each for key, each in keys.items() if key != "differ"}
            for name, keys in scenario.items()
        }
    other = type(study).model_validate(drop_other_engines(place_values(changed, values)))
    spec = other.scenario.spec
    if differing and spec is not None:
        spec = spec.model_copy(update={"differ": differing})
    load = other.given_load
    if load is not None and study.given_load is not None:
        own = {name: vars(study.given_load)[name] for name in SAME}
        load = load.model_copy(update=own)
    found = {
        "given_database": other.given_database,
        "given_workload": other.given_workload,
        "given_load": load,
        "scenario": replace(other.scenario, spec=spec),
    }
    return study.model_copy(update=found)


def place_values(data: Mapping[str, Any], values: Mapping[str, Value]) -> dict[str, Any]:
    """The data of a study with these values at their keys."""
    for key, value in values.items():
        # The name of a setting may have dots.
        path = key.split(".", SETTINGS.count(".") if key.startswith(SETTINGS) else -1)
        data = _replace_value(data, tuple(path), value)
    return dict(data)


def _replace_value(data: Any, path: tuple[str, ...], value: Value) -> dict[str, Any]:
    """The data with a value at a path, instead of a word that stands on the way to it.

    Names of settings mean the same in either case.
    """
    first, *rest = path
    there = data if isinstance(data, Mapping) else {}
    kept = {name: each for name, each in there.items() if name.lower() != first.lower()}
    return {**kept, first: _replace_value(there.get(first), tuple(rest), value) if rest else value}


def find_problems(study: "Study", data: Mapping[str, Any]) -> Iterator[Violation]:
    """What is wrong with what varies, each at its key or value."""
    wrong = [*_find_unknown(study), *_find_without_effect(study)]
    if wrong:
        yield from wrong
        return
    count = len(study.points)
    if count > POINTS_MOST:
        yield Violation(f"{count} points", f"at most {POINTS_MOST}", None, ())
        return
    found = [
        each
        for key, values in study.vary.items()
        for i, value in enumerate(values)
        for each in _check_value(study, data, (key, i), value)
    ]
    yield from found or _check_together(study, data)


def find_differing_problems(study: "Study", data: Mapping[str, Any]) -> Iterator[Violation]:
    """Find what is wrong with the keys in which instances differ, each at its key or value."""
    if not (differing := study.scenario.keys.list_differing()):
        return
    count, where = study.instances, ("scenario", study.scenario.name, "differ")
    known = [MEMORY, *(f"workload.{key}" for key in study.workload.size)]
    own = [name for name, each in study.candidates.items() if each.memory_bytes]
    if count < 2:
        yield Violation("tenants that differ", "two of them or more", count, where)
    for key, values in differing.items():
        if key not in known:
            right = f"{', '.join(known[:-1])} or {known[-1]}"
            yield Violation("not a key in which tenants differ", right, key, (*where, key))
        elif key in study.vary:
            yield Violation("a key that varies, too", "leave one out", key, (*where, key))
        elif len(values) != count:
            right = f"one for each of {count} tenants"
            yield Violation(f"{len(values)} values", right, list(values), (*where, key))
        elif key == MEMORY and own:
            what = f"candidate `{own[0]}` has its own memory, in which no tenants would differ"
            yield Violation(what, "leave one of them out", None, (*where, key))
        else:
            for i, value in enumerate(values):
                try:
                    resolve_study(study, {key: value}, data)
                except ValidationError as error:
                    for wrong in _check_keys(error):
                        yield wrong._replace(value=value, loc=(*where, key, i))


def _check_value(
    study: "Study", data: Mapping[str, Any], loc: tuple[str, int], value: Value
) -> Iterator[Violation]:
    """What is wrong with a value at its key; else what it gives up, or would make of the load."""
    if isinstance(value, str) and re.fullmatch(r"[\d.]+ ?[kKmMgGtT]", value):
        right = "write KiB, MiB, GiB or TiB; min for minutes"
        yield Violation("a unit that is cut short", right, value, loc)
        return
    try:
        found = resolve_study(study, {loc[0]: value}, data)
    except ValidationError as error:
        yield from (wrong._replace(value=value, loc=loc) for wrong in _check_keys(error))
        return
    # Durability does not vary within a candidate: all its numbers must say so, or none.
    if given_up := [each for each in found.given_up if each not in study.given_up]:
        right = "compare two candidates instead, one with its own `settings`"
        yield Violation(f"durability that varies ({given_up[0]})", right, value, loc)
    if _is_open(found.given_load) != _is_open(study.given_load):
        right = "give `load.rate` a value, too: what users wait for cannot vary"
        yield Violation("an open loop beside a closed one", right, value, loc)
    key, place = loc
    for other in study.vary[key][:place]:
        if resolve_study(study, {key: other}, data) == found:
            yield Violation("a value given twice", f"it means the same as {other}", value, loc)


def _is_open(load: Load | None) -> bool:
    return load is not None and load.is_open


def _check_together(study: "Study", data: Mapping[str, Any]) -> Iterator[Violation]:
    if len(study.vary) < 2:
        return
    for point in list_points({}, study.vary):
        try:
            resolve_study(study, point.values, data)
        except ValidationError as error:
            said = next(_check_keys(error))
            key, value = point.factors[-1]
            loc = (key, study.vary[key].index(value))
            yield said._replace(what=f"{said.what} ({point})", value=value, loc=loc)
            return


def _check_keys(error: ValidationError) -> Iterator[Violation]:
    for each in error.errors(include_url=False):
        said = each.get("ctx", {})
        yield Violation(said.get("what", "not possible"), said.get("right", each["msg"]), None, ())


def _find_unknown(study: "Study") -> Iterator[Violation]:
    keys = [key.lower() for key in study.vary]
    for number, key in enumerate(study.vary):
        is_setting = key.startswith(SETTINGS) and key != SETTINGS
        if key.lower() in keys[:number]:
            yield Violation("a key given twice", "keep one; case makes no difference", key, (key,))
        elif key.removeprefix("load.") == get_level_factor().name:
            yield Violation(
                "levels have a list of their own", f"list them in `{LEVELS_KEY}`", None, (key,)
            )
        elif (because := _find_refused(study, key)) is not None:
            yield Violation("a key whose value may not vary", because, key, (key,))
        elif not (is_setting and study.given_database) and key not in (known := _list_known(study)):
            guess = find_closest(key, known)
            right = f"did you mean `{guess}`?" if guess else ", or ".join(known) or "leave it out"
            yield Violation("not a key whose value may vary", right, key, (key,))


def _find_refused(study: "Study", key: str) -> str | None:
    section, _, name = key.partition(".")
    if section == "workload" and study.given_workload:
        return get_workload(study.workload.name).not_varied.get(name)
    return NOT_VARIED.get(name) if section == "load" and study.given_load else None


def _list_known(study: "Study") -> list[str]:
    keys = [ENGINE, MEMORY, CPUS, f"{SETTINGS}<name>"] if study.given_database else []
    if study.given_workload:
        spec = type(study.given_workload)
        fixed = {"name", *get_workload(study.workload.name).not_varied}
        keys += [f"workload.{key}" for key in _list_keys(spec) if key not in fixed]
    if study.given_load:
        fixed = {get_level_factor().name, *NOT_VARIED}
        keys += [
            *(f"load.{key}" for key in _list_keys(Load) if key not in fixed),
            "load.pace.think",
        ]
    scenario = study.scenario
    for field, info in type(scenario.spec).model_fields.items() if scenario.spec else ():
        if (key := info.alias or field) not in scenario.keys.FIXED:
            keys.append(f"scenario.{scenario.name}.{key}")
    return keys


def _list_keys(spec: Any) -> Iterator[str]:
    for field, info in spec.model_fields.items():
        name, inner = info.alias or field, info.annotation
        is_section = isinstance(inner, type) and issubclass(inner, BaseModel)
        yield from (
            (f"{name}.{inner_key}" for inner_key in _list_keys(inner)) if is_section else (name,)
        )


def _find_without_effect(study: "Study") -> Iterator[Violation]:
    for key in study.vary:
        name = key.removeprefix(SETTINGS).lower() if key.startswith(SETTINGS) else None
        for candidate, each in study.candidates.items():
            own = {setting.lower() for setting in each.settings}
            given = {MEMORY: each.memory_bytes, CPUS: each.cpus}.get(key)
            if given or name in own:
                what = f"candidate `{candidate}` has its own value, which would not vary"
                yield Violation(what, "leave one of them out", list(study.vary[key]), (key,))
