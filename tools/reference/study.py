"""The reference page of the study file, and its JSON Schema for editors, from model and plug-ins.

The schema cannot say all that the model checks (levels given twice, storage that candidates share);
`stithy plan` does.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from stithy.engines.engine import Engine
from stithy.meters.meter import Meter
from stithy.registry import plugins
from stithy.storage.provider import Provider
from stithy.study.candidates import CandidateKeys, list_refused_keys, make_candidate_model
from stithy.study.document import write_yaml
from stithy.study.keys import list_scenarios
from stithy.study.model import Study
from stithy.study.scenario import OPTIONAL, Scenario
from stithy.study.sections import USUAL, list_sections
from stithy.workloads.workload import Workload

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def study_schema() -> dict[str, Any]:
    """The schema of a whole study file."""
    schema = Study.model_json_schema()
    properties = schema["properties"]
    providers = {name: make_candidate_model(name) for name in plugins(Provider)}
    workloads = {name: workload.keys for name, workload in plugins(Workload).items()}
    candidates = _specs(providers)
    for candidate in candidates:
        _drop_refused_keys(candidate)
    _names(properties["candidates"], {"anyOf": candidates})
    for name in OPTIONAL:
        properties[name] = _present(properties[name])
    properties["workload"]["anyOf"] = _specs(workloads)
    del properties["scenario"]["type"]
    named = {"type": "string", "enum": list(plugins(Scenario))}
    keyed = [
        _keyed(name, each) for name, kind, spec in list_scenarios() for each in _specs({kind: spec})
    ]
    properties["scenario"]["anyOf"] = [named, *keyed]
    schema["allOf"] = [_needed(name) for name in plugins(Scenario)]
    meters = {name: meter.keys for name, meter in plugins(Meter).items()}
    _names(schema["$defs"]["Power"]["properties"]["meters"], {"anyOf": _specs(meters)})
    exporter = {"$ref": "#/$defs/ExporterKeys"}
    _names(schema["$defs"]["Collect"]["properties"]["exporters"],
           {"anyOf": [{"type": "string"}, exporter]})  # fmt: skip
    database = schema["$defs"]["Database"]["properties"]
    database["engine"]["enum"] = list(plugins(Engine))
    return {"$schema": DIALECT, **schema, "title": "A study of Stithy"}


def _present(section: dict[str, Any]) -> dict[str, Any]:
    """A section that may be left out, as it is where it is there."""
    choices = [each for each in section.get("anyOf", []) if each.get("type") != "null"]
    one = choices[0] if len(choices) == 1 else {}
    kept = {key: each for key, each in section.items() if key != "anyOf" or not one}
    return {**kept, **one}


def _drop_refused_keys(candidate: dict[str, Any]) -> None:
    """Leave out the keys that its provider refuses, and name the engines that alone have others."""
    provider, engines = plugins(Provider)[candidate["title"]], plugins(Engine).items()
    refused = {name: list_refused_keys(provider, engine) for name, engine in engines}
    for field, info in CandidateKeys.model_fields.items():
        able = [name for name, keys in refused.items() if field not in keys]
        key = info.alias or field
        if not able:
            del candidate["properties"][key]
        elif len(able) < len(engines):
            more = f" With this provider only `engine: {' or '.join(able)}` has them."
            candidate["properties"][key]["description"] += more


LEVELS = {"anyOf": [{"required": ["users"]}, {"required": ["find"]}]}


def _list_idle(scenario: str) -> list[Any]:
    """How studies name this scenario in which nobody works."""
    keys = plugins(Scenario)[scenario].keys
    found = []
    for name, key in keys.model_json_schema()["properties"].items() if keys else ():
        words = [word for each in key.get("anyOf", [key]) for word in each.get("enum", [])]
        if idle := [word for word in words if keys and not keys.has_users({name: word})]:
            chosen = {"properties": {name: {"enum": idle}}, "required": [name]}
            found.append({"properties": {"scenario": _keyed(scenario, chosen)}})
    return found


def _needed(scenario: str) -> dict[str, Any]:
    """The sections that a study needs, and those it may not have, if it names this scenario."""
    names = {"anyOf": [{"const": scenario}, {"type": "object", "required": [scenario]}]}
    needed = list_sections(scenario)
    asked = {
        "properties": {"scenario": names},
        "required": ["scenario"] if scenario != USUAL else [],
    }
    then: dict[str, Any] = {
        "required": [name for name in needed if name != "load"],
        "properties": {name: False for name in OPTIONAL if name not in needed},
    }
    if "load" in needed:
        users = {"required": ["load"], "properties": {"load": LEVELS}}
        then |= {"if": {"anyOf": _list_idle(scenario) or [False]}, "else": users}
    return {"if": asked, "then": then}


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
are powers of 1000. `K`, `M`, `G` and `T` alone are powers of 1024, as for fio, but not in `vary`.
A `size` is used in whole blocks: 4 KiB of a file, 1 MiB of a drive. The plan says what that leaves.
Rates have a unit of time: `500/s`, `30000/min`.

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
    candidates = schema["properties"]["candidates"]["additionalProperties"]["anyOf"]
    candidates.append(_share_keys(candidates))
    return "\n".join([HEAD, EXAMPLE.format(text=example), *_Page(schema).list_sections()])


def _share_keys(candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the keys of every candidate from all providers that allow them, as one more section."""
    names = [info.alias or field for field, info in CandidateKeys.model_fields.items()]
    able = [each for each in candidates if each["properties"].keys() >= set(names)]
    keys = {name: [each["properties"].pop(name) for each in able][0] for name in names}
    title = "` or `".join(each["title"] for each in able)
    return {"title": title, "description": "What these have in common.", "properties": keys}


