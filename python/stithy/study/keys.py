"""Every key of a study file, as messages find it: of the model, and of each plug-in's `Spec`."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stithy.activity import get_level_factor
from stithy.environment import list_plugin_folders
from stithy.meters.meter import Meter
from stithy.metrics import find
from stithy.registry import plugins
from stithy.storage.layer import OneLayer
from stithy.storage.provider import Provider
from stithy.study.candidates import CandidateKeys
from stithy.study.document import quoted, write_yaml
from stithy.study.model import Study
from stithy.study.primary import BLOCKS_MOST, MARGIN_PERCENT
from stithy.study.problems import Loc
from stithy.study.scenario import OPTIONAL, Scenario
from stithy.study.sections import USUAL, list_sections
from stithy.units import format_duration, format_size
from stithy.workloads.workload import Size, Workload

ANY = "<name>"
"""Stands for a name that the person chooses."""


@dataclass(frozen=True)
class Key:
    """One key of the study file; `plugin` names whose it is, None for Stithy's own."""

    path: tuple[str, ...]
    info: FieldInfo
    plugin: str | None = None

    @property
    def dotted(self) -> str:
        """The path as messages write it: `load.users`."""
        return ".".join(self.path)

    @property
    def example(self) -> Any:
        """An example value, None where the key has keys of its own."""
        return self.info.examples[0] if self.info.examples else None

    def matches(self, loc: Loc) -> bool:
        """Whether `loc` is this key."""
        pairs = zip(self.path, loc, strict=False)
        return len(self.path) == len(loc) and all(own in (ANY, other) for own, other in pairs)


def list_all_keys() -> tuple[Key, ...]:
    """All keys in the order of the reference page; those of plug-ins after what they belong to."""
    return _list_all_with(list_plugin_folders())


@cache
def _list_all_with(places: tuple[Path, ...]) -> tuple[Key, ...]:
    """List those of Stithy and of plug-ins in these folders; a wrong key asks for them often."""
    keys: list[Key] = []
    for field, info in Study.model_fields.items():
        name = info.alias or field
        keys.append(Key((name,), info))
        if name == "candidates":
            for plugin, provider in plugins(Provider).items():
                keys += _list_keys(provider.spec, (name, ANY), plugin)
            keys += _list_keys(CandidateKeys, (name, ANY), None)
        elif name == "workload":
            for plugin, workload in plugins(Workload).items():
                keys += _list_keys(workload.keys, (name,), plugin)
        elif name == "scenario":
            for scenario, kind, spec in list_scenarios():
                keys += _list_keys(spec, (name, scenario), kind)
        elif below := find_model(info):
            keys += _list_keys(below, (name,), None)
        if name == "power":
            for plugin, meter in plugins(Meter).items():
                keys += _list_keys(meter.keys, (name, "meters", ANY), plugin)
    return tuple(keys)


def list_known(loc: Loc, plugin: str | None = None) -> list[str]:
    """The keys that a mapping at `loc` may have, in order; empty where the person chooses them.

    With `plugin` without those of other plug-ins.
    """
    return list(dict.fromkeys(key.path[-1] for key in _list_below(loc, plugin)))


def list_needed(loc: Loc, plugin: str | None = None) -> list[str]:
    """Those of `list_known` that have no default."""
    needed: dict[str, None] = {}
    for key in _list_below(loc, plugin):
        extra = key.info.json_schema_extra
        default = str(extra.get("default")) if isinstance(extra, dict) else ""
        # Only some studies can leave out what is required unless something else holds.
        if key.info.is_required() or default.startswith("required, unless"):
            needed[key.path[-1]] = None
    return list(needed)


def find_key(loc: Loc, plugin: str | None = None) -> Key | None:
    """The key at `loc`; for an entry of a list the key of the list; None where there is none.

    Of several plug-ins that have it `plugin` names one; else it is that of the first.
    """
    return next(
        (key for key in _find_at(loc) if plugin is None or key.plugin in (None, plugin)), None
    )


def list_plugins(loc: Loc) -> list[str]:
    """The plug-ins that have a key at `loc`."""
    return [key.plugin for key in _find_at(loc) if key.plugin is not None]


