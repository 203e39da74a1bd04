"""A loaded database of each engine and workload: made once, copied and started for each test."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from conformance.samples import Sample, sample
from stithy.engines.engine import Engine, declaration, get_engine
from stithy.engines.instance import ConfiguredEngine, Instance
from stithy.hosts.runner import Command, LocalRunner, Runner
from stithy.registry import plugins
from stithy.secrets import Secret
from stithy.wire.hammer import Hammer
from stithy.wire.jobs import WorkloadChoice
from stithy.workloads.workload import Driving, Size, Workload
from support import servers

WORKLOADS = plugins(Workload)
STARTED = [name for name, engine in plugins(Engine).items() if not engine.no_server]
"""The engines of which Stithy starts servers; tests/real has the others."""


@dataclass(frozen=True)
class Loaded:
    """A database whose server is stopped; `place` has its `data`."""

    engine_name: str
    workload: str
    engine: ConfiguredEngine
    place: Path

    @cached_property
    def sample(self) -> Sample:
        """What the suites know of the engine."""
        return sample(self.engine_name)

    @property
    def choice(self) -> WorkloadChoice:
        """As it was loaded."""
        section = {"name": self.workload, **self.size}
        return plugins(Workload)[self.workload].keys.model_validate(section).choice(Driving())

    @property
    def size(self) -> Size:
        """About a megabyte of the workload, at least one unit."""
        workload = plugins(Workload)[self.workload]
        return workload.fit_size(2**20 // workload.bytes_per_unit)

    @property
    def is_embedded(self) -> bool:
        """Whether the hammer is what can be limited and killed."""
        return declaration(self.engine_name).is_embedded

    def hammer(
        self, url: Secret, runner: Runner | None = None, memory_cgroup: Path | None = None
    ) -> Hammer:
        """The load driver on a server of it; in the server's group where it is the server."""
        hammer = Hammer(runner or LocalRunner(), url)
        if self.is_embedded:
            hammer.limit_process(Command((), memory_cgroup=memory_cgroup))
        return hammer

    def start(self, place: Path, **more: Path) -> Instance:
        """A server on the `data` in a place."""
        return self.engine.start(replace(servers.start(place), **more))  # type: ignore[arg-type]  # paths

    @contextmanager
    def copied(self, parent: Path | None = None) -> Iterator[Path]:
        """A place with a copy of the files, as a run restores them."""
        with servers.server_place() as made:
            place = parent or made
            shutil.copytree(self.place / "data", place / "data", dirs_exist_ok=True)
            for path in (place / "data", *(place / "data").rglob("*")):
                shutil.chown(path, self.place.owner(), self.place.group())
            yield place


def _make_pair(name: str, workload: str) -> Any:
    """Make a parameter of `loaded`. Long: others than order entry on others than PostgreSQL.

    What a pair has of its own is in the hammer, where `crates/hammer/tests/hammer/` tests each.
    """
    is_long = workload != "order-entry" and name != "postgresql"
    marks = [getattr(pytest.mark, f"needs_{name}"), *([pytest.mark.long] if is_long else [])]
    return pytest.param((name, workload), marks=marks)


EACH_ENGINE = pytest.mark.parametrize(
    "loaded", [_make_pair(name, "order-entry") for name in STARTED], indirect=True, ids=STARTED
)
"""For a test of what no workload changes."""


@pytest.fixture(
    scope="session",
    params=[_make_pair(name, workload) for name in STARTED for workload in WORKLOADS],
    ids=lambda of: "-".join(of),
)
def loaded(request: pytest.FixtureRequest) -> Iterator[Loaded]:
    """A little of the workload, loaded as a run loads it."""
    name, workload = request.param
    asked = servers.request(dict([sample(name).setting]))
    engine: ConfiguredEngine = get_engine(name).configure(asked)
    with servers.server_place() as place:
        engine.initialise(place / "data", place)
        of = Loaded(name, workload, engine, place)
        instance = engine.start(servers.start(place, loading=True))
        try:
            of.hammer(instance.url).prepare(of.choice, seed=1, loaders=2)
            instance.finish_loading(0)
        finally:
            instance.stop()
        yield of


@pytest.fixture(scope="module")
def server(loaded: Loaded) -> Iterator[Instance]:
    """A server on a copy, which the tests of a file share."""
    with loaded.copied() as place:
        instance = loaded.start(place)
        memory = instance.shared_memory()
        try:
            yield instance
        finally:
            instance.stop(at_once=True)
            get_engine(loaded.engine_name).forget(memory)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of what an engine says of itself need no server, some its programs alone."""
    if "engine_name" in metafunc.fixturenames:
        metafunc.parametrize("engine_name", STARTED)
    if "installed" in metafunc.fixturenames:
        marked = [
            pytest.param(name, marks=getattr(pytest.mark, f"needs_{name}")) for name in STARTED
        ]
        metafunc.parametrize("installed", marked)
