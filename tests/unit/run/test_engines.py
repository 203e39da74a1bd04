"""A study of two engines: each is loaded, restored, run and judged by what is its own."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from fakes.engine import FakeEngine, FakeInstance
from stithy.activities.hammer.judge import COMMITS, FEW_COMMITS
from stithy.clock import Clock
from stithy.engines.engine import declaration, get_engine
from stithy.engines.instance import CommitCounters, Installation, ServerFacts, Start
from stithy.plan.expand import expand
from stithy.report.context import make_context
from stithy.results.comparability import check_comparable, find_differences
from stithy.results.files import read_run
from stithy.results.manifest import EngineFacts, Manifest
from stithy.run.equip import Tools
from stithy.scenarios.backup.plan import list_proven
from stithy.study.database import label
from stithy.study.load import parse_study
from support.faked_run import FakedRun
from support.running import entries

pytestmark = pytest.mark.usefixtures("own_state")

STUDY = """study: Which engine, and which storage?
candidates:
  a: {path: "{root}/a"}
  b: {path: "{root}/b", settings: {sqlite: {synchronous: "off"}}}
database:
  engine: sqlite
  memory: 192 MiB
  programs: {postgresql: "15"}
  settings: {postgresql: {shared_buffers: 32MB}, sqlite: {cache_kib: 4000}}
workload: {name: order-entry, warehouses: 1}
load: {users: [2], ramp_up: 1 s, duration: 2 s, repeat: 1}
vary: {database.engine: [postgresql, sqlite]}
"""
PAIR = ("postgresql", "sqlite")


class OneOf(FakeEngine):
    """An engine whose files and facts bear its name."""

    def __init__(self, name: str) -> None:
        """Nothing was made yet."""
        super().__init__()
        self.name, self.made = name, 0

    def check(self) -> Installation:
        """Each has a version of its own, and a method of backup that is called as the other's."""
        return replace(super().check(), version=f"1.{self.name}", backups={"dump": self.name})

    def initialise(self, data: Path, scratch: Path) -> None:
        """Its rows tell whose they are."""
        super().initialise(data, scratch)
        (data / "base/rows").write_text(self.name)
        self.made += 1

    def start(self, start: Start) -> FakeInstance:
        """A server refuses another one's files."""
        assert (start.data / "base/rows").read_text() == self.name
        self.starts.append(start)
        return _Named(start, self.name)


class _Named(FakeInstance):
    def __init__(self, start: Start, name: str) -> None:
        super().__init__(start, [])
        self._name, self._commits = name, 0

    def commits(self, clock: Clock) -> CommitCounters:
        """More than anybody did."""
        self._commits += 10**6
        return CommitCounters(self._commits, 0, settled=True)

    def facts(self) -> ServerFacts:
        """What its configuration gives it."""
        own = self._start.own.settings if self._start.own else {}
        return ServerFacts(f"1.{self._name}", dict(own))


@dataclass
class Engines(FakedRun):
    """Both engines, with a server each that knows its own files."""

    text: str = STUDY
    engines: dict[str, OneOf] = field(default_factory=lambda: {name: OneOf(name) for name in PAIR})
    asked: dict[str, tuple[str | None, dict[str, str]]] = field(default_factory=dict)

    @property
    def tools(self) -> Tools:
        """Each is asked with its own configuration."""

        def configure(file, request):  # type: ignore[no-untyped-def]  # a seam of two arguments
            name = file.study.database.engine
            self.asked[name] = request.programs, dict(request.configuration.settings)
            return self.engines[name]

        return replace(super().tools, engine=configure)


def replace_other(manifest: Manifest, other: EngineFacts) -> Manifest:
    """The manifest of a run that had another engine of the same name."""
    facts = check_comparable(
        "load", manifest.workload, manifest.load, manifest.database, manifest.memory, "0.1.0",
        manifest.candidates, others=(other,),
    )  # fmt: skip
    return manifest.model_copy(update={"other_engines": (other,), "comparability": facts})


def test_each_engine_is_loaded_once_and_its_windows_are_its_own(tmp_path: Path) -> None:
    """A run that is cut off and goes on measures as if it had not been."""
    faked = Engines(tmp_path)
    faked.run_cut_off()
    assert [engine.made for engine in faked.engines.values()] == [1, 1]
    assert faked.asked == {
        "postgresql": ("15", {"shared_buffers": "32MB"}),
        "sqlite": (None, {"cache_kib": "4000"}),
    }
    [begun] = entries(faked.out, "run-started")
    assert [begun.facts["machine"][f"backup dump of {name}"] for name in PAIR] == [*PAIR]
    done = entries(faked.out, "step-started", kind="calibrate")
    assert sorted(entry.facts["id"] for entry in done) == ["calibrate", "calibrate-postgresql"]

    context = make_context(read_run(faked.out))
    manifest = context.manifest
    assert manifest is not None
    assert {window.point.values["database.engine"] for window in context.evidence.windows} == {
        *PAIR
    }
    assert len(context.evidence.windows) == 4
    assert {name: of.database.server_version for name, of in manifest.by_engine.items()} == {
        "sqlite": "1.sqlite", "postgresql": "1.postgresql",
    }  # fmt: skip
    by_engine = manifest.by_engine
    own = {name: [each.settings for each in of.candidates] for name, of in by_engine.items()}
    assert own == {"postgresql": [{}, {}], "sqlite": [{}, {"synchronous": "off"}]}
    assert label(context.given_up) == "NOT DURABLE: sqlite: synchronous off on b"
    other = manifest.other_engines[0]
    newer = other.database.model_copy(update={"server_version": "2"})
    changed = replace_other(manifest, other.model_copy(update={"database": newer}))
    differing = find_differences(manifest, changed, ["a", "b"])
    assert [difference.name for difference in differing] == ["engine.postgresql.server_version"]
    calibrations = [of.calibration for of in by_engine.values()]
    assert all(known and known.rate_per_s_max for known in calibrations)


def test_a_window_is_judged_by_what_its_engine_declares(tmp_path: Path) -> None:
    """A server that counts no commits is not asked for them; no word is of one engine alone."""
    faked = Engines(tmp_path)
    assert faked.run().end == "finished"
    context = make_context(read_run(faked.out))
    flagged = {
        (str(window.point.values["database.engine"]), reason.flag in (COMMITS, FEW_COMMITS))
        for window in context.evidence.windows
        for reason in window.reasons
    }
    assert ("postgresql", True) in flagged
    assert ("sqlite", True) not in flagged
    assert context.engine.server == "database"
    assert declaration("sqlite").buffers in context.engine.buffers
    assert declaration("postgresql").buffers in context.engine.buffers


def test_backups_of_each_engine_are_proven_by_its_own_method() -> None:
    """Of the engine that a candidate does not have at its end last of all: it is restored first."""
    text = STUDY.replace("{root}", "/srv") + "scenario: backup\n"
    study = parse_study("backup", text.encode())
    kinds = [step.kind for step in expand(study).steps if step.at_end]
    assert kinds == [*["prove-backup"] * 2, *["check"] * 2, *["prove-other-engines"] * 2]
    methods = [list_proven(study.select_engine(name))[0][0] for name in PAIR]
    assert methods == [get_engine(name).backups[0].name for name in PAIR]
