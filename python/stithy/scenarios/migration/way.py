"""The seam of ways to move a database's volume, and the keys of a study that choose among them."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from stithy.errors import InfrastructureError
from stithy.names import suggest_instead
from stithy.needs import Need
from stithy.point import NOTHING
from stithy.registry import Family, Plugin, plugins
from stithy.study.load_keys import Load
from stithy.study.problems import Violation
from stithy.study.scenario import ScenarioKeys
from stithy.units import ShownSeconds, format_duration, limit_quantity, make_rule_error

if TYPE_CHECKING:
    from stithy.engines.engine import Engine
    from stithy.engines.instance import Instance
    from stithy.engines.served import ServerProcess
    from stithy.hosts.runner import Command
    from stithy.plan.steps import WindowPlan
    from stithy.run.context import Context
    from stithy.storage.provider import Volume
    from stithy.storage.providers.drive import DriveKeys
    from stithy.study.model import Study

NONE = NOTHING
"""The level at which nothing is moved."""

LAST_LINES = 3

SWITCH = "switch"
"""The part of a migration in which no server answers, or its storage is exchanged below it."""

TableSums = Mapping[str, tuple[str | None, str | None]]
"""By table the checksums of its rows at source and target; None where it is not there."""


class UnfinishedError(InfrastructureError):
    """The users were done before the migration was."""


@dataclass
class Move:
    """One migration, while the users of a window work.

    `marks`: when each part of it began, Unix time, the last one its end. `held`: what must last
    until the window's database was verified. `moved_bytes`: what came to lie on the target.
    `ended_s`: when it was done, where what moved the volume says that itself.
    """

    context: "Context"
    window: "WindowPlan"
    source: "Volume"
    target: "Volume"
    ends_s: float
    marks: list[tuple[str, float]] = field(default_factory=list)
    held: ExitStack = field(default_factory=ExitStack)
    moved_bytes: int | None = None
    ended_s: float | None = None
    _group: Path | None = None

    def find_server(self) -> "Instance":
        """Find the server that the users work with."""
        from stithy.run.volumes import get_parts

        return self.context.servers.live[get_parts(self.source).data]

    def find_engine(self) -> "Engine":
        """Find the engine of that server."""
        from stithy.engines.engine import get_engine

        study = self.context.servers.find_study(self.window.candidate, self.window.point)
        return get_engine(study.database.engine)

    def find_process(self) -> "ServerProcess":
        """Find the process of that server: a way is refused where Stithy did not start it."""
        from stithy.engines.served import ServerProcess

        server = self.find_server()
        assert isinstance(server, ServerProcess)
        return server

    def find_programs(self) -> Path:
        """Find the directory of the programs of its engine."""
        servers = self.context.servers
        study = servers.find_study(self.window.candidate, self.window.point)
        return servers.get_found(study).installation.programs

    def has_holes(self) -> bool:
        """Whether copies of the database's files must keep their holes."""
        from stithy.run.datasets import has_holes

        return has_holes(self.context, self.context.plan.dataset_at(self.window.point))

    def begin(self, part: str, at_s: float | None = None) -> None:
        """Begin the next part, which ends the one before; `at_s`: it has begun at this time."""
        self.check()
        self.marks.append((part, self.context.session.clock.now_s() if at_s is None else at_s))

    def check(self) -> None:
        """Raise Interrupted where a person wants an end, UnfinishedError when users are done."""
        self.context.session.stop.check()
        if self.context.session.clock.now_s() >= self.ends_s:
            part = self.marks[-1][0] if self.marks else "beginning"
            raise UnfinishedError(
                f"the users were done before the migration was, which was at: {part}",
                where=f"window {self.window.id}",
                remedy="let users work longer (`load.duration`), or begin earlier (`at`)",
            )

    def wait_until(self, is_so: Callable[[], bool], pause_s: float = 0.02) -> None:
        """Wait until it is so. Raises as `check`."""
        while not is_so():
            self.check()
            self.context.session.stop.asked.wait(pause_s)

    def run(self, command: "Command", *, as_server: bool = True) -> None:
        """Run a program to its end, as the server's user or as this one.

        Raises as `check`, and where it fails.
        """
        user, log = self.context.host.user, self.find_folder() / "migration.log"
        asked = replace(command, user=user.name if user and as_server else None, detached=True)
        process = self.context.host.runner.start(asked, stderr=log)
        try:
            self.wait_until(lambda: process.poll() is not None)
        except BaseException:
            from stithy.hosts.processes import end_tree

            end_tree(process.pid, signal.SIGTERM)
            process.wait(10)
            raise
        if process.poll():
            words = log.read_text(errors="replace").strip().splitlines()[-LAST_LINES:]
            raise InfrastructureError(
                f"it ended with code {process.poll()}: {' | '.join(words)}",
                where=Path(command.argv[0]).name,
                remedy=f"read {log}",
            )

    def find_folder(self) -> Path:
        """Find the window's folder among the results."""
        return self.context.session.directory.window(self.window.id).root

    def start_beside(
        self, data: Path, settings: Mapping[str, str], held: ExitStack, name: str = "migration"
    ) -> "Instance":
        """Start a second server on files of its own, with the memory that the first one has.

        `held` ends it. `name`: by which its log and sockets differ from those of others.
        """
        window, servers = self.window, self.context.servers
        limit = held.enter_context(servers.limited(window.candidate, window.point))
        self._group = limit.group.path if limit.group else None
        return held.enter_context(
            servers.second(
                window.candidate, data, self.find_folder() / f"{name}.server.log", settings,
                name=name[0], memory_cgroup=self._group, point=window.point,
            )
        )  # fmt: skip

    def switch_to(self, second: "Instance", data: Path) -> None:
        """Let the second server be the candidate's, with its files and its memory."""
        from stithy.engines.served import ServerProcess

        assert isinstance(second, ServerProcess)  # as the first one is
        self.settle_at(data)
        first = self.find_process()
        self.held.callback((first.sockets / first.socket).unlink, missing_ok=True)
        self.context.servers.continue_as(self.window.candidate, second, self._group)

    def make_place(self) -> Path:
        """Make an empty directory for the database on the target."""
        from stithy.storage.consent import MOVED

        return self.context.volumes.make_tree(self.window.candidate, MOVED, "target")

    def settle_at(self, data: Path) -> None:
        """Let the source's files lie aside, and those at `data` be the candidate's database."""
        from stithy.run.volumes import get_parts
        from stithy.storage.consent import ASIDE

        aside = self.context.volumes.make_tree(self.window.candidate, ASIDE)
        source = get_parts(self.source).data
        os.rename(source, aside)
        source.symlink_to(data)


