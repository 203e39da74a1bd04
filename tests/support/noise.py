"""What a machine that also does something else can only make worse."""

from collections.abc import Callable


def once_of(tries: int, check: Callable[[], None]) -> None:
    """Have a check pass once in so many tries: noise fails some of them, a fault fails all."""
    for left in reversed(range(tries)):
        try:
            return check()
        except AssertionError:
            if not left:
                raise
    return None
