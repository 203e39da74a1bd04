"""Directories on a candidate's volume that hold a database: made after they are written down."""

from pathlib import Path

from stithy.run.context import Context, own
from stithy.storage.provider import Role
from stithy.storage.volume import remove_own


def make_tree(context: Context, candidate: str, name: str, role: Role = "data") -> Path:
    """An empty directory on a candidate's volume, as `make_in`."""
    return make_in(context, context.volume(candidate).of(role).path, candidate, name)


def make_in(context: Context, place: Path, owner: str, name: str) -> Path:
    """An empty directory of the server's user; an older one of the same name is removed first."""
    remove_own(place, [name], context.run_id)
    _record(context, place, owner, name)
    path = place / name
    path.mkdir(mode=0o700)
    own(path, context.user)
    return path


def _record(context: Context, place: Path, owner: str, name: str) -> None:
    """Write the directory down, once a run: its way back holds for whatever comes to be there."""
    if (owner, name) in context.state.trees:
        return
    facts = {"volume": str(place), "name": name, "run_id": context.run_id}
    context.recorder(owner)("tree", facts)
    context.state.trees.add((owner, name))
