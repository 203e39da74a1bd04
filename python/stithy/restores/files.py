"""Files: a master copy of all files, put back before each window, proven by every file's hash."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stithy.restores.method import Restored, RestoreMethod
from stithy.units import format_size

if TYPE_CHECKING:
    from stithy.plan.steps import Dataset
    from stithy.run.context import Context
    from stithy.storage.copy import Contents


class FileRestore(RestoreMethod):
    """A master copy of all files beside the results."""

    name = "files"
    summary = (
        "copies the loaded database's files to the results once, and from there to the candidate; "
        "each window starts from the same bytes"
    )
    keep_step, restore_step = "keep a master copy", "restore the master copy"
    start_state = "Each window starts from a copy of the same files, whose hashes were compared."
    proof = "gave files identical to the master copy"
    resume_note = "the master copy{of} is unchanged: the database is not loaded again"
    resumed_state = "that of the session before, identical byte by byte"
    keeps_files = True
    keep_work, restore_work, first_work = ("copy",), ("copy",), ("copy",)

    def keep(self, context: "Context", dataset: "Dataset", master: Path) -> "Contents":
        from stithy.run import datasets

        return datasets.copy_loaded(context, dataset, master)

    def describe(self, contents: "Contents") -> str:
        return f"{format_size(contents.size_bytes)} in {len(contents.files)} files"

    def put_back(self, context: "Context", candidate: str, every: "Sequence[Dataset]") -> Restored:
        from stithy.run.datasets import copy_back

        return copy_back(context, candidate, every)


PLUGINS = (FileRestore(),)
