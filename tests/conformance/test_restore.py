"""What every restore method must do on each engine that has it: give the loaded state again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.conftest import STARTED
from stithy.engines.engine import get_engine
from stithy.plan.steps import Step
from stithy.registry import plugins
from stithy.restores.method import RestoreMethod
from stithy.run.context import Context
from stithy.run.executor import do_step
from stithy.run.session import Stop
from stithy.run.start import start_run
from stithy.run.volumes import get_parts
from stithy.wire.jobs import RunRequest

STUDY = """study: Is it as it was loaded?
candidates: {{a: {{path: {place}/a, roles: {{{roles}}}}}}}
database: {{engine: {engine}, memory: 256 MiB, restore: {method}}}
workload: {{name: order-entry, warehouses: 1}}
load: {{users: [1], ramp_up: 1 s, duration: 2 s, calibrate: false, repeat: 2}}
"""


@dataclass(frozen=True)
class State:
    """What a window starts from: rows by table, files of the log, conditions that do not hold.

    Files of the log are among it because making one in a window would be measured.
    """

    rows: Mapping[str, str]
    log_files: int
    broken: tuple[int, ...]


def _list_cases() -> Iterator[Any]:
    """List each engine with its methods. Long: to load anew, in one way for all, but on SQLite."""
    for engine in STARTED:
        for name, method in plugins(RestoreMethod).items():
            if method.explain_refusal(get_engine(engine)) is None:
                is_long = "load" in method.restore_work and engine != "sqlite"
                long = [pytest.mark.long] if is_long else []
                marks = [getattr(pytest.mark, f"needs_{engine}"), *long]
                yield pytest.param((engine, name), marks=marks)


@pytest.fixture(params=_list_cases(), ids=lambda of: "-".join(of))
def context(request: pytest.FixtureRequest, place: Path, own_state: Path) -> Iterator[Context]:
    """A run of an engine with a method, of which nothing was done; nothing of it stays."""
    engine, method = request.param
    study = place / "study.yaml"
    parts = sorted(get_engine(engine).separate_roles)
    roles = ", ".join(f"{role}: {{path: {place}/{role}}}" for role in parts)
    study.write_text(STUDY.format(place=place, roles=roles, engine=engine, method=method))
    made = start_run(study, place / "out", Stop(), lambda event: None)
    yield made
    left = made.session.books.end()
    made.session.books.register.close(remove=not left)
    assert left == []


def test_every_restore_gives_the_loaded_state_(context: Context) -> None:
    """Also where a window was before: its users have changed the database.

    All parts that may lie elsewhere do. That each candidate gets the same, every run proves by its
    sums (`restores.identical`).
    """
    before = [each for each in context.steps if each.kind in ("provision", "prepare", "snapshot")]
    for step in before:
        do_step(context, step)
    restores = [each for each in context.steps if each.kind == "restore"]
    first, second = (_restored(context, restore) for restore in restores)
    assert first.broken == ()
    assert len(first.rows) > 1
    assert second == first


def _restored(context: Context, step: Step) -> State:
    """What a restore gave; then users change it."""
    do_step(context, step)
    candidate = str(step.candidate)
    parts = get_parts(context.volumes.of(candidate))
    folder = context.servers.find_held("a").engine.log_folder
    log_files = len([*(parts.data / folder).iterdir()]) if folder else 0
    log = context.session.directory.root / "look.log"
    choice = context.choice_at(step.window.point)  # type: ignore[union-attr]  # it has a window
    with context.servers.running(candidate, log) as instance:
        rows = instance.checksums()
        elsewhere = context.volumes.of(candidate).others
        empty = [role for role in elsewhere if not any((elsewhere[role].path / role).iterdir())]
        assert set(empty) <= {"temp"}
        hammer = context.hammer(instance.url)
        checked = hammer.check(choice, quick=True, after_load=True)
        changed = hammer.run(choice, RunRequest(seed=1, users=2, ramp_up_s=0.0, duration_s=0.5))
        assert changed.summary.commits > 0
    return State(rows, log_files, checked.broken)
