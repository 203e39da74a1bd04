"""`stithy cluster`: laboratory clusters of Ceph by hand, without a run. A file a command."""

import cyclopts

from stithy.cli import cluster, list_command_modules

COMMAND = cyclopts.App(
    help="Raise, break and remove a laboratory cluster of Ceph without a run. All commands need "
    "root."
)

for _name, _module in list_command_modules(cluster).items():
    COMMAND.command(_module.COMMAND, name=_name)
