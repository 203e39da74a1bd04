"""A run of a small study in this process, with a fake engine and a fake hammer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fakes.clock import FakeClock
from fakes.engine import FakeEngine
from fakes.hammer import FakeHammer
from fakes.machine import FakeMachine
from stithy.agents.coordinator import Agents
from stithy.clock import Clock
from stithy.hosts.runner import LocalRunner
from stithy.plan.additional import Additional
from stithy.run.context import Context
from stithy.run.deciding import Deciders, Invalid, Judge, Scheduler, SoFar
from stithy.run.equip import Tools
from stithy.run.events import Event
from stithy.run.executor import RunOutcome, execute
from stithy.run.resume import resume_run
from stithy.run.session import Stop
from stithy.run.start import start_run
from support.running import write_study


def two_more(so_far: SoFar) -> Additional | None:
    """A scheduler that wants windows whatever was measured: after the first window of all a second
    block of it, and after that one a third.
    """
    windows = [step.window for step in so_far.steps if step.kind == "window" and step.window]
    of_first = [each for each in windows if each.id.startswith(windows[0].id)]
    last = of_first[-1]
    if len(of_first) > 2 or last.id not in so_far.done:
        return None
    more = replace(last, id=f"{windows[0].id}-more{len(of_first)}")
    return Additional(last.id, (more,), f"{last.id} was measured")


@dataclass
class FakedRun:
    """A study with candidates `a` and `b` below `root`, and what its run tells.

    `keys`: what a candidate has beside its path, as the study says it. `text`: the whole study
    where it is of another scenario, with `{root}` for its candidates.
    """

    root: Path
    engine: FakeEngine = field(default_factory=FakeEngine)
    hammer: FakeHammer = field(default_factory=FakeHammer)
    clock: Clock = field(default_factory=FakeClock)
    hammer_version: str = "hammer 0.fake"
    users: tuple[int, ...] | None = (1, 2)
    load: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    thresholds: tuple[str, ...] = ()
    primary: str = ""
    vary: str = ""
    scenario: str = ""
    text: str = ""
    judge: Judge | None = None
    events: list[Event] = field(default_factory=list)
    stop: Stop = field(default_factory=Stop)
    on_event: Callable[[Event], None] = lambda event: None
    schedulers: Sequence[Scheduler] = ()
    invalid: Invalid | None = None
    waits: bool = True
    agents: Agents | None = None

    @property
    def out(self) -> Path:
        """The run directory."""
        return self.root / "out"

    def start(self, *, null: bool = False) -> Context:
        """Everything checked, nothing done."""
        keys = {name: f", {text}" for name, text in self.keys.items()}
        places = {name: f"{{path: {self.root / name}{keys.get(name, '')}}}" for name in "ab"}
        path = self.root / "study.yaml"
        if self.text:
            path.write_text(self.text.replace("{root}", str(self.root)))
        study = path if self.text else write_study(
            path, places, users=self.users, load={"ramp_up": "1 s", "pace": "", **self.load},
            settings=self.settings,
            thresholds=self.thresholds, primary=self.primary, vary=self.vary,
            scenario=self.scenario,
        )  # fmt: skip
        return start_run(study, self.out, self.stop, self._hear, self.tools, null=null)

    @property
    def deciders(self) -> Deciders:
        """Who decides what is measured."""
        return Deciders(self.judge, self.schedulers, self.invalid)

    @property
    def tools(self) -> Tools:
        """The fakes, where a run finds its tools."""
        return Tools(
            clock=self.clock,
            host=lambda run_id: FakeMachine(runner=LocalRunner({"STITHY_RUN": run_id})),
            hammer=lambda runner, cpus: lambda url: self.hammer,
            hammer_version=lambda runner: self.hammer_version,
            engine=lambda file, request: self.engine,
            waits=self.waits,
            agents=lambda study: self.agents,
        )

    def run(self) -> RunOutcome:
        """The whole run."""
        return execute(self.start(), self.deciders)

    def run_cut_off(self) -> None:
        """Run until a person stops it in its second window, and resume to the end."""
        again, first = type(self.hammer)(sound=True), self.hammer
        first.before_run = lambda: self.stop.signal() if len(first.runs) > 1 else None
        assert self.run().end == "interrupted"
        self.hammer, self.stop = again, Stop()
        assert self.resume().end == "finished"

    def resume(self, *, force: bool = False, judge: Judge | None = None) -> RunOutcome:
        """The rest of a run that was cut off."""
        deciders = Deciders(judge or self.judge, self.schedulers, self.invalid)
        resumed = resume_run(
            self.out, self.stop, self._hear, force=force, tools=self.tools, deciders=deciders
        )
        with resumed as context:
            return execute(context, deciders)

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)
