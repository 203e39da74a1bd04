"""Every flag of a window by the name of its constant, wherever the check stands that raises it."""

import sys
from importlib import import_module

from stithy.analysis.gathering import WindowChecks
from stithy.engines.engine import Engine, declaration
from stithy.registry import plugins
from stithy.validity import Flag

_CHECKS = (plugin.checks[0] for plugin in plugins(WindowChecks).values())
_MODULES = [sys.modules[check.find.__module__] for check in _CHECKS]
_MODULES += [
    import_module(f"stithy.engines.{name}.checks")
    for name in plugins(Engine)
    if declaration(name).checks
]


def __getattr__(name: str) -> Flag:
    """The flag of this name; KeyError for a word that none has."""
    found: dict[str, Flag] = {}
    for module in _MODULES:
        found |= {key: each for key, each in vars(module).items() if isinstance(each, Flag)}
    return found[name]
