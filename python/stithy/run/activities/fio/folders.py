"""Where files of fio lie among the results of a run."""

from pathlib import Path

from stithy.results.files import emptied
from stithy.run.context import Context

FOLDER = "fio"


def folder_of(context: Context, name: str) -> Path:
    """A folder for files of fio."""
    return context.session.directory.root / FOLDER / name


def new_folder(context: Context, name: str) -> Path:
    """The same, empty."""
    return emptied(folder_of(context, name))
