"""Plug-ins found by walking their package: a new X is one new file, and nothing else changes.

A plug-in is a module or package that is a direct child of its family's package and defines
`NAME` (a string) and what the family's interface asks for. Plug-ins of one's own lie in a directory
that `STITHY_PLUGINS` names, in a folder with the family's name: `section/greeting.py`. They become
modules of the family's package, so that nothing else can tell them apart.

An import error, a name given twice or a folder that belongs to no family ends the program at once:
a plug-in that silently is not there would be a wrong result later. If one of one's own is at fault,
then or later, the error says which, so that nobody looks for the mistake in Stithy.
"""

import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, TypeVar, overload

from stithy.environment import plugin_folders
from stithy.errors import StithyError, UserError
from stithy.names import instead

if TYPE_CHECKING:
    from stithy.needs import Need

FAMILIES = {
    "section": "stithy.report.sections",
    "format": "stithy.report.formats",
    "export": "stithy.report.exports",
}
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


@overload
def plugins(family: str) -> Mapping[str, ModuleType]: ...
@overload
def plugins(family: type[P]) -> Mapping[str, P]: ...
def plugins(family: str | type[P]) -> Mapping[str, ModuleType] | Mapping[str, P]:
    """Return all plug-ins of a family by name, Stithy's own first, in the order of their files.

    Families that are a word still are modules with `NAME`. Raises UserError for a directory of
    STITHY_PLUGINS that is not there or has another folder, and for a plug-in in it that cannot be
    loaded; ImportError for a name given twice or a module without `PLUGINS`.
    """
    if isinstance(family, str):
        return _plugins(family, plugin_folders())
    known = _instances(family.family, plugin_folders()).values()
    return {plugin.name: plugin for plugin in known if isinstance(plugin, family)}


@cache
def _instances(family: Family, places: tuple[Path, ...]) -> Mapping[str, Plugin]:
    """Load all plug-ins of a family, by name."""
    for place in places:
        _require_families(place)
    instances: dict[str, Plugin] = {}
    for name, folder, is_own in _modules(family, places):
        file = f"{folder}/{name.rpartition('.')[2]}"
        with _naming(Path(folder).name.removesuffix("s"), file, is_own):
            for plugin in _load(name, folder).PLUGINS:
                is_of = plugin.family == family
                if is_of and instances.setdefault(plugin.name, plugin) is not plugin:
                    raise ImportError(f"two plug-ins of {folder} are called {plugin.name!r}")
    return instances


def _modules(family: Family, places: tuple[Path, ...]) -> Iterator[tuple[str, str, bool]]:
    """Name each module that plug-ins may lie in, its folder, and whether that is one's own."""
    if family.module:
        root = Path(__file__).parent
        yield f"stithy.{family.module}", str(root / family.module.rpartition(".")[0]), False
    for folder, is_own in _folders(family.package, places) if family.package else ():
        for name in _names(folder):
            if is_own or name not in family.interface:
                yield f"stithy.{family.package}.{name}", folder, is_own
    for package in SLICES if family.stage else ():
        for folder, is_own in _folders(package, places):
            stages = (f"[a-z]*/{family.stage}.py", f"[a-z]*/{family.stage}/__init__.py")
            for file in sorted(file for stage in stages for file in Path(folder).glob(stage)):
                owner = file.relative_to(folder).parts[0]
                yield f"stithy.{package}.{owner}.{family.stage}", folder, is_own


def _folders(package: str, places: tuple[Path, ...]) -> list[tuple[str, bool]]:
    """List the folders in which a package lies: Stithy's, then those of one's own."""
    module = importlib.import_module(f"stithy.{package}")
    paths = [place.absolute() / package.replace(".", "/") for place in places]
    own = [str(path) for path in paths if path.is_dir()]
    module.__path__ += [path for path in own if path not in module.__path__]
    return [(module.__path__[0], False), *((path, True) for path in own)]


@contextmanager
def _naming(family: str, place: str, is_own: bool) -> Iterator[None]:
    """Say of an error that this plug-in of one's own cannot be loaded; leave Stithy's as it is."""
    try:
        yield
    except Exception as error:
        if isinstance(error, StithyError) or not is_own:
            raise
        raise _unloadable(error, family, place) from error