_KINDS = {
    "candidates.<name>": "with the provider",
    "workload": "with the name",
    "power.meters.<name>": "of the kind",
}
"""How titles say of which plug-in a section is."""

_Section = tuple[str, str, dict[str, Any]]
"""Its path, of what it is, and the schema of its keys."""


class _Page:
    """The sections of a schema, each after the one that announces it, and equal ones once."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._places: dict[str, str] = {}

    def list_sections(self) -> Iterator[str]:
        """List the texts of all sections."""
        return self._write("The file", self._schema, "")

    def _write(self, title: str, spec: dict[str, Any], path: str) -> Iterator[str]:
        """Write a section, and those that its keys announce."""
        rows, below = [], []
        for name, key in spec["properties"].items():
            at = f"{path}.{name}".lstrip(".")
            found = list(self._list_kinds(at, key))
            same = json.dumps([spec["properties"] for *_, spec in found])
            below += found if same not in self._places else []
            rows.append(_row(spec, name, key, self._places.setdefault(same, at)))
        head = ["| key | meaning | value | default | example |", "| --- | --- | --- | --- | --- |"]
        yield "\n".join([f"## {title}", "", spec["description"], "", *head, *rows, ""])
        for at, of_kind, keys in below:
            yield from self._write(f"`{at}`{of_kind}", keys, at)

    def _list_kinds(self, at: str, key: dict[str, Any]) -> Iterator[_Section]:
        """List the sections that a key announces."""
        if at == "scenario":
            for spec in key["anyOf"][1:]:
                ((name, keys),) = spec["properties"].items()
                choice = plugins(Scenario)[name].choice
                yield f"{at}.{name}", f" with `{choice}: {keys['title']}`" if choice else "", keys
            return
        named = [key.get("additionalProperties"), *key.get("patternProperties", {}).values()]
        if values := [each for each in named if isinstance(each, dict)]:
            at, key = f"{at}.<name>", values[0]
        found = [self._schema["$defs"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each
                 for each in key.get("anyOf", [key])]  # fmt: skip
        specs = [each for each in found if each.get("properties") and "title" in each]
        for spec in specs:
            yield at, f" {_KINDS[at]} `{spec['title']}`" if at in _KINDS else "", spec


def _row(spec: dict[str, Any], name: str, key: dict[str, Any], section: str) -> str:
    default = "required" if name in spec.get("required", []) else write_yaml(key["default"])
    marked = default == "required" or "`" in default
    examples = key.get("examples", [])
    cells = [
        f"`{name}`", key.get("description", ""), _value_kind(key, section),
        default if marked else f"`{default}`", f"`{write_yaml(examples[0])}`" if examples else "",
    ]  # fmt: skip
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"


_PATTERNS = {"min": "a duration", "iB": "a size"}
"""What a text is whose pattern has this part."""


def _value_kind(key: dict[str, Any], section: str = "") -> str:
    """What a key takes, in words; `section` is where the keys below it are."""
    if "enum" in key or "const" in key:
        choices = key.get("enum", [key.get("const")])
        return " or ".join(f"`{each}`" for each in choices)
    choices = [each for each in key.get("anyOf", []) if each.get("type") != "null"]
    if any("enum" in each for each in choices):
        return " or ".join(dict.fromkeys(map(_value_kind, choices)))
    if len(choices) == 1:  # an optional value
        return _value_kind(choices[0], section)
    if choices and not any(part in each for each in choices for part in ("$ref", "properties")):
        return " or ".join(map(_value_kind, choices))
    if key.get("additionalProperties") is False and "title" not in key:
        return f"`{{{', '.join(f'{name}: …' for name in key['properties'])}}}`"
    if key.get("properties") == {}:
        return "`{}`: it has no keys"
    if "$ref" in key or "anyOf" in key or "properties" in key:
        return f"a section: `{section}`"
    if key.get("pattern", "").endswith(r"%\s*$"):
        return "a percentage"
    if "/" in key.get("pattern", ""):
        return "a scale" if r"s*1" in key["pattern"] else "a rate"
    if "pattern" in key:
        found = (text for part, text in _PATTERNS.items() if part in key["pattern"])
        return next(found, "text")
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
