"""A real run in this process with somebody behind the hammer's back."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from stithy.hosts.runner import Runner
from stithy.report.context import Context, context_of
from stithy.results.files import read_run
from stithy.run.executor import execute
from stithy.run.preparation.equip import Tools
from stithy.run.session import Stop
from stithy.run.start import start_run
from stithy.secrets import Secret
from stithy.wire.hammer import NOBODY, Driven, Hammer, Watch
from stithy.wire.jobs import RunRequest, WorkloadChoice
from stithy.wire.messages import AnyMessage, Second
from support.running import left_by, write_study

Deed = Callable[[Secret], None]


def _nothing(url: Secret) -> None:
    """Leave the window alone."""


class Meddler(Hammer):
    """A hammer whose database something is done to, by the number of users.

    `during`: in the second second of a run; `after`: as soon as the users are done.
    """

    def __init__(
        self, runner: Runner, url: Secret, during: Mapping[int, Deed], after: Mapping[int, Deed]
    ) -> None:
        """As the hammer."""
        super().__init__(runner, url)
        self._database, self._during, self._after = url, during, after

    def run(
        self, workload: WorkloadChoice, request: RunRequest, *, watch: Watch = NOBODY
    ) -> Driven:
        """Drive, and have it done."""

        def on_message(message: AnyMessage) -> None:
            if (
                isinstance(message, Second)
                and message.second == 1
                and request.users in self._during
            ):
                self._during[request.users](self._database)

        watch = Watch(watch.raw_output, on_message, watch.stop)
        driven = super().run(workload, request, watch=watch)
        self._after.get(request.users, _nothing)(self._database)
        return driven


def meddled(
    place: Path,
    patch: pytest.MonkeyPatch,
    users: Sequence[int],
    *,
    names: str = "a",
    load: Mapping[str, str] | None = None,
    during: Mapping[int, Deed] | None = None,
    after: Mapping[int, Deed] | None = None,
) -> Context:
    """A study of these candidates and levels, run in `place` and read back."""
    patch.setenv("STITHY_STATE", str(place / "state"))
    study = write_study(
        place / "study.yaml", {name: place / name for name in names}, users=users, load=load
    )
    tools = Tools(
        hammer=lambda runner, cpus: lambda url: Meddler(runner, url, during or {}, after or {})
    )
    outcome = execute(start_run(study, place / "out", Stop(), lambda event: None, tools))
    assert outcome.error is None
    assert left_by(place / "out") == []
    return context_of(read_run(place / "out"))
