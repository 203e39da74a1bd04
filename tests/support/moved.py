"""A move between directories of one test, as a way sees it: what it needs to compare tables."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stithy.clock import SystemClock
from stithy.engines.engine import get_engine
from stithy.engines.instance import ConfiguredEngine, Instance
from stithy.run.session import Stop
from support.servers import make_folder, start


def make_move(engine: str, made: ConfiguredEngine, place: Path, target: Instance) -> Any:
    """Make one whose source lies aside in `place`; servers beside are stopped where they end."""

    def start_beside(
        data: Path, settings: Mapping[str, str], held: ExitStack, name: str
    ) -> Instance:
        begin = replace(start(place), data=data, sockets=make_folder(place, name), more=settings)
        follower = made.start(replace(begin, log=place / f"{name}.log"))
        stop: Callable[[], object] = follower.stop
        held.callback(stop)
        return follower

    return SimpleNamespace(
        context=SimpleNamespace(session=SimpleNamespace(clock=SystemClock(), stop=Stop())),
        window=SimpleNamespace(candidate="one", point=None, id="w"),
        find_server=lambda: target, find_engine=partial(get_engine, engine),
        start_beside=start_beside, source=SimpleNamespace(path=place, drives=()),
    )  # fmt: skip
