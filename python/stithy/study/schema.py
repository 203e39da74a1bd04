"""The JSON Schema of a study file, for the completion and checks of editors.

Derived from the model and from the `Spec` of every plug-in. It cannot say all that the model
checks (levels given twice, places that candidates share); `stithy plan` does.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from stithy.registry import plugins
from stithy.study.candidate_keys import candidate_model
from stithy.study.model import Study

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCALAR = {"type": ["string", "number", "boolean"]}


def study_schema() -> dict[str, Any]:
    """The schema of a whole study file."""
    schema = Study.model_json_schema()
    properties = schema["properties"]
    providers = {name: candidate_model(name) for name in plugins("provider")}
    workloads = {name: module.Spec for name, module in plugins("workload").items()}
    _names(properties["candidates"], {"anyOf": _specs(providers)})
    properties["workload"]["anyOf"] = _specs(workloads)
    database = schema["$defs"]["Database"]["properties"]
    database["engine"]["enum"] = list(plugins("engine"))
    _names(database["settings"], SCALAR)
    return {"$schema": DIALECT, **schema, "title": "A study of Stithy"}


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
