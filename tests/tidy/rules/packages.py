"""What is imported is declared: a module that happens to be here need not be elsewhere."""

import sys
import tomllib
from collections.abc import Iterator
from re import split

from tidy.project import Finding, Project, Rule
from tidy.rules.arrows import imported_modules

DECLARATION = "pyproject.toml"
# Packages whose modules are called otherwise, or whose interface includes a second one.
MODULES = {
    "vl-convert-python": {"vl_convert"},
    "ruamel.yaml": {"ruamel"},
    "pydantic": {"pydantic", "pydantic_core"},
    "jinja2": {"jinja2", "markupsafe"},
}
OURS = {"stithy"}


def declared_modules(project: Project) -> set[str]:
    """Top-level names of the modules that the declared dependencies bring."""
    if DECLARATION not in project.sources:
        return set()
    table = tomllib.loads(project.sources[DECLARATION].text)
    names = [split(r"[<>=!~;\[ ]", each)[0] for each in table["project"]["dependencies"]]
    return set().union(*(MODULES.get(name, {name.replace("-", "_")}) for name in names))


def imports_are_declared(project: Project) -> Iterator[Finding]:
    """The program imports itself, Python's own modules, and its declared dependencies only."""
    known = declared_modules(project) | sys.stdlib_module_names | OURS
    for source in project.package():
        for node, module in imported_modules(source):
            if module.split(".")[0] not in known:
                remedy = f"declare it in {DECLARATION} and run `make lock`, or do without"
                yield source.found(node, f"{module} is not a declared dependency", remedy)


_DECLARED = {DECLARATION: '[project]\ndependencies = ["vl-convert-python>=1.9,<2"]\n'}

RULES = (
    Rule(
        "imports are declared",
        imports_are_declared,
        breaks=_DECLARED | {"python/stithy/a.py": "import numpy\n"},
        keeps=_DECLARED | {"python/stithy/a.py": "import os, vl_convert\n"},
    ),
)
