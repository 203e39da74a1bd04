"""`stithy agents`: the hosts that load comes from. A file a command."""

import cyclopts

from stithy.cli import agents, list_command_modules

COMMAND = cyclopts.App(
    help="Let agents meet, list them, test them, and remove them. An agent is a host that load "
    "comes from: `stithy agent` on each."
)

for _name, _module in list_command_modules(agents).items():
    COMMAND.command(_module.COMMAND, name=_name)
