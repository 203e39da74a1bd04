"""Where files of fio lie among the results of a run."""

import shutil
from pathlib import Path

from stithy.run.context import Context

FOLDER = "fio"


def folder_of(context: Context, name: str) -> Path:
    """A folder for files of fio."""
    return context.session.directory.root / FOLDER / name


def new_folder(context: Context, name: str) -> Path:
    """The same, empty."""
    folder = folder_of(context, name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
