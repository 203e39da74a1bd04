"""Every key of a study file: what messages, schema and reference page share."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stithy.registry import plugins
from stithy.study.candidate_keys import CandidateKeys
from stithy.study.document import Loc
from stithy.study.model import Study

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
    for name, info in Study.model_fields.items():
        yield Key((name,), info)
        if name == "candidates":
            yield from _plugin_keys("provider", (name, ANY))
            yield from _keys(CandidateKeys, (name, ANY), None)
        elif name == "workload":
            yield from _plugin_keys("workload", (name,))
        elif below := model_of(info):
            yield from _keys(below, (name,), None)


def known_at(loc: Loc) -> list[str]:
    """The keys that a mapping at `loc` may have, in order; empty where the person chooses them."""
    return list(dict.fromkeys(key.path[-1] for key in _below(loc)))


def needed_at(loc: Loc) -> list[str]:
    """Those of `known_at` that have no default."""
    return list(dict.fromkeys(key.path[-1] for key in _below(loc) if key.info.is_required()))


def key_at(loc: Loc) -> Key | None:
    """The key at `loc`; for an entry of a list the key of the list; None where there is none."""
    names = tuple(each for each in loc if isinstance(each, str))
    return next((key for key in all_keys() if key.matches(names)), None)


def _below(loc: Loc) -> list[Key]:
    keys = (key for key in all_keys() if key.path[-1] != ANY)
    return [key for key in keys if Key(key.path[:-1], key.info).matches(loc)]


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
    for each in (info.annotation, *get_args(info.annotation)):
        if isinstance(each, type) and issubclass(each, BaseModel):
            return each
    return None
