"""Whether what a command shows arrives: a standard output that is full, or that nobody reads.

Python keeps what it could not write and tries again when the program ends, when the exit code is
long chosen. So what cannot be written is given up here, and told as what it is.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO, cast

from stithy.errors import REMEDIES, InfrastructureError


class NobodyReads(BrokenPipeError):
    """Raised where the reader of standard output has gone (`stithy plan … | head`)."""


class Output:
    """Standard output; once it cannot be written, whatever follows goes nowhere."""

    def __init__(self, stream: TextIO) -> None:
        """`stream` is what the process was given."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write some text. Raises NobodyReads or InfrastructureError, and neither twice."""
        with self._told():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is still to be written. Raises as `write` does."""
        with self._told():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's."""
        return getattr(self._stream, name)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._give_up()
            # A terminal that was closed says EIO.
            if isinstance(error, BrokenPipeError) or error.errno == errno.EIO:
                raise NobodyReads from error
            raise _unwritable(error) from error

    def _give_up(self) -> None:
        """Lead the descriptor nowhere, and let Python forget what it kept."""
        with suppress(OSError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


def _unwritable(error: OSError) -> InfrastructureError:
    number = error.errno or 0
    remedy = REMEDIES.get(number, "look where it leads")
    return InfrastructureError(
        f"it cannot be written: {os.strerror(number).lower()}",
        where="standard output",
        remedy=f"{remedy}, then run again",
    )


@contextmanager
def told_output() -> Iterator[None]:
    """Inside, standard output is an `Output`; where the caller closed it, it stays nothing."""
    if sys.stdout is None:
        yield
        return
    with redirect_stdout(cast(TextIO, Output(sys.stdout))):
        yield
