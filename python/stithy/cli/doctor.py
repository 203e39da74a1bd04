"""`stithy doctor`: what works on this machine, what is missing, and what mends it."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stithy.cli.talk.render import show, show_json
from stithy.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stithy.needs import Need


def doctor(*, json: Annotated[bool, Parameter(negative=())] = False) -> Exit:
    """Say what works on this machine, what is missing for the rest, and what mends it.

    Looks at rights, the kernel, servers and other programs, memory and space, CPUs, the clock, and
    what else runs just now, and judges by that every provider, engine, scenario and collector.
    Nothing is installed, made or changed; with root's rights it sees what root would.
    It takes a few seconds, one of them to watch the machine. The exit code is 0 if the demo
    (`studies/demo.yaml`) could run here, else 3.

    For example:

        stithy doctor
        stithy doctor --json | jq '.parts[] | select(.works | not)'

    Parameters
    ----------
    json
        Print one JSON document.
    """
    from stithy.cli.talk.diagnosis import as_json, as_text
    from stithy.hosts.here import LocalMachine
    from stithy.run.before.doctor import examine

    found = examine(LocalMachine(), _needs_of_commands())
    if json:
        show_json(as_json(found))
    else:
        show(as_text(found))
    return Exit.PRECONDITION if found.demo_lacks else Exit.OK


COMMAND = doctor


def _needs_of_commands() -> "Mapping[str, tuple[Need, ...]]":
    """The commands that need more than any other, as they are called."""
    from stithy.cli import drive, hammer
    from stithy.cli.commands import command_modules

    return {
        f"{package.__name__.rpartition('.')[2]} {name}": module.NEEDS
        for package in (drive, hammer)
        for name, module in command_modules(package).items()
        if hasattr(module, "NEEDS")
    }
