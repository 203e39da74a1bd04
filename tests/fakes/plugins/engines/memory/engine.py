"""Makes, starts and stops databases in this process."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from stithy.engines.instance import Configuration, Installation, Request, Start
from stithy.errors import UserError
from stithy.secrets import Secret

from .endpoint import RUNNING, Endpoint, Store

ROWS = "rows.json"
KNOWN = ("keep",)


class MemoryEngine:
    """Starts servers that are a dictionary each."""

    program = "no-such-program"
    log_folder = "log"

    def __init__(self, request: Request) -> None:
        """Nothing is started."""
        self._request = request

    def check(self) -> Installation:
        """Always there. Raises UserError for a setting that it does not know."""
        for where, given in (("database", self._request.configuration), *self._request.own):
            for name in given.settings:
                if name not in KNOWN:
                    raise UserError(
                        f"{name} is no setting of it", where=f"{where}.settings",
                        remedy=f"use {KNOWN[0]}",
                    )  # fmt: skip
        return Installation(Path("/nowhere"), "1.memory")

    def initialise(self, data: Path, scratch: Path) -> None:
        """No rows."""
        del scratch  # it needs none
        (data / ROWS).write_text("{}")
        (data / self.log_folder).mkdir()

    def start(self, start: Start) -> "Instance":
        """With the rows of its file."""
        return Instance(start, start.own or self._request.configuration)


class Instance(Endpoint):
    """A server of this process."""

    def __init__(self, start: Start, given: Configuration) -> None:
        """Its URL names its data."""
        super().__init__(Secret(f"memory://{start.data}"))
        self._file = start.data / ROWS
        RUNNING[self.place] = Store(json.loads(self._file.read_text()), given.settings)

    @property
    def pid(self) -> int:
        """No process can have it: nobody is to send it a signal."""
        return 2**22 + 1

    def shared_memory(self) -> Mapping[str, str]:
        """None."""
        return {}

    def last_words(self) -> str:
        """It writes no log."""
        return "it wrote nothing"

    def ended_by(self) -> str | None:
        """It ends only with this process."""
        return None

    def checkpoint(self) -> None:
        """Its rows are in their file."""
        self.store.checkpoints += 1
        self._write()

    def finish_loading(self, log_bytes: int) -> None:
        """Nothing is to be overwritten later."""
        del log_bytes  # it has no log
        self._write()

    def kept_url(self) -> str:
        """It has no password."""
        return self.place

    def stop(self, *, at_once: bool = False) -> None:
        """Write the rows, unless it is to end at once."""
        if self.place in RUNNING:
            if not at_once:
                self._write()
            del RUNNING[self.place]

    def _write(self) -> None:
        with self._file.open("w") as file:
            json.dump(self.store.rows, file)
            file.flush()
            os.fsync(file.fileno())
