"""`stithy hammer`: the load driver by itself, against any database by URL. A file a command."""

import cyclopts

from stithy.cli import hammer
from stithy.cli.commands import command_modules

COMMAND = cyclopts.App(help="Run the load driver alone, against any database server by URL.")

for _name, _module in command_modules(hammer).items():
    COMMAND.command(_module.COMMAND, name=_name)
