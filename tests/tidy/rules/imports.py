"""The program imports what it declares; which package may know which: `pyproject.toml`."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from re import split

from tidy.project import Finding, Project, Rule, Source


def imported_modules(source: Source) -> Iterator[tuple[ast.stmt, str]]:
    """Every module of `stithy` that a source imports, in functions too, and where."""
    for node in source.nodes:
        match node:
            case ast.Import(names=names):
                for name in names:
                    yield node, name.name
            case ast.ImportFrom(module=str(module), names=names):
                yield node, module
                for name in names:
                    yield node, f"{module}.{name.name}"


DECLARATION = "pyproject.toml"
# Packages whose modules are called otherwise, or whose interface includes a second one.
MODULES = {
    "vl-convert-python": {"vl_convert"}, "ruamel.yaml": {"ruamel"},
    "pydantic": {"pydantic", "pydantic_core"}, "jinja2": {"jinja2", "markupsafe"},
    "python-tds": {"pytds"}, "distributed": {"distributed", "dask"},
}  # fmt: skip


def imports_are_declared(project: Project) -> Iterator[Finding]:
    """The program imports itself, Python's own modules, declared dependencies and extras only."""
    table = tomllib.loads(project.sources[DECLARATION].text)
    extras = table["project"].get("optional-dependencies", {}).values()
    every = [*table["project"]["dependencies"], *(each for extra in extras for each in extra)]
    names = [split(r"[<>=!~;\[ ]", each)[0] for each in every]
    declared = (MODULES.get(name, {name.replace("-", "_")}) for name in names)
    known = {"stithy", *sys.stdlib_module_names}.union(*declared)
    for source in project.package():
        for node, module in imported_modules(source):
            if module.split(".")[0] not in known:
                remedy = f"declare it in {DECLARATION} and run `make lock`, or do without"
                yield source.found(node, f"{module} is not a declared dependency", remedy)


_DECLARED = {DECLARATION: '[project]\ndependencies = ["vl-convert-python>=1.9,<2"]\n'}

RULES = (
    Rule("imports are declared", imports_are_declared,
         breaks=_DECLARED | {"python/stithy/a.py": "import numpy\n"},
         keeps=_DECLARED | {"python/stithy/a.py": "import os, vl_convert\n"}),
)  # fmt: skip
