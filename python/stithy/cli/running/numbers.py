"""What `stithy run` and `stithy resume` tell while they go on, beside what a person sees."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stithy.cli.talk.render import say
from stithy.clock import SystemClock

if TYPE_CHECKING:
    from stithy.run.events import Event, Observer


@contextmanager
def told_live(metrics: str | None, show: "Observer") -> "Iterator[Observer]":
    """Inside, the events that are shown are told at the address, too; None: they are shown only.

    Raises UserError for an address that is wrong or not on loopback, PreconditionError for a port
    that cannot be had.
    """
    if metrics is None:
        yield show
        return
    from stithy.cli.running.advisers import invalid
    from stithy.run.live.endpoint import endpoint, parse_address
    from stithy.run.live.numbers import LiveNumbers

    numbers = LiveNumbers(SystemClock(), invalid)

    def both(event: "Event") -> None:
        show(event)
        numbers.show(event)

    with endpoint(parse_address(metrics), numbers.text) as page:
        say(f"live numbers: {page}")
        yield both
