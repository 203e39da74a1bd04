"""Plug-ins found by walking their package: a new X is one new file, and nothing else changes.

A plug-in is a module or package that is a direct child of its family's package and defines
`NAME` (a string) and what the family's interface asks for. An import error or a name given twice
ends the program at once: a plug-in that silently is not there would be a wrong result later.
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType

FAMILIES = {
    "provider": "stithy.storage.providers",
    "engine": "stithy.database.engines",
    "workload": "stithy.workload.workloads",
    "collector": "stithy.collect.collectors",
    "scenario": "stithy.plan.scenarios",
    "check": "stithy.hosts.checks",
    "figure": "stithy.report.figures",
    "section": "stithy.report.sections",
    "format": "stithy.report.formats",
    "export": "stithy.report.exports",
}


@cache
def plugins(family: str) -> dict[str, ModuleType]:
    """All modules of a family by their `NAME`, in the order of their file names."""
    package = importlib.import_module(FAMILIES[family])
    found: dict[str, ModuleType] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        name: str = module.NAME
        if name in found:
            raise ImportError(f"two plug-ins of family {family} are called {name!r}")
        found[name] = module
    return found
