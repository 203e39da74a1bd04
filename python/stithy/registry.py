"""Plug-ins found by walking their package: a new X is one new file, and nothing else changes.

A plug-in is an instance of its family's class, which its module lists in `PLUGINS`. Plug-ins of
one's own lie in a directory that `STITHY_PLUGINS` names, where they would in Stithy's own tree:
`report/sections/greeting.py`. Nothing else can tell them apart.

An import error, a name given twice or a folder that belongs to no family ends the program at once:
a plug-in that silently is not there would be a wrong result later. If one of one's own is at fault,
then or later, the error says which, so that nobody looks for the mistake in Stithy.
"""

import importlib
import importlib.util
import pkgutil
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, ClassVar, TypeVar

from stithy.environment import list_plugin_folders
from stithy.errors import StithyError, UserError
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

    Raises UserError for a directory of STITHY_PLUGINS that is not there or has another folder, and
    for a plug-in in it that cannot be loaded; ImportError for a name given twice or a module
    without `PLUGINS`.
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
    for name, folder, is_own in _list_modules(family, places):
        file = f"{folder}/{name.rpartition('.')[2]}"
        with _name_fault(Path(folder).name.removesuffix("s"), file, is_own):
            for plugin in _load(name, folder).PLUGINS:
                is_of = plugin.family == family
                if is_of and instances.setdefault(plugin.name, plugin) is not plugin:
                    raise ImportError(f"two plug-ins of {folder} are called {plugin.name!r}")
    return instances


def _list_modules(family: Family, places: tuple[Path, ...]) -> Iterator[tuple[str, str, bool]]:
    """Name each module that plug-ins may lie in, its folder, and whether that is one's own."""
    if family.module:
        root = Path(__file__).parent
        yield f"stithy.{family.module}", str(root / family.module.rpartition(".")[0]), False
    for folder, is_own in _list_folders(family.package, places) if family.package else ():
        folders = {path.parent.name for path in Path(folder).glob("[a-z]*/*.py")}
        for name in sorted({info.name for info in pkgutil.iter_modules([folder])} | folders):
            if is_own or name not in family.interface:
                yield f"stithy.{family.package}.{name}", folder, is_own
    for package in SLICES if family.stage else ():
        for folder, is_own in _list_folders(package, places):
            stages = (f"[a-z]*/{family.stage}.py", f"[a-z]*/{family.stage}/__init__.py")
            for file in sorted(file for stage in stages for file in Path(folder).glob(stage)):
                owner = file.relative_to(folder).parts[0]
                yield f"stithy.{package}.{owner}.{family.stage}", folder, is_own


def _list_folders(package: str, places: tuple[Path, ...]) -> list[tuple[str, bool]]:
    """List the folders in which a package lies: Stithy's, then those of one's own."""
    module = importlib.import_module(f"stithy.{package}")
    paths = [place.absolute() / package.replace(".", "/") for place in places]
    own = [str(path) for path in paths if path.is_dir()]
    module.__path__ += [path for path in own if path not in module.__path__]
    return [(module.__path__[0], False), *((path, True) for path in own)]


@contextmanager
def _name_fault(family: str, place: str, is_own: bool) -> Iterator[None]:
    """Say of an error that this plug-in of one's own cannot be loaded; leave Stithy's as it is."""
    try:
        yield
    except Exception as error:
        if isinstance(error, StithyError) or not is_own:
            raise
        raise _make_unloadable_error(error, family, place) from error


def _load(name: str, folder: str) -> ModuleType:
    """Import a module. Raises whatever it raises, and ImportError where another one hides it."""
    module = importlib.import_module(name)
    if not Path(module.__file__ or "").is_relative_to(folder):
        raise ImportError(f"it has the name of the file {module.__file__}")
    return module


def _make_unloadable_error(error: Exception, family: str, place: str) -> UserError:
    fault = find_fault(error)
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


def find_fault(error: BaseException) -> PluginFault | None:
    """The plug-in of one's own in which an error arose, or which called what raised it.

    None if no line of the error's traceback is of one: then the error is Stithy's.
    """
    calls = traceback.extract_tb(error.__traceback__)
    lines = [(call.filename, call.lineno) for call in calls]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    for file, line in reversed(lines):
        for place in list_plugin_folders():
            if Path(file).is_relative_to(place.absolute()):
                family, *rest = Path(file).relative_to(place.absolute()).parts
                if rest:  # as in Stithy's own tree: scenarios/append/plan.py
                    if family not in SLICES and (Path(__file__).parent / family / rest[0]).is_dir():
                        family, *rest = rest  # report/sections/turns.py
                    kind, name = family.removesuffix("s"), Path(rest[0]).stem
                    return PluginFault(kind, name, f"{file}:{line}")
    return None


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
