"""Every key of a study file: as messages find it, as JSON Schema for editors, as reference page.

All are derived from the model and the `Spec` of every plug-in. The schema cannot say all that the
model checks (levels given twice, storage that candidates share); `stithy plan` does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from stithy.registry import plugins
from stithy.storage.layer import OneLayer
from stithy.study.document import as_yaml
from stithy.study.model import Study
from stithy.study.problems import Loc
from stithy.study.sections import (
    OPTIONAL,
    USUAL,
    CandidateKeys,
    candidate_model,
    sections_of,
    specs_of,
)

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
            for scenario, kind, spec in _scenarios():
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
    needed = (key for key in _below(loc, plugin) if key.info.is_required() or _usually(key))
    return list(dict.fromkeys(key.path[-1] for key in needed))


def _usually(key: Key) -> bool:
    """Whether only some studies can leave it out."""
    extra = key.info.json_schema_extra
    return isinstance(extra, dict) and str(extra.get("default")).startswith("required, unless")


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


def _scenarios() -> list[tuple[str, str, type[BaseModel]]]:
    """The scenarios that have keys of their own, with each kind of them."""
    return [
        (name, kind, spec) for name in plugins("scenario") for kind, spec in specs_of(name).items()
    ]


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


DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCALAR = {"type": ["string", "number", "boolean"]}


def study_schema() -> dict[str, Any]:
    """The schema of a whole study file."""
    schema = Study.model_json_schema()
    properties = schema["properties"]
    providers = {name: candidate_model(name) for name in plugins("provider")}
    workloads = {name: module.Spec for name, module in plugins("workload").items()}
    candidates = _specs(providers)
    for each in candidates:
        _names(each["properties"]["settings"], SCALAR)
    _names(properties["candidates"], {"anyOf": candidates})
    for name in OPTIONAL:
        properties[name] = _present(properties[name])
    properties["workload"]["anyOf"] = _specs(workloads)
    del properties["scenario"]["type"]
    named = {"type": "string", "enum": list(plugins("scenario"))}
    keyed = [
        _keyed(name, each) for name, kind, spec in _scenarios() for each in _specs({kind: spec})
    ]
    properties["scenario"]["anyOf"] = [named, *keyed]
    schema["allOf"] = [_needed(name) for name in plugins("scenario")]
    database = schema["$defs"]["Database"]["properties"]
    database["engine"]["enum"] = list(plugins("engine"))
    _names(database["settings"], SCALAR)
    return {"$schema": DIALECT, **schema, "title": "A study of Stithy"}


def _present(section: dict[str, Any]) -> dict[str, Any]:
    """A section that may be left out, as it is where it is there."""
    choices = [each for each in section.get("anyOf", []) if each.get("type") != "null"]
    one = choices[0] if len(choices) == 1 else {}
    kept = {key: each for key, each in section.items() if key != "anyOf" or not one}
    return {**kept, **one}


def _needed(scenario: str) -> dict[str, Any]:
    """The sections that a study needs, and those it may not have, if it names this scenario."""
    names = {"anyOf": [{"const": scenario}, {"type": "object", "required": [scenario]}]}
    needed = sections_of(scenario)
    asked = {
        "properties": {"scenario": names},
        "required": ["scenario"] if scenario != USUAL else [],
    }
    others = {name: False for name in OPTIONAL if name not in needed}
    return {"if": asked, "then": {"required": list(needed), "properties": others}}


def _keyed(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A mapping of a scenario's name to its keys."""
    return {"type": "object", "properties": {name: spec}, "required": [name],
            "additionalProperties": False}  # fmt: skip


def _names(mapping: dict[str, Any], value: dict[str, Any]) -> None:
    """Turn pydantic's mapping with a name pattern into one that editors follow."""
    (pattern,) = mapping.pop("patternProperties")
    mapping["propertyNames"] = {**mapping.get("propertyNames", {}), "pattern": pattern}
    mapping["additionalProperties"] = value


def _specs(models: Mapping[str, type[BaseModel]]) -> list[dict[str, Any]]:
    found = models.items()
    return [{**_inlined(model.model_json_schema()), "title": name} for name, model in found]


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """A plug-in's schema with what it refers to in its place: it becomes part of a larger one."""
    definitions = schema.pop("$defs", {})

    def resolved(key: dict[str, Any]) -> dict[str, Any]:
        # What may be left out is written as a choice between it and nothing.
        choices = [each for each in key.get("anyOf", []) if each.get("type") != "null"]
        if len(choices) == 1:
            key = {**choices[0], **{name: key[name] for name in key if name != "anyOf"}}
        if "$ref" in key:
            kind = definitions[key["$ref"].rpartition("/")[2]]
            key = {**kind, **{name: key[name] for name in key if name != "$ref"}}
        if "properties" in key:
            below = {name: resolved(each) for name, each in key["properties"].items()}
            key = {**key, "properties": below}
        return key

    return resolved(schema)


