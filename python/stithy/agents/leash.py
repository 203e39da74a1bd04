"""Ends processes whose lease is not renewed: by a line on the standard input, every few seconds.

    python -I -S leash.py SECONDS ID…

A program by itself, so that it works on where the agent that began it is stopped, and ends them at
once where that is gone. What a process has begun in its own group ends with it. It says a line when
it has them.
"""

import os
import select
import signal
import sys
from contextlib import suppress


def main(term_s: float, ids: list[int]) -> None:
    """Hold the processes of these ids until the lease runs out; then kill those that are there."""
    held = [os.pidfd_open(pid) for pid in ids]  # no other process is ever meant by it
    os.write(1, b"\n")
    while select.select([0], [], [], term_s)[0] and os.read(0, 4096):
        pass
    for pid, process in zip(ids, held, strict=True):
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, 0)  # so the id is still its own, and no other group's
            os.killpg(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(process, signal.SIGKILL)


if __name__ == "__main__":
    main(float(sys.argv[1]), [*map(int, sys.argv[2:])])