class WayKind(Plugin):
    """A way to move a database's volume.

    In a window it is the activity `migration-<name>`.
    """

    family = Family("scenarios.migration.ways")

    text: str = ""
    """What it does, as in `copy: {stops the server, …}`."""

    needs: tuple[Need, ...] = ()
    """What it needs of the machine."""

    expects: frozenset[str] = frozenset()
    """Classes of errors that users may get from it."""

    explains: frozenset[str] = frozenset()
    """Flags of windows that it causes on purpose."""

    parts: Sequence[str] = ()
    """The parts of a migration that it has, in their order."""

    servers_beside: int = 0
    """How many servers more run meanwhile, each with the memory of the database."""

    undamaged_text: str = "all blocks as their checksums say"
    """What is said of blocks that were examined, of which none was damaged."""

    standing_cost: str = ""
    """What it costs users in all windows, and not only in its own, in a sentence."""

    room_share: float = 0.0
    """What it needs on either side besides, relative to what the database may need."""

    def explain_refusal(self, study: "Study", candidate: str) -> str | None:
        """Say why it cannot move a candidate's database; None where it can."""
        raise NotImplementedError

    def explain_uncompared(self, study: "Study") -> str | None:
        """Say why tables are never compared with the source afterwards; None where they are.

        `study`: at the point of the window.
        """
        return "nothing is left of the source"

    def compare(self, of: Move) -> TableSums:
        """Compare every table at the target with the source, once the users are done.

        Only where nothing explains that it is not done. Raises InfrastructureError where it fails.
        """
        raise NotImplementedError

    def count_damage(self, of: Move) -> int | None:
        """Count the blocks at the target that are not as at the source, by checksums or themselves.

        Once the users are done; None where files were copied. Raises InfrastructureError.
        """
        return None

    def move(self, of: Move) -> None:
        """Move it. The server that users know works with the target's files afterwards.

        Raises what the machine does, and what `Move.check` does; users then go on at the source.
        """
        raise NotImplementedError


