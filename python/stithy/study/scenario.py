"""The seam of scenarios as a study sees them: what one needs, varies and refuses."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from stithy.needs import Need
from stithy.point import Point, Value
from stithy.registry import Family, Plugin
from stithy.restores.method import RestoreMethod
from stithy.study.problems import Violation
from stithy.units import FrozenModel

if TYPE_CHECKING:
    from stithy.fio.profile import IoProfile
    from stithy.study.load_keys import Load
    from stithy.study.model import Study

OPTIONAL = ("database", "workload", "load")
"""The sections that only some scenarios need."""


class ScenarioKeys(FrozenModel):
    """The keys of a scenario in a study, below its name, and what they say of the study."""

    FIXED: ClassVar[frozenset[str]] = frozenset()
    """Keys whose values `vary` cannot list."""

    POINTS: ClassVar[frozenset[str] | None] = None
    """Keys that say which points are measured, and how often; None: those of `FIXED`. Runs that
    differ in these are comparable."""

    IMPLIED: ClassVar[frozenset[str]] = frozenset()
    """Keys that are written only where they differ from their default."""

    AGENTS_KEY: ClassVar = "agents"
    """The key that names what `list_agents` lists."""

    LOAD: ClassVar[Mapping[str, object]] = MappingProxyType({})
    """Keys of the section `load` that have other defaults with this scenario."""

    @classmethod
    def fill_defaults(cls, keys: Mapping[str, object], engine: str) -> Mapping[str, object]:
        """Complete keys, as written, by the defaults that depend on the database engine."""
        return keys

    @classmethod
    def has_users(cls, keys: Mapping[str, object]) -> bool:
        """Whether anybody works in a study with these keys, as written."""
        return True

    def has_shares(self, load: "Load") -> bool:
        """Whether transactions arrive at shares of a maximum that the study measures first."""
        return False

    def find_conflicts(self, load: "Load") -> Iterable[Violation]:
        """Find what of a load contradicts these keys."""
        return ()

    def list_first_points(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """List points that are measured besides `points`, before them."""
        return ()

    def find_impossible(self, engine: str, settings: Sequence[Point]) -> Mapping[Point, str]:
        """Find the settings that cannot be, each with its reason."""
        return {}

    def list_spared_points(self, engine: str, points: Sequence[Point]) -> tuple[Point, ...]:
        """List those of `points` for which another one of them stands."""
        return ()

    def count_instances(self) -> int:
        """Count the instances of the database that share a candidate."""
        return 1

    def list_differing(self) -> Mapping[str, Sequence[Value]]:
        """List the keys of the study in which those differ, as `differ` has them."""
        return {}

    def count_servers_beside(self) -> int:
        """Count the servers that run on a candidate beside those instances."""
        return 0

    def count_connections(self) -> int:
        """Count the most connections to a server that is none of those instances."""
        return 0

    def limit_cpus(self) -> int | None:
        """Give the most CPU time of each server, percent of what servers have; None: no limit."""
        return None

    def count_blocks(self) -> int | None:
        """Give the number of blocks where the load does not; None: until it is decided."""
        return None

    def list_agents(self) -> tuple[str, ...]:
        """List the agents that do in windows what this host would, besides driving users."""
        return ()

    def list_profiles(self) -> "Mapping[str, IoProfile]":
        """List the I/O profiles that fio runs, by name: facts of the run."""
        return {}


class NoKeys(ScenarioKeys):
    """The keys of a scenario that has none."""


class Scenario(Plugin):
    """What a study can do. It decides; it neither asks the machine nor changes it."""

    family = Family(stage="plan")

    sections: tuple[str, ...] = OPTIONAL
    """Those of `OPTIONAL` that a study of it has."""

    keys: ClassVar[type[ScenarioKeys] | None] = None
    """Its keys in a study; None: it has none."""

    choice: str | None = None
    """The key whose word names one of several kinds of keys (`list_keys`)."""

    metric: str | None = None
    """By what candidates are compared, in place of throughput or response time."""

    is_by_url: bool = False
    """Whether its candidates may be databases by URL: nothing but users and SQL is needed."""

    has_block_devices: bool = False
    """Whether candidates may be block devices without a file system."""

    moves: bool = False
    """Whether each candidate has storage of the role `target`, to which its database moves."""

    has_fixed_blocks: bool = False
    """Whether its own keys say how many blocks there are."""

    needs_drives: bool = False
    """Whether all its candidates are emulated drives."""

    checks_at_end: bool = False
    """Whether all consistency conditions are checked after its windows."""

    def has_urls(self, engine: str) -> bool:
        """Whether its candidates may be databases by URL of this engine."""
        return self.is_by_url

    def list_keys(self) -> Mapping[str, type[ScenarioKeys]]:
        """List its kinds of keys by the word that names each at `choice`, the usual one first."""
        return {} if self.keys is None else {self.name: self.keys}

    def list_factors(self, keys: Any, load: Any) -> Mapping[str, Sequence[Value]]:
        """List what it varies by itself: at least one factor with its values.

        `keys`: its own, None where there are none. `load`: the section, where there is one.
        """
        raise NotImplementedError

    def explain_needs(self, study: "Study") -> tuple[Need, ...]:
        """List what the keys of a study need of the machine besides `needs`."""
        return ()

    def explain_refusal(self, study: "Study", method: RestoreMethod) -> str | None:
        """Say why a study cannot have a method of restore; None where it can."""
        return None

    def explain_one_engine(self, study: "Study") -> str | None:
        """Say why a study cannot compare engines; None where it can."""
        return None

    def list_facts(self, study: "Study") -> Mapping[str, float | str]:
        """List what a study's keys come to, by name, as the manifest keeps it for the report."""
        return {}
