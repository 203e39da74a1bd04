"""`stithy hammer`: the load driver by itself, against any database by URL. A file a command."""

import cyclopts

from stithy.cli import hammer, list_command_modules
from stithy.engines.engine import DEMO_ENGINE, Engine
from stithy.registry import own_plugins

COMMAND = cyclopts.App(help="Run the load driver alone, against any database server by URL.")

# For `{url}` and `{local_url}` in examples.
_url, _local_url = own_plugins(Engine)[DEMO_ENGINE].url_examples

for _name, _module in list_command_modules(hammer).items():
    _help = _module.COMMAND.__doc__
    _module.COMMAND.__doc__ = _help.replace("{url}", _url).replace("{local_url}", _local_url)
    COMMAND.command(_module.COMMAND, name=_name)
