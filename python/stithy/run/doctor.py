"""What each part of Stithy needs of this machine and lacks here; see `stithy doctor`.

Parts are what the registry finds, so a new provider, engine, scenario or collector reports
without a word here. The judgements themselves are in `stithy.needs` and `stithy.hosts.checks`, and
those of engines are their own `check`. Nothing is changed.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stithy.collectors.collector import Collector
from stithy.engines.engine import DEMO_ENGINE, Engine, declaration, get_engine
from stithy.engines.instance import Configuration, Request
from stithy.errors import StithyError
from stithy.hosts.checks import MachineCheck, read_memory
from stithy.hosts.host import Host
from stithy.hosts.links import NEEDS as LINK_NEEDS
from stithy.meters.meter import Meter
from stithy.needs import Judgement, Machine, Need
from stithy.registry import Plugin, plugins
from stithy.results.layout import RunDirectory
from stithy.run.cleaning import list_dead_runs, list_orphans
from stithy.secrets import generate_password
from stithy.storage.layer import LayerKind
from stithy.storage.provider import Provider
from stithy.storage.volume import find_existing_part
from stithy.study.network import KEY
from stithy.study.scenario import Scenario
from stithy.units import format_size

FAMILIES = ("provider", "layer", "scenario", "collector", "meter")
"""Families whose plug-ins name their needs; engines are asked otherwise."""

_KINDS: dict[str, type[Plugin]] = {
    "provider": Provider,
    "layer": LayerKind,
    "scenario": Scenario,
    "collector": Collector,
    "meter": Meter,
}

DEMO_PARTS = (("provider", "drive"), ("scenario", "load"), ("engine", DEMO_ENGINE))
"""What the demo needs, besides the first engine."""

DEMO_MEMORY_BYTES = 6 * 2**30
"""What the plan of `studies/demo.yaml` asks for, in whole GiB; a test holds the two together."""

PROBED_MEMORY_BYTES = 2**30
"""Of an instance that is never started: engines try settings for one."""


@dataclass(frozen=True)
class Needed:
    """One need of a part, and what the machine has of it."""

    why: str
    optional: bool
    judgement: Judgement

    @property
    def prevents(self) -> bool:
        """Whether the part cannot work here for want of it."""
        return self.judgement.state == "missing" and not self.optional


@dataclass(frozen=True)
class ExaminedPart:
    """One plug-in or command with its needs."""

    family: str
    name: str
    needs: tuple[Needed, ...]

    @property
    def works(self) -> bool:
        """Whether it works here; without what is optional it does."""
        return not any(need.prevents for need in self.needs)


@dataclass(frozen=True)
class Examination:
    """All that was found; `demo_lacks` is empty where the demo could run.

    `left`: what ended runs and killed drives, clusters and bridges have left on the machine.
    """

    checks: Mapping[str, tuple[Judgement, ...]]
    parts: tuple[ExaminedPart, ...]
    demo_lacks: tuple[Judgement, ...]
    left: tuple[Judgement, ...] = ()


AskEngine = Callable[[str], Judgement]


def examine(
    host: Host,
    commands: Mapping[str, Iterable[Need]],
    *,
    ask_engine: AskEngine | None = None,
    here: Path | None = None,
    left: Iterable[Judgement] = (),
) -> Examination:
    """Judge all checks, parts and `commands` (their needs by name).

    `ask_engine` judges an engine by its name. `here` is where results would go by default. `left`
    is what was left behind on this machine, see `judge_left_behind`.
    """
    families: list[tuple[str, Mapping[str, Iterable[Need]]]] = [
        *((family, list_needs(family)) for family in FAMILIES),
        ("key", {KEY: LINK_NEEDS}), ("command", commands),
    ]  # fmt: skip
    parts = [
        ExaminedPart(family, name, _judged(needs, host))
        for family, by_name in families
        for name, needs in by_name.items()
    ]
    asked = ask_engine or partial(judge_engine, host)
    parts += [
        ExaminedPart("engine", name, (Needed("its server programs", False, asked(name)),))
        for name in plugins(Engine)
    ]
    parts += [
        ExaminedPart("backup method", name, _judged(needs, host))
        for name, needs in _list_backup_needs().items()
    ]
    checks = {name: tuple(check.judge(host)) for name, check in plugins(MachineCheck).items()}
    # The demo cannot run without its parts, memory, and a place for its results.
    lacks = [
        need.judgement
        for part in parts
        if (part.family, part.name) in DEMO_PARTS
        for need in part.needs
        if need.prevents
    ]
    lacks += _list_demo_lacks(host, find_existing_part(here or Path.cwd()))
    return Examination(checks, tuple(parts), tuple(dict.fromkeys(lacks)), tuple(left))


CLEANED = "stithy clean"


def judge_left_behind() -> Iterable[Judgement]:
    """What ended runs, killed drives and killed clusters of this user left: `clean` removes it."""
    for run in list_dead_runs():
        left = len(run.resources)
        found = f"ended, and left {left} {'thing' if left == 1 else 'things'} behind"
        goes_on = not run.by_hand and RunDirectory(run.directory).journal.exists()
        resume = f"to continue it: stithy resume {run.directory}; to remove them: "
        yield Judgement(run.what, "disturbing", found, f"{resume if goes_on else ''}{CLEANED}")
    for orphan in list_orphans():
        yield Judgement(
            f"{orphan.kind} {orphan.name}", "disturbing", f"left in {orphan.folder}", CLEANED
        )


def judge_engine(host: Host, name: str) -> Judgement:
    """Whether an engine finds its programs and can run them, as the user that servers run as."""
    if get_engine(name).no_server:
        return Judgement(name, "there", "by URL only")
    try:
        request = Request(
            host=host,
            configuration=Configuration({}, PROBED_MEMORY_BYTES),
            connections_max=1,
            password=generate_password(),
        )
        found = get_engine(name).configure(request).check()
    except StithyError as error:
        return Judgement(name, "missing", f"{error.where}: {error.problem}", error.remedy)
    also = f"; also installed: {', '.join(map(str, found.others))}" if found.others else ""
    if defect := declaration(name).find_defect(found.version):
        remedy = "install another version, or choose one with `database.programs`"
        return Judgement(name, "disturbing", f"{found}{also}: {defect}", remedy)
    return Judgement(name, "there", f"{found}{also}")


def _list_backup_needs() -> dict[str, list[Need]]:
    """What methods of backup need, by name: engines may have methods of one name."""
    needs: dict[str, list[Need]] = {}
    for engine in plugins(Engine).values():
        for method in engine.backups:
            needs.setdefault(method.name, []).extend(method.needs)
    return needs


def _list_demo_lacks(machine: Machine, here: Path) -> Iterator[Judgement]:
    """What the demo lacks besides its parts: memory, and a place for its results."""
    available = read_memory(machine, "MemAvailable")
    if available is not None and available < DEMO_MEMORY_BYTES:
        found = f"{format_size(available)} to use, of {format_size(DEMO_MEMORY_BYTES)} for the demo"
        remedy = "free memory, or write a study that fits: `stithy new`"
        yield Judgement("memory", "missing", found, remedy)
    if not os.access(here, os.W_OK | os.X_OK):
        found = f"results cannot be written to {here}"
        yield Judgement("results", "missing", found, "go elsewhere, or name a directory: --out")


def list_needs(family: str) -> dict[str, Sequence[Need]]:
    """List what each plug-in of one of `FAMILIES` needs of the machine."""
    return {name: plugin.needs for name, plugin in plugins(_KINDS[family]).items()}


def _judged(needs: Iterable[Need], machine: Machine) -> tuple[Needed, ...]:
    return tuple(Needed(need.why, need.optional, need.judge(machine)) for need in needs)
