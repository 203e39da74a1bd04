"""The exit codes: what a program that calls `stithy` may rely on."""

from enum import IntEnum


class Exit(IntEnum):
    """One code for each way a command can end."""

    OK = 0
    BUG = 1
    USAGE = 2
    PRECONDITION = 3
    INFRASTRUCTURE = 4
    INVALID = 5
    THRESHOLD = 99
    INTERRUPTED = 130
