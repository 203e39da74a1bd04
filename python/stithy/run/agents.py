"""The agents of a study: found, and known to reach its databases with clocks in step."""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from stithy.activity import get_users, list_not_by_agents
from stithy.agents import serving
from stithy.agents.coordinator import Agents
from stithy.agents.link import refuse_far_clocks
from stithy.agents.site import find_site
from stithy.errors import PreconditionError, StithyError, UserError
from stithy.hosts.devices import read_text
from stithy.results.layout import RunDirectory
from stithy.run.history import read_history
from stithy.study.agents import list_agents
from stithy.study.model import Study
from stithy.study.network import list_networks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from stithy.agents.link import Member
    from stithy.agents.serving import AgentFacts
    from stithy.plan.steps import Plan


def make_finder(scheduler: str | None, tls: Path | None) -> "Callable[[Study], Agents | None]":
    """Make what finds the agents of a study at this scheduler; None: the default one."""
    return partial(find_agents, scheduler=scheduler, tls=tls)


def recall_site(root: Path) -> tuple[str | None, Path | None]:
    """Recall where the agents of a run met last, and by which certificate; None where none did."""
    with suppress(StithyError):
        for resource in reversed(read_history(RunDirectory(root)).resources):
            if resource.kind == "agents":
                tls = resource.facts.get("tls")
                return resource.facts["scheduler"], None if tls is None else Path(tls)
    return None, None


def find_agents(study: Study, *, scheduler: str | None, tls: Path | None) -> Agents | None:
    """Find the agents that a study names; None where it names none.

    Raises UserError for a scheduler of a study without agents, PreconditionError for agents that
    are not there, do not fit, cannot reach the databases or storage, or have another time.
    """
    names = list_agents(study)
    if not names:
        for option, given in {"--scheduler": scheduler, "--tls": tls}.items():
            if given is not None:
                remedy = "add `agents` to the study, or leave the option out"
                raise UserError("the study names no agents", where=option, remedy=remedy)
        return None
    agents = Agents(find_site(scheduler, tls), names)
    members = agents.find()
    if study.given_load is None:
        refuse_blind(study, agents, members)
    elif not study.by_url:
        instead = "give candidates a url" if study.load.agents else "leave `agent` out"
        refuse_distant(members, serving.describe(), SOCKETS, instead)
    refuse_far_clocks(agents.measure_clocks(members))
    return agents


SOCKETS = (
    "cannot reach the databases that Stithy starts: these have a socket in /tmp of this machine, "
    "and no other machine or container sees it"
)


def refuse_distant(members: "Sequence[Member]", here: "AgentFacts", why: str, instead: str) -> None:
    """Raise PreconditionError for agents on other machines, or with other files, than `here`."""
    seen = {of.name: (of.facts.boot_id, of.facts.files) for of in members}
    if away := [name for name, of in seen.items() if of != (here.boot_id, here.files)]:
        raise PreconditionError(
            f"{', '.join(away)} {why}",
            where="agents",
            remedy=f"{instead}, or name agents of this machine",
        )


def refuse_blind(study: Study, agents: Agents, members: "Sequence[Member]") -> None:
    """Raise UserError or PreconditionError for candidates that an agent cannot see."""
    directories, made = [], []
    for name, candidate in study.candidates.items():
        for source in candidate.sources.values():
            if source.kind.has_block_device(source.spec):
                raise UserError(
                    "agents share files, and this is a block device without a file system",
                    where=f"candidates.{name}",
                    remedy="give it a file system, or leave `agents` out",
                )
            directory = source.kind.find_directory(source.spec)
            if directory is None:
                made.append(name)
            else:
                directories.append(str(directory))
    if made:
        why = f"cannot see {', '.join(dict.fromkeys(made))}: Stithy mounts it on this machine alone"
        instead = "give candidates a directory that all hosts share"
        refuse_distant(members, serving.describe(), why, instead)
    absent = agents.consult(partial(serving.list_absent, tuple(directories)))
    if lacks := [f"{', '.join(paths)} on {name}" for name, paths in absent.items() if paths]:
        raise PreconditionError(
            f"there is no {'; no '.join(lacks)}",
            where="agents",
            remedy="mount there, on every host, the file system that all of them share",
        )


TOKEN = ".stithy-token"
"""A file by which agents show that they see a directory as this host does."""


def require_shared(agents: Agents, folders: Iterable[Path]) -> None:
    """Raise PreconditionError where an agent does not read what this host writes to a folder."""
    for folder in folders:
        path, token = folder / TOKEN, token_hex(16)
        try:
            path.write_text(token)
            seen = agents.consult(partial(read_text, path))  # empty where it is not seen
        finally:
            path.unlink(missing_ok=True)
        if blind := [name for name, text in seen.items() if text != token]:
            raise PreconditionError(
                f"{', '.join(blind)} does not see what this host writes there",
                where=str(folder),
                remedy="name a directory that all hosts share, at the same path; storage that each "
                "host has for itself is none",
            )


def find_other_activities(study: Study, plan: "Plan") -> "Iterator[UserError]":
    """Find drivers elsewhere in windows in which they cannot drive users, by the key."""
    if study.given_load is None:
        return
    activities = sorted(
        {name for step in plan.steps if step.window for name in step.window.activities}
    )
    if list_networks(study) and (others := [of for of in activities if of != get_users().name]):
        yield UserError(
            f"a link is of users alone, and this study's windows have {', '.join(others)}, too",
            where="load.network",
            remedy="leave `network` out: this host drives them all",
        )
    has_ledger = study.load.ledger
    others = list_not_by_agents(activities, has_ledger=has_ledger) if study.load.agents else []
    if others:
        ledger = " with a commit ledger" if not list_not_by_agents(others, has_ledger=False) else ""
        yield UserError(
            f"agents cannot drive users beside {', '.join(others)}{ledger}",
            where="load.agents",
            remedy="leave `agents` out: one host drives them all"
            + (", or `ledger`: agents hand theirs over when users are done" if ledger else ""),
        )
