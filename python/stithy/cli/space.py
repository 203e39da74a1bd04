"""`stithy space`: what files take on storage, of a run, of a directory, or as a study plans it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stithy.cli.talk.render import make_table, show, show_json
from stithy.errors import Exit, UserError

if TYPE_CHECKING:
    from stithy.storage.space import Space

MEASURED = (
    ("files", "logical_bytes"), ("stored", "stored_bytes"), ("reduction", "reduction"),
    ("redundancy", "redundancy"), ("on drives", "physical_bytes"),
    ("set aside", "provisioned_bytes"), ("taken now", "allocated_bytes"),
)  # fmt: skip
LOG = "log_stored_bytes"
"""Of runs alone: of any other directory nobody says where its log lies."""

UNKNOWN = "not known"
WORDS = ("candidate", "role", "moment")


def show_space(target: Path, /, *, json: bool = False) -> Exit:
    """Show how much space files take: logical, stored, and on all drives.

    TARGET is the directory of a run, any other directory, or a study file:

    - Of a run it shows what each candidate's volumes took once the database was loaded, and at the
      end: lengths of files, what is stored of them after compression, the redundancy, and what all
      drives hold. The reduction leaves out the write-ahead log, which stands apart. What is set
      aside and what is taken differ where storage is thin.
    - Of a directory it shows the same now. Copies that hardware below this machine keeps are not
      seen. A file system that compresses does not say it of single files.
    - Of a study it shows what each role may come to hold at most, and what is set aside for that.
      Nothing is created.

    Examples:

        stithy space runs/arrays
        stithy space /srv/databases
        stithy space studies/arrays.yaml

    Parameters
    ----------
    target
        A run directory, another directory, or a study file.
    json
        Print the numbers as JSON: bytes, null where a number is not known.
    """
    if os.path.isfile(target):
        rows, notes = _read_planned(target)
        columns = tuple(rows[0])
    elif os.path.isfile(target / "manifest.json"):
        from stithy.results.files import read_run

        frame = read_run(target).space
        if frame.is_empty():
            raise UserError(
                "this run did not ask its volumes what they take",
                where=str(target),
                remedy="name a run that restored a database or removed its volumes",
            )
        rows, notes = frame.to_dicts(), frame["missing_because"].drop_nulls().unique().to_list()
        columns = ("candidate", "role", "moment", *(key for _, key in MEASURED), LOG)
    elif os.path.isdir(target):
        from stithy.hosts.runner import LocalRunner
        from stithy.storage.space import measure_space
        from stithy.storage.volume import describe

        found: Space = measure_space(describe(target.resolve()), LocalRunner())
        row = {key: getattr(found, key) for _, key in MEASURED}
        rows, notes = [row], list(dict.fromkeys(found.missing.values()))
        columns = tuple(key for _, key in MEASURED)
    else:
        raise UserError(
            "there is no such file or directory that this user may see",
            where=str(target),
            remedy="name a run directory, another directory, or a study file",
        )
    _print(target, columns, rows, notes, json=json)
    return Exit.OK


Rows = list[dict[str, Any]]


def _print(
    target: Path, columns: tuple[str, ...], rows: Rows, notes: list[str], *, json: bool
) -> None:
    if json:
        kept = [{key: row[key] for key in columns} for row in rows]
        show_json({"schema_version": 1, "target": str(target), "space": kept, "missing": notes})
        return
    headings = {key: heading for heading, key in MEASURED}
    sides = "".join("<" if key in WORDS else ">" for key in columns)
    header = [headings.get(key, key.removesuffix("_bytes").replace("_", " ")) for key in columns]
    cells = [tuple(_format_cell(key, row[key]) for key in columns) for row in rows]
    said = [f"not known: {note}" for note in notes]
    show("\n".join([make_table(header, cells, sides), *([""] if said else []), *said]))


def _format_cell(key: str, value: Any) -> str:
    from stithy.units import format_size

    if value is None:
        return UNKNOWN
    if key.endswith("_bytes"):
        return format_size(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _read_planned(file: Path) -> tuple[Rows, list[str]]:
    from stithy.plan.expand import set_aside, sum_needed_bytes
    from stithy.study.load import read_study

    study = read_study(file).study
    needed = {str(role): size for role, size in sum_needed_bytes(study).items()}
    rows = [
        {
            "candidate": name,
            "role": role,
            "files_at_most_bytes": needed[role],
            "redundancy": part.redundancy,
            "set_aside_bytes": part.provisioned_bytes,
        }
        for name, candidate in study.candidates.items()
        for role, part in set_aside(candidate, needed).items()
    ]
    return rows, []


COMMAND = show_space
