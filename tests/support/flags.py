"""Every flag of a window by the name of its constant, wherever the check stands that raises it."""

from importlib import import_module

from stithy.registry import plugins
from stithy.validity import Flag

_MODULES = [*plugins("validity").values()]
_MODULES += [import_module(f"{each.__name__}.checks") for each in plugins("engine").values()]


def __getattr__(name: str) -> Flag:
    """The flag of this name; KeyError for a word that none has."""
    found: dict[str, Flag] = {}
    for module in _MODULES:
        found |= {key: each for key, each in vars(module).items() if isinstance(each, Flag)}
    return found[name]
