"""The commands, one thin file each: the only place that prints or exits."""

import importlib
import pkgutil
from types import ModuleType


def list_command_modules(package: ModuleType) -> dict[str, ModuleType]:
    """The modules of `package` that define `COMMAND`, by the command's name."""
    found = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        if "COMMAND" in vars(module):
            found[info.name.replace("_", "-")] = module
    return found