HEAD = """# The study file

Generated from the model in `python/stithy/study/model.py` and from the plug-ins. Change those, then
run `make golden`. [Words](../words.md) explains the terms.

A study is one YAML file. `stithy plan STUDY` checks it, and reports all problems at once, with line
and column.

Durations and sizes have a unit: `90s`, `2 min`, `1 GiB`, `384MB`. The units of time are `us`, `ms`,
`s`, `min`, `h` and `d`. `KiB`, `MiB`, `GiB` and `TiB` are powers of 1024; `kB`, `MB`, `GB` and `TB`
are powers of 1000.

Editors complete the keys if the first line is
`# yaml-language-server: $schema=study.schema.json`. The schema is `studies/study.schema.json`.
"""

EXAMPLE = """## An example

```yaml
{text}```
"""


def reference_page(example: str) -> str:
    """The page as Markdown; `example` is the text of a study file."""
    schema = study_schema()
    sections = [HEAD, EXAMPLE.format(text=example), *_sections(schema)]
    return "\n".join(sections)


def _sections(schema: dict[str, Any]) -> Iterator[str]:
    top = schema["properties"]
    yield _page_section("The file", schema)
    for spec in top["candidates"]["additionalProperties"]["anyOf"]:
        title = f"`candidates.<name>` with the provider `{spec['title']}`"
        yield _page_section(title, spec)
        yield from _sections_below("candidates.<name>", spec)
    yield _page_section("`database`", schema["$defs"]["Database"])
    for spec in top["workload"]["anyOf"]:
        yield _page_section(f"`workload` with the name `{spec['title']}`", spec)
        for name, key in spec["properties"].items():
            if "properties" in key:
                yield _page_section(f"`workload.{name}` with the name `{spec['title']}`", key)
    yield _page_section("`load`", schema["$defs"]["Load"])
    for spec in top["scenario"]["anyOf"][1:]:
        for name, keys in spec["properties"].items():
            choice = getattr(plugins("scenario")[name], "CHOICE", None)
            of_kind = f" with `{choice}: {keys['title']}`" if choice else ""
            yield _page_section(f"`scenario.{name}`{of_kind}", keys)
    yield _page_section("`primary`", schema["$defs"]["Primary"])


def _sections_below(above: str, schema: dict[str, Any]) -> Iterator[str]:
    """The sections of keys that have keys of their own; equal ones are reported once."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, key in schema["properties"].items():
        if "properties" in key:
            found.setdefault(tuple(key["properties"]), []).append(name)
    for names in found.values():
        titles = ", ".join([f"`{above}.{names[0]}`", *(f"`….{name}`" for name in names[1:])])
        key = schema["properties"][names[0]]
        yield _page_section(titles, key)
        yield from _sections_below(f"{above}.{names[0]}", key)


def _page_section(title: str, schema: dict[str, Any]) -> str:
    rows = [_row(schema, name, each) for name, each in schema["properties"].items()]
    head = ["| key | meaning | value | default | example |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([f"## {title}", "", schema["description"], "", *head, *rows, ""])


def _row(schema: dict[str, Any], name: str, key: dict[str, Any]) -> str:
    needed = name in schema.get("required", [])
    default = "required" if needed else f"`{as_yaml(key['default'])}`"
    examples = key.get("examples", [])
    example = f"`{as_yaml(examples[0])}`" if examples else ""
    cells = [f"`{name}`", key.get("description", ""), _value_kind(key), default, example]
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"


def _value_kind(key: dict[str, Any]) -> str:
    """What a key takes, in words."""
    if "enum" in key or "const" in key:
        choices = key.get("enum", [key.get("const")])
        return " or ".join(f"`{each}`" for each in choices)
    if any("enum" in each for each in key.get("anyOf", [])):
        return " or ".join(dict.fromkeys(_value_kind(each) for each in key["anyOf"]))
    choices = [each for each in key.get("anyOf", []) if each.get("type") != "null"]
    if len(choices) == 1:  # an optional value
        return _value_kind(choices[0])
    if choices and not any(part in each for each in choices for part in ("$ref", "properties")):
        return " or ".join(map(_value_kind, choices))
    if key.get("additionalProperties") is False and "title" not in key:
        return f"`{{{', '.join(f'{name}: …' for name in key['properties'])}}}`"
    if "$ref" in key or "anyOf" in key or "properties" in key:
        return "a section, see below"
    if key.get("pattern", "").endswith(r"%\s*$"):
        return "a percentage"
    if "/" in key.get("pattern", ""):
        return "a scale" if r"s*1" in key["pattern"] else "a rate"
    if "pattern" in key:
        return "a duration" if "min" in key["pattern"] else "a size"
    if key["type"] == "array":
        return f"a list; each entry is {_value_kind(key['items'])}"
    return _bounded(key)


def _bounded(key: dict[str, Any]) -> str:
    kinds = {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "`true` or `false`",
        "object": "names with values",
    }
    words = [kinds[key["type"]]]
    if "minimum" in key:
        words.append(f"at least {key['minimum']}")
    if "maximum" in key:
        words.append(f"at most {key['maximum']:_}".replace("_", ","))
    return ", ".join(words)
