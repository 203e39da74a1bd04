"""The reference page of the study file, and its JSON Schema for editors, from model and plug-ins.

The schema cannot say all that the model checks (levels given twice, storage that candidates share);
`stithy plan` does.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from stithy.engines.engine import Engine
from stithy.meters.meter import Meter
from stithy.registry import plugins
from stithy.storage.provider import Provider
from stithy.study.candidates import make_candidate_model
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


def _needed(scenario: str) -> dict[str, Any]:
    """The sections that a study needs, and those it may not have, if it names this scenario."""
    names = {"anyOf": [{"const": scenario}, {"type": "object", "required": [scenario]}]}
    needed = list_sections(scenario)
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
            choice = plugins(Scenario)[name].choice
            of_kind = f" with `{choice}: {keys['title']}`" if choice else ""
            yield _page_section(f"`scenario.{name}`{of_kind}", keys)
    yield _page_section("`primary`", schema["$defs"]["Primary"])
    yield _page_section("`quiet`", schema["$defs"]["Quiet"])
    yield _page_section("`collect`", schema["$defs"]["Collect"])
    yield _page_section("`collect.exporters.<name>`", schema["$defs"]["ExporterKeys"])
    power = schema["$defs"]["Power"]
    yield _page_section("`power`", power)
    for spec in power["properties"]["meters"]["additionalProperties"]["anyOf"]:
        yield _page_section(f"`power.meters.<name>` of the kind `{spec['title']}`", spec)
    for name, of in COSTS.items():
        yield _page_section(f"`{name}`", schema["$defs"][of])


COSTS = {
    "cost": "Pricing", "cost.duty": "Duty", "cost.site": "SiteCost",
    "cost.items.<name>": "PricedItem", "cost.items.<name>.per_gb": "ListRate",
    "cost.licences.<name>": "Licence",
}  # fmt: skip
"""The sections of prices, and their models."""


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
    default = "required" if needed else f"`{write_yaml(key['default'])}`"
    examples = key.get("examples", [])
    example = f"`{write_yaml(examples[0])}`" if examples else ""
    cells = [f"`{name}`", key.get("description", ""), _value_kind(key), default, example]
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"


_PATTERNS = {"min": "a duration", "iB": "a size"}
"""What a text is whose pattern has this part."""


def _value_kind(key: dict[str, Any]) -> str:
    """What a key takes, in words."""
    if "enum" in key or "const" in key:
        choices = key.get("enum", [key.get("const")])
        return " or ".join(f"`{each}`" for each in choices)
    choices = [each for each in key.get("anyOf", []) if each.get("type") != "null"]
    if any("enum" in each for each in choices):
        return " or ".join(dict.fromkeys(map(_value_kind, choices)))
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
