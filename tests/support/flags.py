"""Every flag of a window by the name of its constant, wherever the check stands that raises it."""

import sys

from stithy.analysis.gathering import WindowChecks
from stithy.engines.engine import Engine, declaration
from stithy.registry import plugins
from stithy.validity import Flag

_FINDERS = [
    *(plugin.checks[0].find for plugin in plugins(WindowChecks).values() if plugin.checks),
    *(of.checks[0].find for name in plugins(Engine) if (of := declaration(name)).checks),
]
_MODULES = [sys.modules[find.__module__] for find in _FINDERS]


def __getattr__(name: str) -> Flag:
    """The flag of this name; KeyError for a word that none has."""
    found: dict[str, Flag] = {}
    for module in _MODULES:
        found |= {key: each for key, each in vars(module).items() if isinstance(each, Flag)}
    return found[name]
