"""The reference page of the study file, written from its JSON Schema, that is from the model."""

from collections.abc import Iterator
from typing import Any

from stithy.study.locate import as_yaml
from stithy.study.schema import study_schema

HEAD = """# The study file

Generated from the model in `python/stithy/study/model.py` and from the plug-ins: change those, then
run `make golden`. Words are those of [words.md](../words.md).

A study is one YAML file. `stithy plan STUDY` checks it and tells every problem at once, with line
and column. Durations and sizes are written with their unit: `90s`, `2 min`, `1 GiB`, `384MB` (`us`,
`ms`, `s`, `min`, `h`, `d`; `KiB`, `MiB`, `GiB`, `TiB` are powers of 1024 and `kB`, `MB`, `GB`, `TB`
powers of 1000). With `# yaml-language-server: $schema=study.schema.json` as its first line an
editor completes the keys; `studies/study.schema.json` is the schema.
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
    yield _section("The file", schema)
    for spec in top["candidates"]["additionalProperties"]["anyOf"]:
        title = f"`candidates.<name>` with the provider `{spec['title']}`"
        yield _section(title, spec)
        yield from _below("candidates.<name>", spec)
    yield _section("`database`", schema["$defs"]["Database"])
    for spec in top["workload"]["anyOf"]:
        yield _section(f"`workload` with the name `{spec['title']}`", spec)
        for name, key in spec["properties"].items():
            if "properties" in key:
                yield _section(f"`workload.{name}` with the name `{spec['title']}`", key)
    yield _section("`load`", schema["$defs"]["Load"])
    yield _section("`primary`", schema["$defs"]["Primary"])


def _below(above: str, schema: dict[str, Any]) -> Iterator[str]:
    """The sections of keys that have keys of their own; equal ones are told once."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, key in schema["properties"].items():
        if "properties" in key:
            found.setdefault(tuple(key["properties"]), []).append(name)
    for names in found.values():
        titles = ", ".join([f"`{above}.{names[0]}`", *(f"`….{name}`" for name in names[1:])])
        key = schema["properties"][names[0]]
        yield _section(titles, key)
        yield from _below(f"{above}.{names[0]}", key)


def _section(title: str, schema: dict[str, Any]) -> str:
    rows = [_row(schema, name, each) for name, each in schema["properties"].items()]
    head = ["| key | meaning | value | default | example |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([f"## {title}", "", schema["description"], "", *head, *rows, ""])


def _row(schema: dict[str, Any], name: str, key: dict[str, Any]) -> str:
    needed = name in schema.get("required", [])
    default = "needed" if needed else f"`{as_yaml(key['default'])}`"
    examples = key.get("examples", [])
    example = f"`{as_yaml(examples[0])}`" if examples else ""
    cells = [f"`{name}`", key.get("description", ""), _value(key), default, example]
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"


def _value(key: dict[str, Any]) -> str:
    """What a key takes, in words."""
    if "enum" in key or "const" in key:
        choices = key.get("enum", [key.get("const")])
        return " or ".join(f"`{each}`" for each in choices)
    if any("enum" in each for each in key.get("anyOf", [])):
        return " or ".join(_value(each) for each in key["anyOf"])
    if key.get("additionalProperties") is False and "title" not in key:
        return f"`{{{', '.join(f'{name}: …' for name in key['properties'])}}}`"
    if "$ref" in key or "anyOf" in key or "properties" in key:
        return "keys of its own, see below"
    if key.get("pattern", "").endswith(r"%\s*$"):
        return "a percentage"
    if "/" in key.get("pattern", ""):
        return "a scale" if r"s*1" in key["pattern"] else "a rate"
    if "pattern" in key:
        return "a duration" if "min" in key["pattern"] else "a size"
    if key["type"] == "array":
        return f"a list; each entry is {_bounded(key['items'])}"
    return _bounded(key)


def _bounded(key: dict[str, Any]) -> str:
    kinds = {
        "string": "text",
        "integer": "a whole number",
        "boolean": "`true` or `false`",
        "object": "names with values",
    }
    words = [kinds[key["type"]]]
    if "minimum" in key:
        words.append(f"at least {key['minimum']}")
    if "maximum" in key:
        words.append(f"at most {key['maximum']:_}".replace("_", ","))
    return ", ".join(words)