def _load(name: str, folder: str) -> ModuleType:
    """Import a module. Raises whatever it raises, and ImportError where another one hides it."""
    module = importlib.import_module(name)
    if not Path(module.__file__ or "").is_relative_to(folder):
        raise ImportError(f"it has the name of the file {module.__file__}")
    return module


def own_plugins(family: type[P]) -> Mapping[str, P]:
    """Return those of Stithy alone, for what must not depend on any other: `stithy --help`."""
    every = _instances(family.family, ()).values()
    return {plugin.name: plugin for plugin in every if isinstance(plugin, family)}


@cache
def _plugins(family: str, places: tuple[Path, ...]) -> dict[str, ModuleType]:
    package = importlib.import_module(FAMILIES[family])
    found: dict[str, ModuleType] = {}
    for name in _names(own := package.__path__[0]):
        _take(package, own, name, found)
    for place in places:
        _require_families(place)
        folder = str(place.absolute() / family)
        if folder not in package.__path__:
            package.__path__.append(folder)
        for name in _names(folder):
            with _naming(family, f"{folder}/{name}", is_own=True):
                _take(package, folder, name, found)
    return found


def _names(folder: str) -> list[str]:
    """Name the modules and the folders of a folder, which need no `__init__.py`."""
    folders = {path.parent.name for path in Path(folder).glob("[a-z]*/*.py")}
    return sorted({info.name for info in pkgutil.iter_modules([folder])} | folders)


def _take(package: ModuleType, folder: str, name: str, found: dict[str, ModuleType]) -> None:
    """Load a plug-in. Raises whatever its module raises, and ImportError for a name there is."""
    module = _load(f"{package.__name__}.{name}", folder)
    if module.NAME in found:
        raise ImportError(f"two plug-ins of {package.__name__} are called {module.NAME!r}")
    found[module.NAME] = module


def _unloadable(error: Exception, family: str, place: str) -> UserError:
    fault = fault_of(error)
    return UserError(
        f"this plug-in of family {family} cannot be loaded: {type(error).__name__}: {error}",
        where=fault.where if fault else place,
        remedy="correct it, or take it out of STITHY_PLUGINS; --debug shows the traceback",
    )


@dataclass(frozen=True)
class PluginFault:
    """Where a plug-in of one's own failed: its family and name, and its line as `file:line`."""

    family: str
    name: str
    where: str

    def __str__(self) -> str:
        """As a sentence names it."""
        return f"the {self.family} plug-in {self.name}"


def fault_of(error: BaseException) -> PluginFault | None:
    """The plug-in of one's own in which an error arose, or which called what raised it.

    None if no line of the error's traceback is of one: then the error is Stithy's.
    """
    calls = traceback.extract_tb(error.__traceback__)
    lines = [(call.filename, call.lineno) for call in calls]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    for file, line in reversed(lines):
        for place in plugin_folders():
            if Path(file).is_relative_to(place.absolute()):
                family, *rest = Path(file).relative_to(place.absolute()).parts
                if family in FAMILIES and rest:
                    return PluginFault(family, _name(family, Path(rest[0]).stem), f"{file}:{line}")
                if rest:  # as in Stithy's own tree: scenarios/append/plan.py
                    return PluginFault(
                        family.removesuffix("s"), Path(rest[0]).stem, f"{file}:{line}"
                    )
    return None


def _name(family: str, stem: str) -> str:
    """A plug-in's name, or that of its file if it never came to say it."""
    return str(getattr(sys.modules.get(f"{FAMILIES[family]}.{stem}"), "NAME", stem))


def _require_families(place: Path) -> None:
    """Refuse what can only be a mistake. Raises UserError."""
    where = f"STITHY_PLUGINS, {place}"
    if not place.is_dir():
        raise UserError("is not a directory", where=where, remedy="correct or unset the variable")
    names = (each.name for each in sorted(place.iterdir()) if each.is_dir())
    for name in names:
        is_known = name in FAMILIES or importlib.util.find_spec(f"stithy.{name}") is not None
        if not is_known and not name.startswith(("_", ".")):
            remedy = f"folders are named after families: {instead(name, [*FAMILIES])}"
            raise UserError(f"{name} is no family of plug-ins", where=where, remedy=remedy)
