"""`stithy drive`: emulated drives by hand, without a study. A file a command."""

import cyclopts

from stithy.cli import drive, list_command_modules

COMMAND = cyclopts.App(
    help="Start, break and measure emulated drives without a study. Most commands need root."
)

for _name, _module in list_command_modules(drive).items():
    COMMAND.command(_module.COMMAND, name=_name)
