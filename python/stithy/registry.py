"""Plug-ins found by walking their package: a new X is one new file, and nothing else changes.

A plug-in is a module or package that is a direct child of its family's package and defines
`NAME` (a string) and what the family's interface asks for. Plug-ins of one's own lie in a directory
that `STITHY_PLUGINS` names, in a folder with the family's name: `section/greeting.py`. They become
modules of the family's package, so that nothing else can tell them apart.

An import error, a name given twice or a folder that belongs to no family ends the program at once:
a plug-in that silently is not there would be a wrong result later.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

from stithy.environment import plugin_folders
from stithy.errors import UserError
from stithy.suggest import instead

FAMILIES = {
    "provider": "stithy.storage.providers",
    "layer": "stithy.storage.layers",
    "engine": "stithy.database.engines",
    "workload": "stithy.workload.workloads",
    "collector": "stithy.collect.collectors",
    "scenario": "stithy.plan.scenarios",
    "aggressor": "stithy.plan.scenarios.noisy_neighbour.aggressors",
    "step": "stithy.run.steps",
    "activity": "stithy.activities",
    "acting": "stithy.run.activities",
    "check": "stithy.hosts.checks",
    "validity": "stithy.analysis.validity.checks",
    "figure": "stithy.report.figures",
    "finding": "stithy.report.findings",
    "section": "stithy.report.sections",
    "format": "stithy.report.formats",
    "export": "stithy.report.exports",
}


def plugins(family: str) -> dict[str, ModuleType]:
    """All modules of a family by their `NAME`, Stithy's own first, in the order of their files.

    Raises UserError for a directory of STITHY_PLUGINS that is not there or has another folder.
    """
    return _plugins(family, plugin_folders())


@cache
def _plugins(family: str, places: tuple[Path, ...]) -> dict[str, ModuleType]:
    package = importlib.import_module(FAMILIES[family])
    found: dict[str, ModuleType] = {}
    for module in (*_modules(package, package.__path__[0]), *_added(package, family, places)):
        name: str = module.NAME
        if name in found:
            raise ImportError(f"two plug-ins of family {family} are called {name!r}")
        found[name] = module
    return found


def _added(package: ModuleType, family: str, places: Iterable[Path]) -> Iterator[ModuleType]:
    """The family's modules in directories of the user's."""
    for place in places:
        _require_families(place)
        folder = str(place.absolute() / family)
        if folder not in package.__path__:
            package.__path__.append(folder)
        yield from _modules(package, folder)


def _modules(package: ModuleType, folder: str) -> Iterator[ModuleType]:
    for info in sorted(pkgutil.iter_modules([folder]), key=lambda each: each.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if not Path(module.__file__ or "").is_relative_to(folder):
            raise ImportError(f"{folder}/{info.name} has the name of the file {module.__file__}")
        yield module


def _require_families(place: Path) -> None:
    """Refuse what can only be a mistake. Raises UserError."""
    where = f"STITHY_PLUGINS, {place}"
    if not place.is_dir():
        raise UserError("is not a directory", where=where, remedy="correct or unset the variable")
    names = (each.name for each in sorted(place.iterdir()) if each.is_dir())
    for name in names:
        if name not in FAMILIES and not name.startswith(("_", ".")):
            remedy = f"folders are named after families: {instead(name, [*FAMILIES])}"
            raise UserError(f"{name} is no family of plug-ins", where=where, remedy=remedy)


def part(family: str, name: str, module: str) -> ModuleType:
    """A module of a plug-in that is a package, loaded when it is asked for."""
    return importlib.import_module(f"{plugins(family)[name].__name__}.{module}")
