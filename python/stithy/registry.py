"""Plug-ins found by walking their package: a new X is one new file, and nothing else changes.

A plug-in is an instance of its family's class, which its module lists in `PLUGINS`. Plug-ins of
one's own lie in a directory that `STITHY_PLUGINS` names, where they would in Stithy's own tree:
`report/sections/greeting.py`. Nothing else can tell them apart.

An import error, a name given twice or a folder that belongs to no family ends the program at once:
a plug-in that silently is not there would be a wrong result later.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, ClassVar, TypeVar

from stithy.environment import list_plugin_folders
from stithy.errors import UserError
from stithy.names import suggest_instead

if TYPE_CHECKING:
    from stithy.needs import Need

SLICES = ("scenarios", "activities")
"""Packages with a folder for each scenario and activity, whose stages are modules of one name."""


class Plugin:
    """What every plug-in is: an instance of the class of its family, under a name of its own."""

    family: ClassVar["Family"]
    name: str
    needs: "tuple[Need, ...]" = ()  # of the machine


@dataclass(frozen=True)
class Family:
    """Where the plug-ins of a family lie.

    `package`, below `stithy`: each module or folder in it defines `PLUGINS`, a tuple of instances,
    but for those that are the `interface`. `module`, below `stithy`: defines those of the core.
    `stage`: a module or folder of that name in any folder of `SLICES` may define some, too.
    """

    package: str | None = None
    module: str | None = None
    stage: str | None = None
    interface: frozenset[str] = frozenset()


P = TypeVar("P", bound=Plugin)


def plugins(family: type[P]) -> Mapping[str, P]:
    """Return all plug-ins of a family by name, Stithy's own first, in the order of their files.

    Raises UserError for a directory of STITHY_PLUGINS that is not there or has another folder,
    ImportError for a name given twice, and whatever a module raises that cannot be loaded.
    """
    return _select(family, list_plugin_folders())  # type: ignore[arg-type]  # a class has a hash


def own_plugins(family: type[P]) -> Mapping[str, P]:
    """Return those of Stithy alone, for what must not depend on any other: `stithy --help`."""
    return _select(family, ())  # type: ignore[arg-type]  # as above


# Judging a run asks for the same families hundreds of thousands of times.
@cache
def _select(family: type[P], places: tuple[Path, ...]) -> Mapping[str, P]:
    every = _load_instances(family.family, places).values()
    return MappingProxyType({one.name: one for one in every if isinstance(one, family)})


@cache
def _load_instances(family: Family, places: tuple[Path, ...]) -> Mapping[str, Plugin]:
    for place in places:
        _require_families(place)
    instances: dict[str, Plugin] = {}
    for name, folder in _list_modules(family, places):
        for plugin in _load(name, folder).PLUGINS:
            is_of = plugin.family == family
            if is_of and instances.setdefault(plugin.name, plugin) is not plugin:
                raise ImportError(f"two plug-ins of {folder} are called {plugin.name!r}")
    return instances


def _list_modules(family: Family, places: tuple[Path, ...]) -> Iterator[tuple[str, str]]:
    if family.module:
        root = Path(__file__).parent
        yield f"stithy.{family.module}", str(root / family.module.rpartition(".")[0])
    for number, folder in enumerate(
        _list_folders(family.package, places) if family.package else ()
    ):
        folders = {path.parent.name for path in Path(folder).glob("[a-z]*/*.py")}
        for name in sorted({info.name for info in pkgutil.iter_modules([folder])} | folders):
            if number or name not in family.interface:  # Stithy's own folder is the first
                yield f"stithy.{family.package}.{name}", folder
    for package in SLICES if family.stage else ():
        for folder in _list_folders(package, places):
            stages = (f"[a-z]*/{family.stage}.py", f"[a-z]*/{family.stage}/__init__.py")
            for file in sorted(file for stage in stages for file in Path(folder).glob(stage)):
                owner = file.relative_to(folder).parts[0]
                yield f"stithy.{package}.{owner}.{family.stage}", folder


def _list_folders(package: str, places: tuple[Path, ...]) -> list[str]:
    """List the folders in which a package lies: Stithy's, then those of one's own."""
    module = importlib.import_module(f"stithy.{package}")
    paths = [place.absolute() / package.replace(".", "/") for place in places]
    own = [str(path) for path in paths if path.is_dir()]
    module.__path__ += [path for path in own if path not in module.__path__]
    return [module.__path__[0], *own]


def _load(name: str, folder: str) -> ModuleType:
    """Import a module. Raises whatever it raises, and ImportError where another one hides it."""
    module = importlib.import_module(name)
    if not Path(module.__file__ or "").is_relative_to(folder):
        raise ImportError(f"it has the name of the file {module.__file__}")
    return module


def _require_families(place: Path) -> None:
    """Refuse what can only be a mistake. Raises UserError."""
    where = f"STITHY_PLUGINS, {place}"
    if not place.is_dir():
        raise UserError("is not a directory", where=where, remedy="correct or unset the variable")
    names = (each.name for each in sorted(place.iterdir()) if each.is_dir())
    for name in names:
        folders = [path.name for path in Path(__file__).parent.glob("[a-z]*/")]
        if name not in folders and not name.startswith(("_", ".")):
            remedy = f"folders are named as those of Stithy: {suggest_instead(name, folders)}"
            raise UserError(f"{name} is no family of plug-ins", where=where, remedy=remedy)