def _find_at(loc: Loc) -> Iterator[Key]:
    names = tuple(each for each in loc if isinstance(each, str))
    return (key for key in list_all_keys() if key.matches(names))


def _list_below(loc: Loc, plugin: str | None = None) -> list[Key]:
    keys = (key for key in list_all_keys() if key.path[-1] != ANY)
    found = (key for key in keys if Key(key.path[:-1], key.info).matches(loc))
    return [key for key in found if plugin is None or key.plugin in (None, plugin)]


def list_scenarios() -> list[tuple[str, str, type[BaseModel]]]:
    """The scenarios that have keys of their own, with each kind of them."""
    every = plugins(Scenario).items()
    return [(name, kind, keys) for name, of in every for kind, keys in of.list_keys().items()]


def _list_keys(model: type[BaseModel], above: tuple[str, ...], plugin: str | None) -> Iterator[Key]:
    for name, info in model.model_fields.items():
        path = (*above, info.alias or name)
        yield Key(path, info, plugin)
        if below := find_model(info):
            named = (ANY,) if get_origin(info.annotation) is dict else ()
            yield from _list_keys(below, (*path, *named), plugin)


def find_model(info: FieldInfo) -> type[BaseModel] | None:
    """The keys below a key, also where it may be left out; None where it takes a value."""
    for each in info.metadata:
        if isinstance(each, OneLayer):
            return each.make_model()
    for each in (info.annotation, *get_args(info.annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None


WIDTH = 100


@dataclass(frozen=True)
class Option:
    """A candidate that could be: its name and lines; `note` tells what it is, in a few words.

    `target`: the lines of what its database moves to, None where it does not.
    """

    name: str
    lines: Mapping[str, str]
    note: str
    target: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Draft:
    """What a new study says.

    `head`: lines about it as a whole. `candidates` are in it, `others` could be. `size` is
    that of its database, each number by its key. The rest as in the study file; what its scenario
    has no section for is left out.
    """

    head: tuple[str, ...]
    question: str
    candidates: tuple[Option, ...]
    others: tuple[Option, ...]
    engine: str | None
    memory_bytes: int
    workload: str
    size: Size
    levels: tuple[int, ...]
    ramp_up_s: float = 30.0
    duration_s: float = 60.0
    blocks: int = BLOCKS_MOST
    margin_percent: float = MARGIN_PERCENT
    scenario: str = USUAL

    @property
    def has_users(self) -> bool:
        """Whether its scenario has levels of virtual users."""
        return "load" in list_sections(self.scenario)


def write_study_text(draft: Draft) -> str:
    """The study file, valid as it stands."""
    # What its scenario does not have is not shown as an option, either.
    shown = {"study", "candidates", "primary", *OPTIONAL}
    shown |= set() if draft.scenario == USUAL else {"scenario"}
    lines = [
        *(f"# {line}".rstrip() for line in draft.head),
        "",
        *_write_values((), {"study": quoted(draft.question)}, only=("study",)),
        "",
        *_write_candidates(draft),
        "",
        *_write_scenario(draft.scenario),
        *(line for name in list_sections(draft.scenario) for line in (*_SECTIONS[name](draft), "")),
        *_write_primary(draft),
        *_write_others((), [each for each in list_known(()) if each not in shown]),
    ]
    return "\n".join(lines) + "\n"


def _write_scenario(name: str) -> Iterator[str]:
    if name == USUAL:
        return
    above = ("scenario", name)
    yield from _write_comment(_write_meaning(above[:1]), "")
    if not (known := list_known(above)):
        yield from (f"scenario: {name}", "")
        return
    yield from ("scenario:", f"  {name}:")
    needed = _list_examples(above, list_needed(above))
    yield from _write_values(above, needed, only=tuple(needed))
    yield from (*_write_others(above, [each for each in known if each not in needed]), "")


def _list_examples(above: Loc, names: Iterable[str], plugin: str | None = None) -> dict[str, str]:
    keys = ((name, find_key((*above, name), plugin)) for name in names)
    return {name: write_yaml(key.example) for name, key in keys if key is not None}


def _write_primary(draft: Draft) -> Iterator[str]:
    level = {get_level_factor().name: str(max(draft.levels))} if draft.has_users else {}
    scenario = plugins(Scenario)[draft.scenario]
    metric = scenario.metric
    known = find(metric) if metric else None
    # One that is compared as a difference declares its margin.
    has_own = known is not None and known.negligible is not None
    margin = {} if has_own else {"margin": f"{draft.margin_percent:g}%"}
    blocks = {} if scenario.has_fixed_blocks else {"blocks": str(draft.blocks)}
    yield from (*_write_section("primary", level | margin | blocks), "")


def _write_database(draft: Draft) -> Iterator[str]:
    values = {"engine": draft.engine or "", "memory": format_size(draft.memory_bytes)}
    return _write_section("database", values)


def _write_workload(draft: Draft) -> Iterator[str]:
    name = draft.workload
    values = {"name": name, **{key: str(number) for key, number in draft.size.items()}}
    needed = [each for each in list_needed(("workload",), name) if each not in values]
    return _write_section("workload", values | _list_examples(("workload",), needed, name), name)


def _load(draft: Draft) -> Iterator[str]:
    values = {
        get_level_factor().name: write_yaml(draft.levels),
        "ramp_up": format_duration(draft.ramp_up_s),
        "duration": format_duration(draft.duration_s),
    }
    return _write_section("load", values)


_SECTIONS = {"database": _write_database, "workload": _write_workload, "load": _load}


def _write_candidates(draft: Draft) -> Iterator[str]:
    yield from _write_comment(_write_meaning(("candidates",)), "")
    yield "candidates:"
    yield from (_write_option(each, "  ") for each in draft.candidates)
    if draft.others:
        yield "  # Other candidates that this machine can have:"
        yield from (_write_option(each, "  # ") for each in draft.others)


def _write_option(option: Option, margin: str) -> str:
    lines, target = (
        ", ".join(f"{key}: {quoted(value)}" for key, value in given.items())
        for given in (option.lines, option.target or {})
    )
    lines += f", roles: {{target: {{{target}}}}}" if target else ""
    return f"{margin}{option.name}: {{{lines}}}  # {option.note}"


def _write_section(
    name: str, values: Mapping[str, str], plugin: str | None = None
) -> Iterator[str]:
    """A section with its keys; of those of plug-ins only what `plugin` has."""
    yield from _write_comment(_write_meaning((name,)), "")
    yield f"{name}:"
    yield from _write_values((name,), values, only=tuple(values), plugin=plugin)
    rest = [each for each in list_known((name,), plugin) if each not in values]
    yield from _write_others((name,), rest, plugin)


def _write_values(
    above: Loc, values: Mapping[str, str], *, only: tuple[str, ...], plugin: str | None = None
) -> Iterator[str]:
    margin = "  " * len(above)
    for name in only:
        yield from _write_comment(_write_meaning((*above, name), plugin), margin)
        yield f"{margin}{name}: {values[name]}"


def _write_others(above: Loc, names: list[str], plugin: str | None = None) -> Iterator[str]:
    """Keys that may be left out, each as a comment that shows it with its example."""
    margin = "  " * len(above)
    keys = [(name, key) for name in names if (key := find_key((*above, name), plugin))]
    if keys:
        yield f"{margin}# Optional keys, each with an example and its default:"
    for name, key in keys:
        yield f"{margin}# {name}: {write_yaml(key.example)}"
        text = (key.info.description or "").split(". ")[0].rstrip(".") + "."
        extra = key.info.json_schema_extra
        default = extra.get("default") if isinstance(extra, dict) else key.info.default
        if default or default is False:
            text += f" Default: {write_yaml(default)}."
        yield from _write_comment(text, margin, hanging="    ")


def _write_meaning(loc: Loc, plugin: str | None = None) -> str:
    key = find_key(loc, plugin)
    return (key.info.description or "") if key else ""


def _write_comment(text: str, margin: str, hanging: str = "") -> Iterator[str]:
    head = f"{margin}# {hanging}"
    yield from (f"{head}{line}" for line in textwrap.wrap(text, WIDTH - len(head)))
