"""Directories on a candidate's volume that hold a database: made after they are written down."""

from pathlib import Path

from stithy.run.context import Context, own
from stithy.storage.provider import Role
from stithy.storage.volume import remove_own


def make_tree(context: Context, candidate: str, name: str, role: Role = "data") -> Path:
    """An empty directory of the server's user; an older one of the same name is removed first."""
    volume = context.volume(candidate).of(role)
    remove_own(volume.path, [name], context.run_id)
    record_tree(context, candidate, name, role)
    path = volume.path / name
    path.mkdir(mode=0o700)
    own(path, context.user)
    return path


def record_tree(context: Context, candidate: str, name: str, role: Role = "data") -> None:
    """Write the directory down, once a run: its way back holds for whatever comes to be there."""
    volume = context.volume(candidate).of(role)
    if (candidate, name) in context.state.trees:
        return
    facts = {"volume": str(volume.path), "name": name, "run_id": context.run_id}
    context.recorder(candidate)("tree", facts)
    context.state.trees.add((candidate, name))
