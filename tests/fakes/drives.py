"""A drive program that is a thread with a socket: it answers as told, and keeps what it heard."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stithy.wire.drive import messages
from stithy.wire.drive.jobs import InMemory
from stithy.wire.drive.messages import AnyAnswer, AnyCommand, DriveUp
from support.heard import parse_command

Answer = Callable[[AnyCommand], AnyAnswer | bytes]


def facts(name: str = "data", device: str = "/dev/loop99") -> DriveUp:
    """A drive of 1 GiB in memory."""
    return DriveUp(
        drive=name, device=device, size_bytes=2**30, sector_bytes=4096, backing=InMemory(),
        profile="generic-nvme", scale=1.0, volatile_bytes=None, transport="fuse",
        transport_s=1e-5, spin_s=5e-5, paced=True,
    )  # fmt: skip


def done(command: AnyCommand) -> AnyAnswer:
    """Yes to everything; one drive is listed."""
    if command.command == "list":
        return messages.AnswerList(drives=(facts(),))
    return messages.AnswerDone()


def refused(exit_code: int) -> messages.AnswerFailure:
    """An answer that says no."""
    return messages.AnswerFailure(
        code="device-in-use", problem="the drive is mounted", where="/dev/loop99",
        remedy="unmount it first", exit=exit_code,
    )  # fmt: skip


@contextmanager
def serving(path: Path, answer: Answer = done) -> Iterator[list[AnyCommand]]:
    """Inside, a socket answers at `path`; the commands that it heard.

    An answer of bytes is sent as it is, and none are sent after it.
    """
    heard: list[AnyCommand] = []
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=_serve, args=(listener, answer, heard))
        thread.start()
        try:
            yield heard
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            path.unlink(missing_ok=True)


def _serve(listener: socket.socket, answer: Answer, heard: list[AnyCommand]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        # Whoever asked may have lost patience.
        with connection, suppress(BrokenPipeError):
            _converse(connection, answer, heard)


def _converse(connection: socket.socket, answer: Answer, heard: list[AnyCommand]) -> None:
    with connection.makefile("rb") as reader:
        for line in reader:
            heard.append(parse_command(line))
            shown = answer(heard[-1])
            if isinstance(shown, bytes):
                connection.sendall(shown)
                return
            connection.sendall(shown.model_dump_json().encode() + b"\n")
