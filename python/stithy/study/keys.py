"""Every key of a study file, as messages find it: of the model, and of each plug-in's `Spec`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stithy.registry import plugins
from stithy.storage.layer import OneLayer
from stithy.study.model import Study
from stithy.study.problems import Loc
from stithy.study.scenario import Scenario
from stithy.study.sections import CandidateKeys

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


def all_keys() -> Iterator[Key]:
    """All keys in the order of the reference page; those of plug-ins after what they belong to."""
    for field, info in Study.model_fields.items():
        name = info.alias or field
        yield Key((name,), info)
        if name == "candidates":
            yield from _plugin_keys("provider", (name, ANY))
            yield from _keys(CandidateKeys, (name, ANY), None)
        elif name == "workload":
            yield from _plugin_keys("workload", (name,))
        elif name == "scenario":
            for scenario, kind, spec in scenarios():
                yield from _keys(spec, (name, scenario), kind)
        elif below := model_of(info):
            yield from _keys(below, (name,), None)


def known_at(loc: Loc, plugin: str | None = None) -> list[str]:
    """The keys that a mapping at `loc` may have, in order; empty where the person chooses them.

    With `plugin` without those of other plug-ins.
    """
    return list(dict.fromkeys(key.path[-1] for key in _below(loc, plugin)))


def needed_at(loc: Loc, plugin: str | None = None) -> list[str]:
    """Those of `known_at` that have no default."""
    needed: dict[str, None] = {}
    for key in _below(loc, plugin):
        extra = key.info.json_schema_extra
        default = str(extra.get("default")) if isinstance(extra, dict) else ""
        # Only some studies can leave out what is required unless something else holds.
        if key.info.is_required() or default.startswith("required, unless"):
            needed[key.path[-1]] = None
    return list(needed)


def key_at(loc: Loc, plugin: str | None = None) -> Key | None:
    """The key at `loc`; for an entry of a list the key of the list; None where there is none.

    Of several plug-ins that have it `plugin` names one; else it is that of the first.
    """
    return next((key for key in _at(loc) if plugin is None or key.plugin in (None, plugin)), None)


def plugins_at(loc: Loc) -> list[str]:
    """The plug-ins that have a key at `loc`."""
    return [key.plugin for key in _at(loc) if key.plugin is not None]


def _at(loc: Loc) -> Iterator[Key]:
    names = tuple(each for each in loc if isinstance(each, str))
    return (key for key in all_keys() if key.matches(names))


def _below(loc: Loc, plugin: str | None = None) -> list[Key]:
    keys = (key for key in all_keys() if key.path[-1] != ANY)
    found = (key for key in keys if Key(key.path[:-1], key.info).matches(loc))
    return [key for key in found if plugin is None or key.plugin in (None, plugin)]


def scenarios() -> list[tuple[str, str, type[BaseModel]]]:
    """The scenarios that have keys of their own, with each kind of them."""
    every = plugins(Scenario).items()
    return [(name, kind, keys) for name, of in every for kind, keys in of.list_keys().items()]


def _plugin_keys(family: str, above: tuple[str, ...]) -> Iterator[Key]:
    for plugin, module in plugins(family).items():
        yield from _keys(module.Spec, above, plugin)


def _keys(model: type[BaseModel], above: tuple[str, ...], plugin: str | None) -> Iterator[Key]:
    for name, info in model.model_fields.items():
        path = (*above, info.alias or name)
        yield Key(path, info, plugin)
        if below := model_of(info):
            yield from _keys(below, path, plugin)


def model_of(info: FieldInfo) -> type[BaseModel] | None:
    """The keys below a key, also where it may be left out; None where it takes a value."""
    for each in info.metadata:
        if isinstance(each, OneLayer):
            return each.model()
    for each in (info.annotation, *get_args(info.annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None
