"""A database that is running somewhere, by its URL: it has no volume that Stithy could look at."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from stithy.engines.engine import DEMO_ENGINE, find_engine_of, get_engine
from stithy.engines.instance import Demand, Mark, Remote
from stithy.errors import InfrastructureError, PreconditionError, StithyError, UserError
from stithy.hosts.processes import get_identity, is_alive, parse_identity
from stithy.secrets import Secret, read_given_secret
from stithy.storage.provider import NOWHERE, Provider, Record, Site, Storage, Volume
from stithy.storage.space import Space
from stithy.units import FrozenModel, make_rule_error, require

EXAMPLE = f"{get_engine(DEMO_ENGINE).url_schemes[0]}://bench@db-a.example:5432/bench"
SECRETS = ("password", "passfile", "sslpassword", "sslkey")
"""Options of a URL that are secrets, or name a file for one."""
USUAL_PASSWORD = "that of PGPASSWORD or ~/.pgpass for PostgreSQL, else none"

_IS_VARIABLE = require(str.isidentifier, "not the name of a variable", "such as DB_A_PASSWORD")


def _refuse_password(url: str) -> str:
    """Whoever reads the study, its results or a log reads the URL, too."""
    try:
        engine = find_engine_of(Secret(url))
        if re.search(rf"://[^/@]*:.*@|[?&]({'|'.join(SECRETS)})=", url):
            right = "take it out, and name a variable (`password_env`) or a file (`password_file`)"
            raise make_rule_error("a URL with a password in it", right)
        engine.locate(Secret(url))
    except UserError as error:
        raise make_rule_error(error.problem, error.remedy) from error
    return url


class UrlSpec(FrozenModel):
    """A candidate that is a database on a server that runs already."""

    url: Annotated[str, AfterValidator(_refuse_password)] = Field(
        description=(
            "URL of an empty database on a server that Stithy does not start, with its user and "
            "without its password. See docs/how-to/compare-databases-by-url.md."
        ),
        examples=[EXAMPLE],
    )
    password_env: Annotated[str, _IS_VARIABLE] | None = Field(
        default=None,
        json_schema_extra={"default": USUAL_PASSWORD},
        description="Environment variable that holds the password of its user.",
        examples=["DB_A_PASSWORD"],
    )
    password_file: str | None = Field(
        default=None,
        json_schema_extra={"default": USUAL_PASSWORD},
        description="File that holds it instead; its owner alone may read it.",
        examples=["~/.stithy-db-a"],
    )


class DatabaseStorage(Storage):
    """One candidate's database."""

    def __init__(self, spec: UrlSpec, candidate: str, site: Site) -> None:
        self._spec, self._candidate, self._site = spec, candidate, site

    def check(self) -> None:
        """Raise PreconditionError for a database that may not be used, UserError for its secret."""
        try:
            there = self._locate()
            site = self._site
            there.check(Demand(site.keeps_inside, site.sessions, site.settings, site.backs_up))
            mark = there.mark()
        except InfrastructureError as error:
            raise PreconditionError(
                error.problem, where=error.where, remedy=error.remedy
            ) from error
        if mark is not None:
            _refuse_others(mark, there.place, self._candidate)

    def list_cautions(self) -> tuple[str, ...]:
        engine, site = find_engine_of(Secret(self._spec.url)), self._site
        said = engine.describe_settings(site.settings, keeps_inside=site.keeps_inside)
        return (
            *(f"candidate {self._candidate}: {sentence}" for sentence in said),
            f"candidate {self._candidate} is a database by URL: whether there is room for it is "
            "not known, its server's memory, devices and log are seen only by exporters "
            "(`collect.exporters`), and the network to it is measured, too",
        )  # fmt: skip

    def describe_identity(self) -> str | None:
        """What its server is. Raises UserError where its secret is not there."""
        try:
            return f"server {self._locate().describe_server()}"
        except (InfrastructureError, PreconditionError):  # `check` says why
            return None

    def find_dead_run(self) -> str | None:
        """The run whose mark it has, unless its process is alive here."""
        try:
            mark = self._locate().mark()
        except StithyError:  # `check` says why
            return None
        return mark.run_id if mark and not is_alive(parse_identity(mark.owner)) else None

    def provision(self, run_id: str, record: Record) -> Volume:
        self.check()
        record("marked-database", {**self._spec.model_dump(include=set(FACTS), exclude_none=True),
                                   "run_id": run_id})  # fmt: skip
        there = self._locate()
        owner, site = get_identity().list_facts(), self._site
        there.claim(Mark(run_id, owner, self._candidate, site.settings, site.keeps_inside))
        return Volume(
            path=NOWHERE, filesystem="", mount_point=NOWHERE, mount_options="", devices=(),
            memory_backed=False, database=there.url,
        )  # fmt: skip

    def measure_space(self, volume: Volume) -> Space:
        raise NotImplementedError

    def _locate(self) -> Remote:
        return _locate_database(self._spec.model_dump())


FACTS = ("url", "password_env", "password_file")


def _locate_database(facts: Mapping[str, str]) -> Remote:
    password = read_given_secret(facts.get("password_env"), facts.get("password_file"))
    url = Secret(facts["url"])
    return find_engine_of(url).connect_remote(url, password)


def _refuse_others(mark: Mark, place: str, candidate: str) -> None:
    """One that a living process is at, or of which that cannot be told.

    A server may have many names: only its mark tells that two candidates are one database.
    """
    owner, own = parse_identity(mark.owner), get_identity()
    if owner == own and mark.candidate != candidate:
        raise PreconditionError(
            f"candidates {mark.candidate} and {candidate} are the same database",
            where=place,
            remedy="name two databases; on one server they share its storage",
        )
    if owner == own or (owner.boot_id == own.boot_id and not is_alive(owner)):
        return
    where = "on this machine" if owner.boot_id == own.boot_id else "elsewhere, or before a restart"
    raise PreconditionError(
        f"the database has the mark of run {mark.run_id}, which was started {where}",
        where=place,
        remedy="wait for the end of that run, or use `stithy clean` where it was started",
    )


class DatabaseProvider(Provider):
    """Databases that run somewhere: all that is needed is on another machine."""

    name = "url"
    spec = UrlSpec
    handlers: ClassVar = {
        "marked-database": lambda facts: _locate_database(facts).give_back(facts["run_id"])
    }
    is_by_url = True

    def create(self, spec: UrlSpec, candidate: str, site: Site) -> DatabaseStorage:
        return DatabaseStorage(spec, candidate, site)

    def is_overlapping(self, spec: UrlSpec, other: UrlSpec) -> bool:
        """Whether both name the same database, whoever its user is."""
        return _locate(spec) == _locate(other)

    def give_url(self, spec: UrlSpec) -> str:
        return spec.url


def _locate(spec: UrlSpec) -> str:
    url = Secret(spec.url)
    return find_engine_of(url).locate(url).lower()


PLUGINS = (DatabaseProvider(),)
