"""What a person sees while a study runs: a live display on a terminal, plain lines otherwise.

Both go to standard error; standard output stays for what a program may want to read.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from stithy.cli.running.lines import Plain
from stithy.clock import SystemClock
from stithy.environment import no_colour
from stithy.run.events import Event


class Display(Protocol):
    """Something that shows events."""

    def show(self, event: Event) -> None:
        """Show one event."""
        ...


@contextmanager
def display() -> Iterator[Display]:
    """The display that fits where standard error goes."""
    if not sys.stderr.isatty():
        yield Plain(SystemClock())
        return
    from stithy.cli.running.live import Live

    with Live(colour=not no_colour()) as live:
        yield live