def explain_unlike(
    study: "Study", candidate: str, whole: str, fits: Callable[["DriveKeys"], bool]
) -> str | None:
    """Say why what lies below a file system cannot be moved; None where it can.

    Both sides are a single emulated drive that `fits`, with one kind of file system, the target at
    least as large. `whole`: what fits, in words.
    """
    from stithy.storage.providers.drive import DriveKeys

    sources = study.candidates[candidate].sources
    source, target = sources["data"].spec, sources["target"].spec
    if not isinstance(source, DriveKeys) or source.count > 1 or not fits(source):
        return f"its storage is not {whole}"
    if not isinstance(target, DriveKeys) or target.count > 1 or not fits(target):
        return f"its target is not {whole}"
    if source.filesystem != target.filesystem:
        return f"its target does not have the file system {source.filesystem}, which moves as it is"
    least, size = source.size_bytes, target.size_bytes
    if least is not None and (size is None or size < least):
        return "its target is not at least as large (`size`)"
    return explain_unmovable(study, candidate)


def explain_unmovable(study: "Study", candidate: str) -> str | None:
    """Say why files of a candidate's server cannot be moved; None where they can."""
    if study.by_url:
        return "its server is not one that Stithy started"
    from stithy.engines.engine import get_engine

    for name in study.engines:
        if get_engine(name).declaration.is_embedded:
            return f"{name} has no server: its files are open in the load driver"
    roles = {"log", "undo", "temp"} & {*study.candidates[candidate].sources}
    return f"{min(roles)} files lie elsewhere: what is moved is one directory" if roles else None


NAME = "migration"
WAY = "way"
"""The factor."""

SETTINGS = "settings"
"""The fact of a run: what servers have beside the settings of the study."""

AT_SHARE = 0.2
"""Own: of the measurement, where a study does not say it."""

DAY_S = 86_400.0

USUAL = "copy"
"""The way of a study that names none: any server that Stithy started can be moved by it."""


def read_ways(value: Any) -> tuple[str, ...]:
    """Read names of ways. Raises what a study file's reader understands."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple) or not value:
        raise make_rule_error("not ways", "a list of names")
    known = list(plugins(WayKind))
    for name in value:
        if name == NONE:
            right = "leave it out: it is always measured"
            raise make_rule_error(f"`{NONE}` among the ways", right)
        if name not in known:
            raise make_rule_error(f"not a way, `{name}`", suggest_instead(str(name), known))
    if len({*value}) < len(value):
        raise make_rule_error("a way given twice", "keep one of them")
    return tuple(value)


LISTED = "; ".join(f"`{name}` {way.text}" for name, way in sorted(plugins(WayKind).items()))
"""All ways, with what each does."""


class MigrationSpec(ScenarioKeys):
    """How the database moves to the role `target` of its candidate while its users work."""

    FIXED: ClassVar = frozenset({"ways"})
    LOAD: ClassVar = MappingProxyType({"ledger": True})

    ways: Annotated[
        tuple[str, ...],
        PlainValidator(read_ways),
        PlainSerializer(list),
        WithJsonSchema({"type": "array", "items": {"type": "string"}}),
    ] = Field(
        default=(USUAL,),
        json_schema_extra={"default": [USUAL]},
        description=(
            "How it is moved, each in a window of its own. A window without a migration belongs "
            f"to each block, so that the difference is what it costs. Ways: {LISTED}."
        ),
        examples=[["copy", "base-backup"]],
    )
    at_s: Annotated[ShownSeconds, limit_quantity(0, DAY_S, format_duration)] | None = Field(
        alias="at",
        default=None,
        json_schema_extra={"default": "a fifth of the measurement"},
        description="When the migration begins, after the beginning of the measurement.",
        examples=["10 s"],
    )

    @property
    def has_followers(self) -> bool:
        """Whether a second server follows the first in any way."""
        return any(plugins(WayKind)[name].servers_beside for name in self.ways)

    def choose_begin_s(self, duration_s: float) -> float:
        """Say when it begins in a measurement of this length."""
        return duration_s * AT_SHARE if self.at_s is None else self.at_s

    def find_conflicts(self, load: Load) -> Iterator[Violation]:
        """Find a migration without users before or after it, and a missing ledger."""
        at_s = self.choose_begin_s(load.duration_s)
        if at_s <= 0:
            yield Violation("a migration at once", "some seconds before it, to compare with")
        if load.duration_s <= at_s:
            yield Violation("the measurement ends before the migration begins",
                            f"more than `at`, {format_duration(at_s)}",
                            format_duration(load.duration_s), ("duration",))  # fmt: skip
        if not load.ledger:
            yield Violation("a migration without a ledger shows no loss",
                            "leave it out, and have the run's directory on other storage",
                            None, ("ledger",))  # fmt: skip
