"""The interface of a database engine: a product, as studies, plans and reports know it.

An engine is one folder in `engines/` whose `__init__` defines `PLUGINS` with an instance of a
subclass of `Engine`. That imports nothing heavy: what starts servers or speaks to them it imports
where a method needs it. Its servers are described in `engines/instance.py`, its backup methods in
`engines/backup.py`. Whoever meets something that differs between engines asks here; nobody asks
which engine it is, and no engine is first.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from stithy.engines.backup import BackupMethod
from stithy.engines.declaration import UNKNOWN, Declaration
from stithy.errors import UserError
from stithy.names import suggest_instead
from stithy.registry import Family, Plugin, plugins
from stithy.secrets import Secret

if TYPE_CHECKING:
    from stithy.engines import instance


DEMO_ENGINE = "postgresql"
"""That of the demo, of drafts and of examples."""


UNDO_FOLDER = "undo"
"""Name of the directory in a data directory that holds older versions of rows, where an engine has
the role `undo`. While no server runs it may be moved elsewhere and leave a link."""


class Engine(Plugin):
    """A database product."""

    family: ClassVar = Family(
        "engines",
        interface=frozenset({"backup", "declaration", "engine", "instance", "served", "urls"}),
    )

    url_schemes: tuple[str, ...]
    """How its URLs begin, before `://`."""

    url_examples: tuple[str, str]
    """Of a server by its address, and of one on this machine."""

    kin: Mapping[str, str] = {}
    """Other products that it serves, and how a study has them."""

    variables: tuple[str, ...] = ()
    """How the environment variables begin that its client programs read."""

    accounts: tuple[str, ...] = ()
    """Users as whom its servers run, which come with the distributions' packages."""

    setting_examples: tuple[Mapping[str, str], Mapping[str, str]]
    """Settings as a study may give them: of the database, and of a candidate."""

    owned_settings: Mapping[str, str] = {}
    """Settings, in lower case, that a study may not give, with the reason; others are passed on."""

    given_up: Mapping[str, Mapping[str, str]] = {}
    """By setting and value, both in lower case, what may be lost where it gives durability up."""

    backups: tuple[BackupMethod, ...] = ()
    """The ways to back it up, the default first."""

    lean_settings: Mapping[str, str] = {}
    """Of a server that only has to answer, within the memory of another one."""

    unsafe_settings: Mapping[str, str] = {}
    """Settings by which it acknowledges what no device holds yet; empty where it has none."""

    native_restore: str = ""
    """How it restores a loaded database by its own means; empty where it cannot."""

    native_copy: BackupMethod | None = None
    """By what that copies files of the database beside it; None where its server keeps the copy."""

    replica_copy: BackupMethod | None = None
    """By what a second server begins that follows the first; None where none can."""

    replica_settings: Mapping[str, str] = {}
    """What a server is started with that another one is to follow, beside its usual settings."""

    replica_cost: str = ""
    """What these cost its users, as a sentence goes on."""

    unfollowed: Mapping[str, frozenset[str]] = {}
    """By setting, in lower case, the values with which no server follows."""

    tells_log_end: bool = False
    """Whether the files of a server that was stopped say where its log ends."""

    has_remote: bool = False
    """Whether candidates may be databases of servers that run already."""

    is_set_by_url: bool = False
    """Whether the settings of a study are given to its databases by URL."""

    listens: bool = False
    """Whether its servers can listen at an address beside their socket, for a driver elsewhere."""

    no_server: str = ""
    """Why Stithy starts no server of it, which is then measured by URL only; empty if it does."""

    @property
    def declaration(self) -> Declaration:
        """What holds for all of its servers."""
        return UNKNOWN

    separate_roles: frozenset[str] = frozenset({"log", "temp"})
    """Roles of files that may lie on other volumes than its data."""

    def explain_role(self, role: str, settings: Mapping[str, str]) -> str | None:
        """Say why files of a role cannot lie elsewhere with these settings; None where they can."""
        if role in {"data", "backup", "target"} | self.separate_roles:
            return None
        return f"{self.name} keeps files of the role {role} beside its data"

    def normalise_name(self, name: str) -> str:
        """Give a setting's name as this class has it, however a study writes it."""
        return name.lower()

    def explain_setting(self, name: str, value: str) -> tuple[str, str] | None:
        """Say why a study may not give a setting this value, and what to do; None if it may."""
        because = self.owned_settings.get(self.normalise_name(name))
        if because is None:
            return None
        return "a setting that Stithy chooses itself", f"leave it out: {because}"

    def list_given_up(self, settings: Mapping[str, str]) -> dict[str, str]:
        """List which of the settings give durability up, with what may be lost."""
        lost = {
            name: self.given_up.get(self.normalise_name(name), {}).get(value.strip().lower())
            for name, value in settings.items()
        }
        return {name: because for name, because in lost.items() if because}

    def find_unfollowed(self, settings: Mapping[str, str]) -> str | None:
        """Find a setting with which no server can follow, as a study has it; None without one."""
        for name, value in settings.items():
            if value.strip().lower() in self.unfollowed.get(self.normalise_name(name), ()):
                return f"`{name}: {value}`"
        return None

    def count_log_bytes(self, settings: Mapping[str, str], window_s: float = 0.0) -> int:
        """Count what its log holds at most with these settings; 0 if unknown.

        `window_s`: how long users work in a window, ramp-up included.
        """
        return 0

    def measure_reduction(self, data: Path, settings: Mapping[str, str]) -> float | None:
        """Measure bytes of pages for a byte of files, in a data directory; None if uncompressed.

        Raises OSError.
        """
        return None

    def has_holes(self, settings: Mapping[str, str]) -> bool:
        """Whether its files have holes for a purpose, such as where it compresses pages."""
        return False

    def configure(self, request: "instance.Request") -> "instance.ConfiguredEngine":
        """Give the engine as a study asks for it; nothing is looked for yet."""
        from stithy.engines.instance import StartsNothing

        return StartsNothing(request, self.name, self.no_server)

    def describe_settings(
        self, settings: Mapping[str, str], *, keeps_inside: bool
    ) -> Iterator[str]:
        """Say what a run sets of a database by URL, and what its own restore costs.

        Each is a sentence of a plan; there are some only with `is_set_by_url`.
        """
        return iter(())

    def set_driver(self, start: "instance.Start") -> Mapping[str, str]:
        """Give the variables of a driver in whose process the database of a start runs."""
        return {}

    def forget(self, facts: Mapping[str, str]) -> None:
        """Remove from memory what a killed server left there. Idempotent.

        `facts`: as its `Instance.shared_memory` gave them.
        """

    def find_damage(self, instance: "instance.Instance") -> str | None:
        """Find what its own check of all tables and indexes finds wrong; empty where all is well.

        None where it has no check here. Raises InfrastructureError for a server that fails.
        """
        return None

    def connect(self, url: Secret, password: Secret | None = None) -> "instance.Endpoint":
        """Give the database of a URL. Raises UserError for a URL that cannot be followed."""
        raise NotImplementedError

    def connect_remote(self, url: Secret, password: Secret | None = None) -> "instance.Remote":
        """Give the database of somebody's server, connected; only with `has_remote`."""
        raise NotImplementedError

    def locate(self, url: Secret) -> str:
        """Say where a URL leads. Raises UserError for one that cannot be followed."""
        raise NotImplementedError

    def get_native_restore(self) -> "instance.NativeRestore":
        """Give what restores as `native_restore` says, where its server keeps the copy."""
        raise NotImplementedError

    def get_replication(self) -> "instance.Replication":
        """Give what lets a second server follow a first one; only with `replica_copy`."""
        raise NotImplementedError

    def get_chores(self) -> "instance.Chores":
        """Give what loads and scans a database beside its users. Raises UserError if none can."""
        raise UserError(
            f"the engine {self.name} can neither load nor scan a database beside its users",
            where="scenario.noisy-neighbour.aggressor",
            remedy="choose another aggressor",
        )

    def get_backup(self, name: str) -> BackupMethod:
        """Give the backup method of this name. Raises UserError where it has none of it."""
        for method in (*self.backups, self.native_copy):
            if method is not None and method.name == name:
                return method
        raise UserError(
            f"{self.name} has no method of backup {name}",
            where="scenario.backup.method",
            remedy=suggest_instead(name, [method.name for method in self.backups]),
        )


def get_engine(name: str) -> Engine:
    """Give the engine of this name, which is there."""
    return plugins(Engine)[name]


def declaration(name: str | None) -> Declaration:
    """Give what an engine declares; the defaults for one that is not here."""
    engine = plugins(Engine).get(name or "")
    return UNKNOWN if engine is None else engine.declaration


def find_engine_of(url: Secret) -> Engine:
    """Find the engine whose URLs begin as this one. Raises UserError where there is none."""
    given, separator, _ = url.reveal().partition("://")
    engines = [engine for engine in plugins(Engine).values() if given in engine.url_schemes]
    if engines:  # the one whose own scheme it is
        return min(engines, key=lambda engine: engine.url_schemes.index(given))
    beginnings = (f"{engine.url_schemes[0]}://" for engine in plugins(Engine).values())
    begins = f"begin with {given!r}" if separator else "have no ://"
    raise UserError(
        f"no database engine has URLs that {begins}",
        where="database URL",
        remedy=f"begin it with {' or '.join(beginnings)}",
    )
